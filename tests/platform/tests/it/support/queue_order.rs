//! Checks the order of the queue inside each transaction that gives a unit from it: triggers of the test, not of the
//! service.

/// Installs the triggers. Each violation becomes a row of `check_queue.violations`.
pub(crate) const INSTALL: &str = "
    create schema check_queue;
    create table check_queue.violations (id bigint generated always as identity, text text not null);
    create table check_queue.left_entries (like stock.queue_entries);
    grant usage on schema check_queue to public;
    grant all on all tables in schema check_queue to public;

    -- an entry that is deleted may be the one that is served
    create function check_queue.entry_left() returns trigger language plpgsql as $$
    begin
        delete from check_queue.left_entries where instance_id = old.instance_id;
        insert into check_queue.left_entries select old.*;
        return null;
    end $$;
    create trigger check_entry_left after delete on stock.queue_entries
        for each row execute function check_queue.entry_left();

    -- no entry for such a unit comes before the one that is served
    create function check_queue.granted() returns trigger language plpgsql security definer as $$
    declare
        served check_queue.left_entries;
        place uuid;
        passed uuid;
    begin
        select * into served from check_queue.left_entries
            where instance_id = substr(new.payload->>'instance_id', length('inst_') + 1)::uuid;
        if served.instance_id is null then
            insert into check_queue.violations (text) values ('granted without an entry: ' || new.payload::text);
            return null;
        end if;
        select datacenter_id into place from stock.units where holder_instance = served.instance_id;
        -- entries that the same transaction serves too have left the queue already
        select q.instance_id into passed from stock.queue_entries q
            where q.gpu_spec_id = served.gpu_spec_id
              and (q.datacenter_id is null or q.datacenter_id = place)
              and (-q.priority, q.turn, q.seq) < (-served.priority, served.turn, served.seq)
              and not exists (select from stock.units u where u.holder_instance = q.instance_id)
            limit 1;
        if passed is not null then
            insert into check_queue.violations (text)
                values (format('%s was served before %s', served.instance_id, passed));
        end if;
        return null;
    end $$;
    create trigger check_granted after insert on stock.queue_grants
        for each row execute function check_queue.granted();
";
