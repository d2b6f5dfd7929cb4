-- The forks of a job are found by it.

create index job_fork on job (project, forked_from, id) where forked_from is not null;
