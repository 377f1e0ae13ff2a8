-- The audit log (libs/audit): who did what, with which result. There is one chain of entries per tenant, and one for
-- the platform (the zero id). The roles of the service only read it: the functions write it with the rights of the
-- owner, which needs policies of its own because row-level security is forced.

-- The end of a chain.
create table audit_chains (
    tenant_id    uuid primary key,
    -- number and hash of the newest entry
    last         bigint not null default 0,
    hash         bytea not null default '\x',
    -- older entries were deleted up to this number; the hash of the last of them
    deleted_to   bigint not null default 0,
    deleted_hash bytea not null default '\x'
);
alter table audit_chains enable row level security;
alter table audit_chains force row level security;
create policy app_admin on audit_chains for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy owner on audit_chains to atelier_gpu_owner using (true) with check (true);
revoke all on audit_chains from atelier_gpu_app, atelier_gpu_worker;
grant select on audit_chains to atelier_gpu_app;

-- An entry of a chain.
create table audit_entries (
    tenant_id uuid not null,
    -- position in the chain: 1, 2, 3 and so on, without gaps
    number    bigint not null,
    at        timestamptz not null,
    -- JSON: the exact text that is hashed
    entry     text not null,
    -- SHA-256 of the hash of the entry before, followed by the entry
    hash      bytea not null,
    primary key (tenant_id, number)
);
create index audit_entries_by_age on audit_entries (at);
-- the log is read by person, by operation and by time
create index audit_entries_by_user on audit_entries (tenant_id, ((entry::jsonb) ->> 'user_id'), number);
create index audit_entries_by_operation on audit_entries (tenant_id, ((entry::jsonb) ->> 'operation'), number);
create index audit_entries_by_time on audit_entries (tenant_id, at, number);
alter table audit_entries enable row level security;
alter table audit_entries force row level security;
create policy app on audit_entries for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on audit_entries for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy owner on audit_entries to atelier_gpu_owner using (true) with check (true);
revoke all on audit_entries from atelier_gpu_app, atelier_gpu_worker;
grant select on audit_entries to atelier_gpu_app;

-- The client's address and user agent. The entry contains only their salted hash, so that they can be erased.
create table audit_origins (
    tenant_id uuid not null,
    number    bigint not null,
    salt      bytea not null,
    origin    jsonb not null,
    primary key (tenant_id, number)
);
alter table audit_origins enable row level security;
alter table audit_origins force row level security;
create policy app on audit_origins for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on audit_origins for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy owner on audit_origins to atelier_gpu_owner using (true) with check (true);
revoke all on audit_origins from atelier_gpu_app, atelier_gpu_worker;
grant select on audit_origins to atelier_gpu_app;

-- Appends an entry to the chain of the transaction's tenant, or of the platform if it names none. Returns its number.
-- A service calls it last in the transaction of the effect: the chain stays locked until the transaction ends, so that
-- entries commit in the order of their numbers.
create function audit_append(what jsonb, origin jsonb) returns bigint
language plpgsql security definer set search_path = gpu, pg_temp as $$
declare
    chain    audit_chains;
    salt     bytea := uuid_send(gen_random_uuid());
    appended text;
begin
    chain.tenant_id := coalesce(nullif(current_setting('atelier.tenant', true), ''),
                                '00000000-0000-0000-0000-000000000000')::uuid;
    insert into audit_chains (tenant_id) values (chain.tenant_id) on conflict do nothing;
    select * into strict chain from audit_chains c where c.tenant_id = chain.tenant_id for update;
    appended := (what || jsonb_build_object(
        'number', chain.last + 1, 'at', clock_timestamp(),
        'origin', encode(sha256(salt || convert_to(origin::text, 'UTF8')), 'hex')))::text;
    chain.hash := sha256(chain.hash || convert_to(appended, 'UTF8'));
    chain.last := chain.last + 1;
    insert into audit_entries (tenant_id, number, at, entry, hash)
    values (chain.tenant_id, chain.last, (appended::jsonb ->> 'at')::timestamptz, appended, chain.hash);
    insert into audit_origins (tenant_id, number, salt, origin) values (chain.tenant_id, chain.last, salt, origin);
    update audit_chains c set last = chain.last, hash = chain.hash where c.tenant_id = chain.tenant_id;
    return chain.last;
end $$;

-- Deletes up to `most` entries that are older than `before`, from the beginning of their chains. Each chain keeps the
-- hash before its first remaining entry. Returns the number of deleted entries.
create function audit_delete(before timestamptz, most int) returns bigint
language plpgsql security definer set search_path = gpu, pg_temp as $$
declare
    old     record;
    deleted bigint := 0;
begin
    perform set_config('atelier.audit_deletes', 'on', true);
    for old in
        select e.tenant_id, max(e.number) as number
        from (select tenant_id, number from audit_entries where at < before order by at, number limit most) e
        group by e.tenant_id order by e.tenant_id
    loop
        perform from audit_chains c where c.tenant_id = old.tenant_id for update;
        update audit_chains c set deleted_to = e.number, deleted_hash = e.hash from audit_entries e
        where c.tenant_id = old.tenant_id and e.tenant_id = old.tenant_id and e.number = old.number;
        delete from audit_origins o where o.tenant_id = old.tenant_id and o.number <= old.number;
        with gone as (
            delete from audit_entries e where e.tenant_id = old.tenant_id and e.number <= old.number returning 1)
        select deleted + count(*) into deleted from gone;
    end loop;
    perform set_config('atelier.audit_deletes', '', true);
    return deleted;
end $$;

-- Called before entries change. It allows only `audit_delete`, so that not even the owner changes an entry by mistake.
create function audit_refuse() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('atelier.audit_deletes', true) = 'on' then
        return null;
    end if;
    raise exception 'entries of the audit log never change';
end $$;
create trigger audit_entries_never_change before update or delete or truncate on audit_entries
    for each statement execute function audit_refuse();

revoke execute on function audit_append(jsonb, jsonb), audit_delete(timestamptz, int) from public;
grant execute on function audit_append(jsonb, jsonb) to atelier_gpu_app, atelier_gpu_worker;
grant execute on function audit_delete(timestamptz, int) to atelier_gpu_worker;
