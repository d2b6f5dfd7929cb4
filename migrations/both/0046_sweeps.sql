-- Sweeps: jobs that differ in some fields and in their seeds, of which some run at once.

create table sweep (
    id text primary key,
    project text not null,
    name text,
    -- What was asked for, and the configurations that it came to, as JSON.
    request text not null,
    configurations text not null,
    -- How many of its jobs may be under way at once.
    at_once bigint not null,
    -- running, paused, cancelled or finished
    status text not null,
    created_at bigint not null,
    finished_at bigint
);
create index sweep_project on sweep (project, id);
create index sweep_open on sweep (created_at) where finished_at is null;

create table sweep_trial (
    sweep_id text not null references sweep (id) on delete cascade,
    number bigint not null,
    -- By its place among the sweep's.
    configuration bigint not null,
    seed bigint not null,
    -- It may have been deleted since.
    job_id text not null,
    -- 1 where an earlier job of the same resolved spec answers.
    reused bigint not null,
    -- When it was its turn.
    released_at bigint,
    primary key (sweep_id, number)
);
create index sweep_trial_job on sweep_trial (job_id);
-- Finished work that is to be done again.
create index job_digest on job (project, spec_digest) where status = 'succeeded';
