-- A job that found the disk full is queued again and waits for space: since when, and with what it fails in the end.
alter table job add column storage_full_at integer;
alter table job add column storage_failure text;
create index job_storage on job (storage_full_at) where storage_full_at is not null;
