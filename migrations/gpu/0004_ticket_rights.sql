-- The session and time of the rights with which a ticket was created: what it opens ends with them.
alter table tickets
    add column session_id uuid,
    add column rights_at  timestamptz not null default now();
