-- Jobs that share the frozen weights of a model hold a device together.
create table holding (
    device text not null references device (name) on delete cascade,
    job_id text not null references job (id),
    primary key (device, job_id)
) without rowid;
insert into holding (device, job_id) select name, job_id from device where job_id is not null;
create index holding_job on holding (job_id);
drop index device_job;
alter table device drop column job_id;

-- What the job's frozen weights are known by to others that could share them, if it shares its own, and their bytes.
alter table job add column base bigint;
alter table job add column base_bytes bigint not null default 0;
