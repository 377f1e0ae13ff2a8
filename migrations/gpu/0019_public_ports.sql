-- Ports of instances with host names of their own. Replicas of the previous release leave the column as it is, and answer
-- such a host name as an unknown one.

alter table instances add column public_ports jsonb not null default '[]';
-- null: the ticket opens the host name of the instance itself
alter table tickets add column port int;
