-- Since when users and members have been able to make things without a break, so that what they made before ends
-- (`maker-checks`). Null: since they exist. Triggers, so that replicas of the previous release record it, too.

alter table users add column enabled_since timestamptz; -- the end of the last time when the user was disabled
alter table members add column writer_since timestamptz; -- the end of the last time when the member was a viewer

create function note_enabled_user() returns trigger language plpgsql as $$
begin
    new.enabled_since := now();
    return new;
end $$;
create trigger users_enabled before update on users for each row
    when (old.disabled and not new.disabled) execute function note_enabled_user();

create function note_new_writer() returns trigger language plpgsql as $$
begin
    new.writer_since := now();
    return new;
end $$;
create trigger members_writer before update on members for each row
    when (old.role = 'viewer' and new.role <> 'viewer') execute function note_new_writer();
