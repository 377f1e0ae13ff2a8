-- Webhooks: endpoints of tenants to which events of their jobs are sent.

-- A webhook.
create table webhooks (
    id                  uuid primary key,
    tenant_id           uuid not null,
    url                 text not null,
    events              text[] not null, -- types; all if empty
    enabled             boolean not null default true,
    problem             text check (problem in ('failing', 'gone')), -- why it was disabled, if deliveries were the reason
    -- the secret, encrypted with the configured key `wrapped_by`; the previous one is used, too, until `previous_until`
    wrapped_by          text not null,
    secret              bytea not null,
    previous_wrapped_by text,
    previous_secret     bytea,
    previous_until      timestamptz,
    failing_since       timestamptz, -- first failure since the last success
    last_success_at     timestamptz,
    generation          bigint not null default 1,
    created_at          timestamptz not null default now(),
    -- the maker, with which it ends (libs/auth): the user, and the user's API key if it was made with one. Null: it
    -- belongs to the tenant, and ends with nobody.
    created_by          uuid,
    created_by_key      uuid,
    rights_at           timestamptz, -- issue time of the token with which it was made or taken over
    maker_ended         boolean not null default false, -- whether it was disabled because its maker has lost the rights
    held_until          timestamptz, -- until when it gets nothing, as the endpoint asked
    check ((previous_secret is null) = (previous_until is null)),
    check ((previous_secret is null) = (previous_wrapped_by is null)),
    check ((created_by is null) = (rights_at is null)),
    check (created_by_key is null or created_by is not null)
);
create index webhooks_of_tenant on webhooks (tenant_id, id);
create index webhooks_of_maker on webhooks (created_by) where created_by is not null and enabled;
create index webhooks_of_key on webhooks (created_by_key) where created_by_key is not null and enabled;
alter table webhooks enable row level security;
alter table webhooks force row level security;
create policy app on webhooks to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on webhooks to atelier_jobs_worker using (true) with check (true);

-- A message to an endpoint. The rows are a queue (libs/db).
create table webhook_deliveries (
    id          uuid primary key,
    webhook_id  uuid not null references webhooks on delete cascade,
    tenant_id   uuid not null,
    message_id  text not null, -- the same in each attempt
    type        text not null,
    body        text not null,
    state       text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
    attempts    jsonb not null default '[]', -- up to 8
    created_at  timestamptz not null default now(),
    ended_at    timestamptz,
    wake_at     timestamptz default now(),
    lease_owner uuid,
    lease_until timestamptz,
    failures    int not null default 0,
    unique (webhook_id, message_id),
    check ((state = 'pending') = (ended_at is null))
);
create index webhook_deliveries_due on webhook_deliveries (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
create index webhook_deliveries_of_webhook on webhook_deliveries (webhook_id, id desc);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
alter table webhook_deliveries enable row level security;
alter table webhook_deliveries force row level security;
create policy app on webhook_deliveries to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on webhook_deliveries to atelier_jobs_worker using (true) with check (true);
revoke update, delete on webhook_deliveries from atelier_jobs_app;
-- a request that changes the endpoint, or enables the webhook again, has waiting messages sent at once
grant update (wake_at) on webhook_deliveries to atelier_jobs_app;

-- How far the feed of events was turned into deliveries: one row.
create table webhook_position (
    is_only boolean primary key default true check (is_only),
    cursor  text not null
);
revoke all on webhook_position from atelier_jobs_app;

-- The feed of events of tenants with webhooks. `offset 0` keeps the planner from joining the webhooks, so that the
-- events are read in order.
create view webhook_event_feed with (security_invoker = true) as
select * from job_event_feed f
where exists (select from webhooks w where w.tenant_id = f.tenant_id and w.enabled offset 0);
revoke all on webhook_event_feed from atelier_jobs_app, atelier_jobs_worker;
grant select on webhook_event_feed to atelier_jobs_worker;
