-- What was made with an API key ends with it: further keys, and invitations that nobody has accepted yet. Null: a person made
-- it, or a replica of the previous release.
alter table api_keys add column created_by_key uuid references api_keys on delete cascade;
create index api_keys_created_by_key on api_keys (created_by_key) where created_by_key is not null;
alter table invitations add column created_by_key uuid references api_keys on delete cascade;
create index invitations_created_by_key on invitations (created_by_key) where created_by_key is not null;
