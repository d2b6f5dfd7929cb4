-- Adapters that others trained: the model that each belongs to, and how it is used.
alter table model add column base text;
alter table model add column adapter text;
create index model_by_base on model (base) where base is not null;
