-- Who has made credentials and webhooks: they end with their maker (libs/auth). What replicas of the previous release create has
-- no maker, as what exists: it belongs to its tenant.

alter table mq_credentials
    add column created_by uuid,
    add column created_by_key uuid, -- the API key of that user, if it was made with one
    add column rights_at timestamptz, -- issue time of the token with which it was made
    add column connections_closed_at timestamptz, -- when its connections to the broker were last closed
    add check ((created_by is null) = (rights_at is null)),
    add check (created_by_key is null or created_by is not null);
create index mq_credentials_of_maker on mq_credentials (created_by) where created_by is not null and deleted_at is null;
create index mq_credentials_of_key on mq_credentials (created_by_key)
    where created_by_key is not null and deleted_at is null;

alter table webhooks
    add column created_by uuid,
    add column created_by_key uuid,
    add column rights_at timestamptz,
    add column maker_ended boolean not null default false, -- why it is disabled
    add check ((created_by is null) = (rights_at is null)),
    add check (created_by_key is null or created_by is not null);
create index webhooks_of_maker on webhooks (created_by) where created_by is not null and enabled;
create index webhooks_of_key on webhooks (created_by_key) where created_by_key is not null and enabled;
