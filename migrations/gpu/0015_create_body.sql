-- What a stopped instance may change, and several storages. `instances.spec` changes now, but only while the instance is
-- stopped. Replicas of the previous release ignore what is new: until all replicas are updated, a start that one of them
-- carries out mounts the storage in `spec.storage_id` only.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table runs no force row level security;
alter table instances no force row level security;

-- the specification with which the unit of a run was claimed: that of the instance may be another one later
alter table runs add column gpu_spec text;
update runs r set gpu_spec = i.spec ->> 'gpu_spec_name' from instances i where i.id = r.instance_id;

create function name_spec_of_run() returns trigger language plpgsql set search_path from current as $$
begin
    if new.gpu_spec is null then
        select i.spec ->> 'gpu_spec_name' into new.gpu_spec from instances i where i.id = new.instance_id;
    end if;
    return new;
end $$;
create trigger runs_spec_named before insert on runs for each row execute function name_spec_of_run();

create or replace function record_run() returns trigger language plpgsql set search_path from current as $$
declare
    seconds bigint  := usage_seconds(new.started_at, new.ended_at);
    amount  numeric := usage_amount(seconds, new.price_per_hour);
begin
    if tg_op = 'UPDATE' then
        if new.version = old.version then
            return null;
        end if;
        seconds := seconds - usage_seconds(old.started_at, old.ended_at);
        amount := amount - usage_amount(usage_seconds(old.started_at, old.ended_at), old.price_per_hour);
    end if;
    if new.ended_at is not null then
        insert into usage_totals as t (instance_id, kind, currency, tenant_id, seconds, amount)
        values (new.instance_id, new.kind, new.currency, new.tenant_id, seconds, amount)
        on conflict (instance_id, kind, currency) do update
            set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount;
    end if;
    insert into usage_records (tenant_id, instance_id, run_id, version, payload)
    select new.tenant_id, new.instance_id, new.id, new.version, jsonb_build_object(
        'run_id', 'run_' || replace(new.id::text, '-', ''), 'version', new.version, 'kind', new.kind,
        'tenant_id', 'ten_' || replace(new.tenant_id::text, '-', ''),
        'instance_id', 'inst_' || replace(new.instance_id::text, '-', ''),
        'unit_id', 'unit_' || replace(new.unit_id::text, '-', ''),
        'gpu_spec', new.gpu_spec, 'cluster', new.cluster, 'datacenter', new.datacenter,
        'from', to_char(new.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'to', to_char(new.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'price_per_hour', new.price_per_hour::text, 'currency', new.currency,
        'end_reason', coalesce(new.hold_end, new.end_reason), 'correction', new.correction)
    from instances i where i.id = new.instance_id;
    perform pg_notify('atelier_gpu_usage', '');
    return null;
end $$;

alter table instances
    -- the storages that the current start has attached, by id; `storage` has the one that earlier releases know
    add column attached  jsonb  not null default '{}',
    -- storages that were removed from the order and may still be attached
    add column detaching uuid[] not null default '{}';

alter table runs force row level security;
alter table instances force row level security;
