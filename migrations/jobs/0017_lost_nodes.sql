-- Nodes on which workers are lost again and again get no jobs. Replicas of the previous release note no node, and give jobs to
-- all of them.

alter table attempts add column lost_node text; -- of the worker that was lost with the attempt, unless it had said that it ends
create index attempts_lost on attempts (ended_at) where lost_node is not null;
