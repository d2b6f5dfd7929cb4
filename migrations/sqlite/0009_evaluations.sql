-- What evaluations found. An evaluation is a job of its kind; its row here appears when it is complete.

create table evaluation (
    job_id        text primary key references job (id),
    directory     text not null unique,
    bytes         bigint not null,
    manifest      text not null,
    summary       text not null,
    completed_at  bigint not null
);

alter table verifier add column metadata text not null default '{}';
