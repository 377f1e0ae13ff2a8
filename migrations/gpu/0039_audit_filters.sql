-- The audit log is read by person, by operation and by time. The text of an entry never changes, so that indexes of its parts are exact.

create index audit_entries_by_user on audit_entries (tenant_id, ((entry::jsonb) ->> 'user_id'), number);
create index audit_entries_by_operation on audit_entries (tenant_id, ((entry::jsonb) ->> 'operation'), number);
create index audit_entries_by_time on audit_entries (tenant_id, at, number);
