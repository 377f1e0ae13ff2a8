-- An API key acts for one tenant, and so does a key of its user that it adds. Null: all tenants of the user, as of what a person has
-- added, and of what replicas of the previous release add.
alter table ssh_keys add column opens_tenant uuid;
