create table idempotency_keys (
    scope        text        not null,
    key          text        not null,
    request_hash bytea       not null,
    status       int         not null,
    headers      jsonb       not null,
    body         jsonb,
    created_at   timestamptz not null default now(),
    primary key (scope, key)
);
create table notes (text text not null);
