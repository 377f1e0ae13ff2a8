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
-- an answer in the scope of a tenant or user shows what belongs to it, so that only their requests see it; the answers
-- of other scopes contain nothing of a tenant or user
create policy app on idempotency_keys to atelier_gpu_app
    using (case when scope like 'ten\_%'
                then scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', '')
                when scope like 'own\_usr\_%'
                then scope = 'own_usr_' || replace(nullif(current_setting('atelier.user', true), ''), '-', '')
                else true end)
    with check (case when scope like 'ten\_%'
                then scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', '')
                when scope like 'own\_usr\_%'
                then scope = 'own_usr_' || replace(nullif(current_setting('atelier.user', true), ''), '-', '')
                else true end);
create policy worker on idempotency_keys to atelier_gpu_worker using (true) with check (true);
