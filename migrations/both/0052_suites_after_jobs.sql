-- Suites that are run on the models of jobs when these have succeeded.

-- What is still to be run: a row goes when its run is made.
create table suite_wanted (
    job_id text primary key references job (id) on delete cascade,
    suite_id text not null
);
create index suite_wanted_suite on suite_wanted (suite_id);

-- The job whose model it is of, where a job asked for it.
alter table suite_run add column after_job text;
-- Why there are no evaluations, as JSON.
alter table suite_run add column failure text;
