-- no-transaction
-- Everything belongs to a project; keys give access to one. Jobs can pause, and one more kind of job evaluates a model.
-- The table of jobs is made anew because SQLite cannot change a check: https://www.sqlite.org/lang_altertable.html,
-- "Making Other Kinds Of Table Schema Changes", which asks for foreign keys to be off meanwhile.

pragma foreign_keys = off;
begin immediate;

create table new_job (
    id             text primary key,
    kind           text not null default 'train' check (kind in ('train', 'rollouts', 'evaluation')),
    project        text not null default 'default',
    name           text,
    status         text not null check (status in
                     ('queued', 'starting', 'running', 'pausing', 'paused', 'cancelling', 'succeeded', 'failed',
                      'cancelled')),
    phase          text,
    priority       integer not null,
    objective      text not null,
    spec           text not null,
    spec_resolved  text not null,
    spec_digest    text not null,
    created_at     bigint not null,
    updated_at     bigint not null,
    started_at     bigint,
    finished_at    bigint,
    -- The right to run is the pair (id, attempt), held by `worker` until `lease_until`.
    attempt        integer not null default 0,
    crashes        integer not null default 0,
    worker         text,
    lease_until    bigint,
    step           bigint not null default 0,
    steps          bigint not null,
    last_seq       bigint not null default 0,
    devices        integer not null default 1 check (devices >= 1),
    -- Bytes that the job needs on each of its devices, as estimated when it was submitted.
    memory_bytes   bigint not null default 0,
    result         text,
    failure        text
);
insert into new_job (id, kind, name, status, phase, priority, objective, spec, spec_resolved, spec_digest, created_at,
                     updated_at, started_at, finished_at, attempt, crashes, worker, lease_until, step, steps, last_seq,
                     devices, memory_bytes, result, failure)
    select id, kind, name, status, phase, priority, objective, spec, spec_resolved, spec_digest, created_at,
           updated_at, started_at, finished_at, attempt, crashes, worker, lease_until, step, steps, last_seq,
           devices, memory_bytes, result, failure
    from job;
drop table job;
alter table new_job rename to job;
create index job_claim on job (status, priority desc, id);
create index job_project on job (project, id);

alter table dataset add column project text not null default 'default';
alter table verifier add column project text not null default 'default';
-- Null: every project sees it.
alter table model add column project text;

commit;
pragma foreign_keys = on;
