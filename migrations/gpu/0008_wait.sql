-- How far this service has followed the feeds of others. A cursor is stored in the transaction of its effect.
create table feed_cursors (
    feed       text        primary key,
    cursor     text        not null,
    updated_at timestamptz not null default now()
);
revoke all on feed_cursors from atelier_gpu_app;
