-- Finished checkpoints in forms that other programs read.

create table export (
    id             text primary key,
    job_id         text not null references job (id),
    -- It may be deleted when the export is ready.
    checkpoint_id  text not null,
    format         text not null,
    dtype          text,
    status         text not null check (status in ('pending', 'running', 'ready', 'failed')),
    -- What it takes; before it is ready, what it is expected to.
    bytes          bigint not null,
    bytes_done     bigint not null default 0,
    failure        text,
    manifest       text,
    created_at     bigint not null,
    completed_at   bigint
);
create index export_job on export (job_id);
create index export_checkpoint on export (checkpoint_id, id);
create index export_status on export (status, id) where status in ('pending', 'running');

-- Signed statements of what was made from what, as envelopes in JSON; null for what an older version made.
alter table artifact add column provenance text;
alter table export add column provenance text;
