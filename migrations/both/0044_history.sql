-- What finds jobs in a long history: the pairs of their metadata, a part of their name, and events of kinds that are rare.

create table job_metadata (
    job_id   text not null references job (id),
    key      text not null,
    project  text not null,
    value    text not null,
    primary key (job_id, key)
);

insert into job_metadata (job_id, key, project, value)
    select job.id, own.key, job.project, own.value from job, json_each(job.metadata) as own;

create index job_metadata_pair on job_metadata (project, key, value, job_id);
create index job_label on job (project, id, name);
create index job_tally on job (project, status);
create index event_rare on event (type, position) where type in ('status', 'evaluation', 'checkpoint', 'rollout_set');

-- Who does not write the pairs cannot use this database. No version was released that could be at work beside this one.
update compatibility set oldest = 44;
