-- Pages of the jobs with one status: a rare one is found without a walk through all jobs.

create index job_status on job (project, status, id);
