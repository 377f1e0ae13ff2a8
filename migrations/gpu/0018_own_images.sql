-- Whether a tenant may run images of its own. Beside `limits`, which replicas of the previous release read and write as a whole.
alter table quotas add column own_images boolean not null default false;
