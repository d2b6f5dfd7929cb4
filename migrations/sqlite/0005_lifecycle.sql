-- The life of a job: why it is asked to stop, what it was made from, and what it proves.

-- Why a job is `pausing` or `cancelling`; null otherwise.
alter table job add column stop_reason text;
-- The failure that it is to end with once its worker lets go of it.
alter table job add column stop_failure text;
-- The job whose spec this one was made from; that one may be gone.
alter table job add column forked_from text;

-- Jobs that repeat the last part of a finished one from a checkpoint of it, to see whether they end with the same bits.
create table verification (
    job_id                   text primary key references job (id),
    source_job               text not null,
    checkpoint_id            text not null,
    directory                text not null,
    from_step                bigint not null check (from_step >= 0),
    expected_weights_sha256  text not null
);
create index verification_source on verification (source_job);

-- Mean pass@k, for the first k, of the evaluation at a training checkpoint's step, if there was one.
alter table checkpoint add column score double precision;

-- Warnings and errors, which are few among the events of a job.
create index event_notable on event (job_id, seq) where level <> 'info';
