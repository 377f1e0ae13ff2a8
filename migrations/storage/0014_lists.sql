-- Lists in the order of time, name or size, by several states, and searches within names, without leaving the index. Names are
-- compared in lower case, by code points: row-level security lets an index be searched by a column, but not by lower().
alter table storages add column name_key text collate "C" not null generated always as (lower(name collate "und-x-icu")) stored;
create index storages_by_time on storages (tenant_id, id) include (state, kind, name_key);
create index storages_by_name on storages (tenant_id, name_key, id) include (state, kind);
create index storages_by_size on storages (tenant_id, size_gib, id) include (state, kind, name_key);
drop index storages_of_tenant;
-- of all tenants, for administrators
create index storages_of_all_by_time on storages (id) include (tenant_id, state, kind, name_key);
create index storages_of_all_by_name on storages (name_key, id) include (tenant_id, state, kind);
create index storages_of_all_by_size on storages (size_gib, id) include (tenant_id, state, kind, name_key);
