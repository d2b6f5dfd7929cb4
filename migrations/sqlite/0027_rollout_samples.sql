-- What the sample of a job's completions takes, as it was when its last attempt ended.

create table rollout_sample (
    job_id  text primary key references job (id),
    bytes   bigint not null
) without rowid;
