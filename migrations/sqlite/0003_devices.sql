-- Devices as the scheduler sees them, and what jobs need of them.

create table device (
    -- cpu, cuda:N, simulated:N.
    name                text primary key,
    number              integer not null,
    description         text not null,
    uuid                text,
    memory_total        bigint not null,
    -- As of the last look; what an idle worker of ours holds counts as free.
    memory_free         bigint not null,
    compute_capability  text,
    driver_version      text,
    -- A list of {pid, memory_used, ours}.
    processes           text not null default '[]',
    status              text not null check (status in ('idle', 'busy', 'faulted', 'checking', 'foreign')),
    -- The job that holds it, from the begin of its attempt to the end.
    job_id              text references job (id),
    -- Why it takes no jobs; stays until a check finds it well.
    fault               text,
    faulted_at          bigint,
    -- How often it has failed.
    faults              bigint not null default 0,
    changed_at          bigint not null,
    seen_at             bigint not null,
    check ((status = 'busy') = (job_id is not null))
);
create index device_job on device (job_id);

alter table job add column devices integer not null default 1 check (devices >= 1);
-- Bytes that the job needs on each of its devices, as estimated when it was submitted.
alter table job add column memory_bytes bigint not null default 0;

-- A list of names, the first of which is the device of the worker that leads.
alter table attempt add column devices text not null default '[]';
-- Optimizer steps that had been taken when the attempt began.
alter table attempt add column first_step bigint not null default 0;
