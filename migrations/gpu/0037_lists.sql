-- Lists by several states, in the order of time or name, and searches within names: of 100,000 rows of a tenant without leaving the
-- index. Names are compared in lower case of every script, in the order of code points: row-level security lets an index be searched by a column, but not by lower().
alter table instances add column name_key text collate "C" not null generated always as (lower(name collate "und-x-icu")) stored;
create index instances_by_time on instances (tenant_id, state, id) include (name_key) where state <> 'deleted';
create index instances_by_name on instances (tenant_id, state, name_key, id) where state <> 'deleted';
-- of all tenants, for administrators
create index instances_of_all_by_time on instances (state, id) include (tenant_id, name_key) where state <> 'deleted';
create index instances_of_all_by_name on instances (state, name_key, id) include (tenant_id) where state <> 'deleted';
drop index instances_of_state;
-- as before, but the settings are read once per statement and not for each row
alter policy app on instances using (tenant_id = (select nullif(current_setting('atelier.tenant', true), '')::uuid));
alter policy app_admin on instances using ((select current_setting('atelier.admin', true) = 'on'));
