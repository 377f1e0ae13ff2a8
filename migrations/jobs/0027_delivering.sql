-- Attempts that are delivering: their results wait on the disk of a worker, which runs other jobs meanwhile. Replicas of the previous
-- release hand nothing over; for them the worker runs the attempt on.

alter table attempts
    add column delivering_at      timestamptz, -- when the work was done
    add column delivering_session bigint;      -- of the worker, which has the results as long as it lasts
create index attempts_delivering on attempts (worker_id) where state = 'open' and delivering_at is not null;
