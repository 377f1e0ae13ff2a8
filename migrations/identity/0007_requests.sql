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
