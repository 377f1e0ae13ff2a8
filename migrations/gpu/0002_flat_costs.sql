-- What is asked for again and again must not cost more with every run and every deleted instance there ever was.

-- the runs that go on, which are confirmed
create index runs_open on runs (instance_id) where ended_at is null;
-- how many instances are in each state
create index instances_of_state on instances (state) where state <> 'deleted';
