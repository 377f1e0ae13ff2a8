-- Share links for one person, by e-mail address. Their secrets are hashed in another way than those of links for everyone,
-- so that replicas of the previous release, which do not know whom they are for, do not find them.
alter table share_links add recipient_email text;

-- The person has been recognized at the platform's address; the ticket brings that to the address of the instance, once.
create table share_link_tickets (
    hash          bytea       primary key,
    share_link_id uuid        not null references share_links (id) on delete cascade,
    -- the person's rights, with which the access ends
    user_id       uuid        not null,
    session_id    uuid,
    rights_at     timestamptz not null,
    expires_at    timestamptz not null
);
create index share_link_tickets_of_link on share_link_tickets (share_link_id);
create index share_link_tickets_expired on share_link_tickets (expires_at);
alter table share_link_tickets enable row level security;
alter table share_link_tickets force row level security;
create policy worker on share_link_tickets to atelier_gpu_worker using (true) with check (true);
