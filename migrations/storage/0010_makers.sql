-- Who has made an access key: it ends with its maker (libs/auth). What replicas of the previous release create has no maker, as what
-- exists: it belongs to its tenant.
alter table credentials
    add column created_by uuid,
    add column created_by_key uuid, -- the API key of that user, if it was made with one
    add column rights_at timestamptz, -- issue time of the token with which it was made
    add check ((created_by is null) = (rights_at is null)),
    add check (created_by_key is null or created_by is not null);
create index credentials_of_maker on credentials (created_by) where created_by is not null and state <> 'removing';
create index credentials_of_key on credentials (created_by_key) where created_by_key is not null and state <> 'removing';
