-- Rights that ended before the tokens that grant them expire: a feed that all services follow (libs/feed).
create table revocations (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb not null -- user_id, tenant_id, session_id: tokens that carry all of those that are not null
);
create index revocations_xact on revocations (xact);
revoke all on revocations from atelier_identity_app;
grant insert (payload) on revocations to atelier_identity_app;
