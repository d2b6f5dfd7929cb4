-- What clients may call by its name is found by it.

create index job_name on job (project, name, id) where name is not null;
create index dataset_name on dataset (project, name, id) where name is not null;
create index model_name on model (project, name, id) where name is not null;
create index verifier_name on verifier (project, name, id) where name is not null;
