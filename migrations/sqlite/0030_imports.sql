-- Models on their way in: what is brought of them, what is missing, and why one failed.

alter table model add column status text not null default 'ready'
    check (status in ('pending', 'importing', 'ready', 'failed'));
alter table model add column bytes_done bigint not null default 0;
alter table model add column failure text;
alter table model add column warnings text not null default '[]';
-- Where the weights come from; null when they are there.
alter table model add column plan text;
update model set bytes_done = bytes;

create index model_source on model (source, id) where source like 'hf:%';
create index model_status on model (status, id) where status <> 'ready';
