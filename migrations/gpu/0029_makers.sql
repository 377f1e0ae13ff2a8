-- With which API key SSH keys and share links were made: they end with it, as those of instances end with their user (libs/auth).
-- Replicas of the previous release write neither column; then the time of creation counts.

alter table instance_ssh_keys add column created_by_key uuid, add column rights_at timestamptz;
alter table ssh_keys add column created_by_key uuid, add column rights_at timestamptz;
alter table share_links add column created_by_key uuid, add column rights_at timestamptz;

create index instance_ssh_keys_of_maker on instance_ssh_keys (added_by);
create index instance_ssh_keys_of_key on instance_ssh_keys (created_by_key) where created_by_key is not null;
create index ssh_keys_of_key on ssh_keys (created_by_key) where created_by_key is not null;
create index share_links_of_maker on share_links (created_by);
create index share_links_of_key on share_links (created_by_key) where created_by_key is not null;

grant delete on instance_ssh_keys, ssh_keys to atelier_gpu_worker;
