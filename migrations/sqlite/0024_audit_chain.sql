-- Each entry says what the one before it was, so that one that is changed, or missing in between, is noticed. Entries from
-- before have no number.
alter table audit_entry add column number integer;
alter table audit_entry add column previous text;
alter table audit_entry add column hash text;
create unique index audit_entry_number on audit_entry (number);
create index audit_entry_project on audit_entry (project, id);
