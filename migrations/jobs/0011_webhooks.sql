-- Webhooks: where a tenant wants its events sent. Replicas of the previous release neither read nor write these tables.

create table webhooks (
    id                   uuid        primary key,
    tenant_id            uuid        not null,
    url                  text        not null,
    events               text[]      not null, -- types; all if empty
    enabled              boolean     not null default true,
    problem              text check (problem in ('failing')), -- why it was disabled, if no user did it
    -- encrypted; the one before is valid until that time
    wrapped_by           text        not null,
    secret               bytea       not null,
    previous_wrapped_by  text,
    previous_secret      bytea,
    previous_until       timestamptz,
    failing_since        timestamptz, -- first failure since the last success
    last_success_at      timestamptz,
    generation           bigint      not null default 1,
    created_at           timestamptz not null default now(),
    check ((previous_secret is null) = (previous_until is null)),
    check ((previous_secret is null) = (previous_wrapped_by is null))
);
create index webhooks_of_tenant on webhooks (tenant_id, id);
alter table webhooks enable row level security;
alter table webhooks force row level security;
create policy app on webhooks to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on webhooks to atelier_jobs_worker using (true) with check (true);

-- Messages to endpoints, a row queue (libs/db).
create table webhook_deliveries (
    id          uuid        primary key,
    webhook_id  uuid        not null references webhooks on delete cascade,
    tenant_id   uuid        not null,
    message_id  text        not null, -- of the event: the same in each attempt
    type        text        not null,
    body        text        not null,
    state       text        not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
    attempts    jsonb       not null default '[]', -- 8 at most
    created_at  timestamptz not null default now(),
    ended_at    timestamptz,
    wake_at     timestamptz default now(),
    lease_owner uuid,
    lease_until timestamptz,
    failures    int         not null default 0,
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

-- How far the feed of events was turned into deliveries.
create table webhook_position (
    is_only boolean primary key default true check (is_only),
    cursor  text    not null
);
revoke all on webhook_position from atelier_jobs_app;
