-- Jobs that share the frozen weights of a model hold a device together. A device had one job, in a column that a check held to
-- its status.
drop index device_job;
alter table device rename to device_before;
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
    -- Why it takes no jobs; stays until a check finds it well.
    fault               text,
    faulted_at          bigint,
    -- How often it has failed.
    faults              bigint not null default 0,
    changed_at          bigint not null,
    seen_at             bigint not null
);
insert into device (name, number, description, uuid, memory_total, memory_free, compute_capability, driver_version, processes,
                    status, fault, faulted_at, faults, changed_at, seen_at)
select name, number, description, uuid, memory_total, memory_free, compute_capability, driver_version, processes,
       status, fault, faulted_at, faults, changed_at, seen_at
from device_before;

-- The jobs that hold a device, from the begin of their attempts to the end.
create table holding (
    device text not null references device (name) on delete cascade,
    job_id text not null references job (id),
    primary key (device, job_id)
) without rowid;
insert into holding (device, job_id) select name, job_id from device_before where job_id is not null;
create index holding_job on holding (job_id);
drop table device_before;

-- What the job's frozen weights are known by to others that could share them, if it shares its own, and their bytes.
alter table job add column base bigint;
alter table job add column base_bytes bigint not null default 0;
