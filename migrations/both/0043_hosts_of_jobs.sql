-- Jobs on several machines, and jobs that begin with fewer devices than they ask for.
alter table job add column hosts bigint not null default 1;
-- Null where nothing less than `devices` will do.
alter table job add column least_devices bigint;

-- Where the other machines of the attempt meet its first, and what they know each other by: JSON, while it is under way.
alter table attempt add column rendezvous text;
create index attempt_rendezvous on attempt (job_id) where rendezvous is not null;

-- What the trace is known by in which the job was submitted (W3C Trace Context), where there is one.
alter table job add column trace text;

-- What the folder of a model holds, as JSON; null of models from before this was written down.
alter table model add column files text;

create index job_on_hosts on job (status) where hosts > 1;
