-- Projects take turns: how often each comes, the turn of what it started last, that of what it starts next, and whether
-- it waited when something started last.
alter table project add column share integer not null default 1;
alter table project add column turn bigint not null default 0;
alter table project add column next_turn bigint not null default 0;
alter table project add column waiting integer not null default 0;
drop index job_claim;
create index job_waiting on job (project, priority desc, id) where status = 'queued';
create index job_worker on job (worker) where worker is not null;
