-- Refusals of strangers are noted a few a minute; an entry also counts those before it that were not.
alter table audit_entry add column requests integer not null default 1;
