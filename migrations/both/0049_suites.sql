-- Suites: sets of rows, each with its verifier and its way of sampling, that models are evaluated on; and their runs.

create table suite (
    id text primary key,
    project text not null,
    name text,
    -- Evaluations without a model, as JSON, with every default filled in and every reference resolved.
    sets text not null,
    metadata text not null,
    created_at bigint not null
);
create index suite_project on suite (project, id);

create table suite_run (
    id text primary key,
    suite_id text not null references suite (id) on delete cascade,
    project text not null,
    model text not null,
    created_at bigint not null
);
create index suite_run_suite on suite_run (suite_id, id);

create table suite_run_set (
    run_id text not null references suite_run (id) on delete cascade,
    number bigint not null,
    name text not null,
    -- That of its evaluation; it may have been deleted since.
    job_id text not null,
    primary key (run_id, number)
);
