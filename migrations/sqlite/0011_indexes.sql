-- What is looked up by more than its id.

create index idempotency_resource on idempotency (resource) where resource is not null;
create index audit_entry_key on audit_entry (key_id, id) where key_id is not null;
create index audit_entry_age on audit_entry (created_at);
create index job_kind on job (project, kind, id);
