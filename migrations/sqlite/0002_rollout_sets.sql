-- Stored completions with their scores and log-probabilities, made by a job of their own or kept by a training job.

alter table job add column kind text not null default 'train' check (kind in ('train', 'rollouts'));

create table rollout_set (
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
    created_at        bigint not null,
    -- Null until the set is complete.
    directory         text unique,
    bytes             bigint,
    manifest          text,
    summary           text,
    completed_at      bigint,
    check ((directory is null) = (bytes is null) and (directory is null) = (manifest is null)
           and (directory is null) = (summary is null) and (directory is null) = (completed_at is null))
);
create unique index rollout_set_job on rollout_set (job_id);
