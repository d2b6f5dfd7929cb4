-- Times are milliseconds since the Unix epoch. JSON is stored as text. Ids are `prefix_` and 32 hexadecimal digits
-- of a UUID version 7, so that their order is the order of creation.

create table dataset (
    id          text primary key,
    name        text,
    metadata    text not null,
    created_at  bigint not null
);

create table dataset_version (
    id              text primary key,
    dataset_id      text not null references dataset (id),
    number          bigint not null check (number >= 1),
    sha256          text not null,
    row_count       bigint not null check (row_count >= 1),
    bytes           bigint not null,
    answers         bigint not null,
    completions     bigint not null,
    duplicates      bigint not null,
    columns         text not null,
    created_at      bigint not null,
    unique (dataset_id, number)
);

create table model (
    id                text primary key,
    name              text,
    source            text not null,
    format            text not null,
    architecture      text not null,
    parameters        bigint not null,
    context_length    bigint not null,
    vocab_size        bigint not null,
    weights_sha256    text not null,
    tokenizer_sha256  text not null,
    bytes             bigint not null,
    created_at        bigint not null
);

create table verifier (
    id          text primary key,
    name        text,
    config      text not null,
    digest      text not null,
    created_at  bigint not null
);

create table job (
    id             text primary key,
    name           text,
    status         text not null check (status in
                     ('queued', 'starting', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled')),
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
    result         text,
    failure        text
);
create index job_claim on job (status, priority desc, id);

create table attempt (
    job_id      text not null references job (id),
    number      integer not null,
    worker      text not null,
    device      text not null,
    started_at  bigint not null,
    ended_at    bigint,
    outcome     text,
    primary key (job_id, number)
);

create table event (
    -- The order of all events of all jobs, for those who follow everything.
    position    integer primary key autoincrement,
    id          text not null unique,
    job_id      text not null references job (id),
    seq         bigint not null,
    type        text not null,
    level       text not null,
    message     text not null,
    data        text not null,
    created_at  bigint not null,
    unique (job_id, seq)
);

create table metric (
    job_id  text not null references job (id),
    name    text not null,
    step    bigint not null,
    value   double precision not null,
    primary key (job_id, name, step)
) without rowid;

create table checkpoint (
    id          text primary key,
    job_id      text not null references job (id),
    kind        text not null check (kind in ('training', 'inference')),
    attempt     integer not null,
    step        bigint not null,
    directory   text not null unique,
    bytes       bigint not null,
    manifest    text not null,
    created_at  bigint not null
);
create index checkpoint_job on checkpoint (job_id, kind, step);

create table worker (
    id           text primary key,
    device       text not null,
    description  text not null,
    pid          bigint not null,
    started_at   bigint not null,
    seen_at      bigint not null,
    ended_at     bigint
);

create table idempotency (
    key         text primary key,
    digest      text not null,
    resource    text not null,
    created_at  bigint not null
);
