-- Machines that a cluster's scheduler starts for jobs that no device fits.

create table launch (
    -- Also the name of the machine, and, behind `anneal-`, of the cluster's job.
    id text primary key,
    launcher text not null,
    -- For which it was made, or is meant now.
    job_id text not null,
    devices bigint not null,
    -- Bytes that each device is said to have.
    memory bigint not null,
    status text not null,
    -- What the cluster calls it.
    reference text,
    -- The cluster's machine that it has.
    node text,
    -- What the cluster says of it, or why it is over.
    message text,
    -- The key of its machine, which is revoked when it is over.
    key_id text,
    created_at bigint not null,
    submitted_at bigint,
    -- When its machine began to work for this server, and when a job began there.
    began_at bigint,
    claimed_at bigint,
    ended_at bigint
);
create index launch_open on launch (created_at) where ended_at is null;
create index launch_job on launch (job_id);

-- How long jobs waited that began lately.
create index attempt_first on attempt (started_at) where number = 1;
