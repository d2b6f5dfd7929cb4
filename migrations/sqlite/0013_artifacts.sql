-- What jobs make is one thing, an artifact: a directory with a manifest that a row makes visible. Checkpoints, what
-- complete rollout sets hold, and what evaluations found had a table each.

create table artifact (
    -- ckpt_..., rs_... or ev_...
    id            text primary key,
    job_id        text not null references job (id),
    -- training, inference, rollouts, evaluation; without a check, because more will come.
    kind          text not null,
    -- Optimizer steps that the job had taken.
    step          bigint not null,
    -- Below the folder of all jobs.
    directory     text not null unique,
    bytes         bigint not null,
    manifest      text not null,
    -- Of a checkpoint: mean pass@k, for the first k, of the evaluation at its step, if there was one.
    score         double precision,
    -- What a rollout set or an evaluation holds, in numbers.
    summary       text,
    completed_at  bigint not null
);
create index artifact_job on artifact (job_id, kind, step);

insert into artifact (id, job_id, kind, step, directory, bytes, manifest, score, completed_at)
    select id, job_id, kind, step, directory, bytes, manifest, score, created_at from checkpoint;
insert into artifact (id, job_id, kind, step, directory, bytes, manifest, summary, completed_at)
    select id, job_id, 'rollouts', json_extract(manifest, '$.step'), directory, bytes, manifest, summary, completed_at
    from rollout_set where directory is not null;
-- An evaluation has the digits of its job.
insert into artifact (id, job_id, kind, step, directory, bytes, manifest, summary, completed_at)
    select 'ev_' || substr(job_id, 5), job_id, 'evaluation', 0, directory, bytes, manifest, summary, completed_at
    from evaluation;
drop table checkpoint;
drop table evaluation;

-- What is known of a rollout set before it is complete stays; columns of a check cannot be dropped.
create table new_rollout_set (
    id                text primary key,
    job_id            text not null references job (id),
    name              text,
    -- As in the resolved spec, with digests of the weights and of the tokenizer that it stood for.
    model             text not null,
    model_digest      text not null,
    tokenizer_digest  text not null,
    -- The resolved spec; null when a training job keeps what it samples.
    spec              text,
    metadata          text not null,
    created_at        bigint not null
);
insert into new_rollout_set (id, job_id, name, model, model_digest, tokenizer_digest, spec, metadata, created_at)
    select id, job_id, name, model, model_digest, tokenizer_digest, spec, metadata, created_at from rollout_set;
drop table rollout_set;
alter table new_rollout_set rename to rollout_set;
create unique index rollout_set_job on rollout_set (job_id);
