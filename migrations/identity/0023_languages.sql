-- The language that a user has chosen for the console; null: that of the browser.
alter table users add column language text check (language in ('en', 'zh-CN'));
