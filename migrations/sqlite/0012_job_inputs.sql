-- What jobs refer to, as rows; and what may change of a job, out of its spec.

create table job_input (
    job_id  text not null references job (id),
    -- model, teacher, rows, held_out, rollouts, verifier, resume.
    role    text not null,
    -- builtin, model, checkpoint, dataset_version, rollout_set, verifier, path.
    kind    text not null,
    id      text not null,
    -- Of what it was at submission, where the id alone does not say so.
    digest  text,
    primary key (job_id, role, id)
) without rowid;
create index job_input_id on job_input (id);

insert or ignore into job_input (job_id, role, kind, id)
    select job_id, role,
           case when id like '/%' then 'path' when id like 'mdl~_%' escape '~' then 'model'
                when id like 'ckpt~_%' escape '~' then 'checkpoint'
                when id like 'dsv~_%' escape '~' then 'dataset_version'
                when id like 'rs~_%' escape '~' then 'rollout_set' when id like 'vf~_%' escape '~' then 'verifier'
                else 'builtin' end,
           id
    from (
        select id as job_id, 'model' as role, json_extract(spec_resolved, '$.model') as id from job
        union all select id, 'teacher', json_extract(spec_resolved, '$.objective.teacher') from job
        union all select id, 'rows', json_extract(spec_resolved, '$.dataset.train') from job where kind <> 'evaluation'
        union all select id, 'rows', json_extract(spec_resolved, '$.dataset') from job where kind = 'evaluation'
        union all select id, 'held_out', json_extract(spec_resolved, '$.dataset.eval') from job
            where kind <> 'evaluation'
        union all select id, 'rollouts', json_extract(spec_resolved, '$.rollouts.from') from job
        union all select id, 'rollouts', json_extract(spec_resolved, '$.rollouts.mix.rollout_set') from job
        union all select id, 'rollouts', json_extract(spec_resolved, '$.regrade_of') from job
        -- The resolved spec has the configuration in the place of the id.
        union all select id, 'verifier', json_extract(spec, '$.verifier') from job
            where json_type(spec, '$.verifier') = 'text'
        union all select job_id, 'resume', checkpoint_id from verification
    )
    where id is not null;

alter table job add column metadata text not null default '{}';
alter table job add column budget text;
update job set metadata = coalesce(json_extract(spec_resolved, '$.metadata'), '{}'),
               budget = json_extract(spec_resolved, '$.budget'),
               spec_resolved = json_remove(spec_resolved, '$.name', '$.priority', '$.metadata', '$.budget');
