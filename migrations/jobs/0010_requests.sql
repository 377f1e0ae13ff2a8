-- Idempotent writes (libs/api).

-- The answer to a write with an `Idempotency-Key`, stored in the transaction of its effect and returned again when the
-- request is repeated.
create table idempotency_keys (
    scope        text not null, -- the caller
    key          text not null,
    request_hash bytea not null, -- distinguishes a repetition from another request with the same key
    status       int not null,
    headers      jsonb not null,
    body         jsonb,
    created_at   timestamptz not null default now(),
    primary key (scope, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
-- an answer in the scope of a tenant shows its resources, so that only the tenant's requests see it; the answers of
-- other scopes contain nothing of a tenant
create policy app on idempotency_keys to atelier_jobs_app
    using (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''))
    with check (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''));
create policy worker on idempotency_keys to atelier_jobs_worker using (true) with check (true);
