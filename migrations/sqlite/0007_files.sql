-- What OpenAI clients upload, whole or in parts, and what they asked for when they made a fine-tuning job.

create table file (
    id               text primary key,
    project          text not null default 'default',
    filename         text not null,
    purpose          text not null,
    bytes            bigint not null check (bytes >= 0),
    sha256           text not null,
    created_at       bigint not null,
    -- When it is removed by itself; null: never.
    expires_at       bigint,
    -- What the first job that used the file made of it; the next ones share it.
    dataset_version  text references dataset_version (id) on delete set null
);
create index file_project on file (project, id);
create index file_expiry on file (expires_at) where expires_at is not null;
create index file_dataset_version on file (dataset_version) where dataset_version is not null;

create table upload (
    id               text primary key,
    project          text not null default 'default',
    filename         text not null,
    purpose          text not null,
    mime_type        text not null,
    -- Of the whole file, as announced.
    bytes            bigint not null check (bytes >= 1),
    status           text not null check (status in ('pending', 'completed', 'cancelled', 'expired')),
    created_at       bigint not null,
    expires_at       bigint not null,
    -- How long the finished file lives; null: for ever.
    file_seconds     bigint,
    file_id          text references file (id) on delete set null
);
create index upload_pending on upload (expires_at) where status = 'pending';
create index upload_file on upload (file_id) where file_id is not null;

create table upload_part (
    id          text primary key,
    upload_id   text not null references upload (id),
    bytes       bigint not null check (bytes >= 1),
    created_at  bigint not null
);
create index upload_part_upload on upload_part (upload_id);

-- Written before the job, so that a job always has it; no reference to the job for that reason.
create table fine_tuning (
    job_id      text primary key,
    project     text not null default 'default',
    -- The request in OpenAI's words.
    request     text not null,
    created_at  bigint not null
);
