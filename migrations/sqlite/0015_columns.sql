-- The rows that have a value in each column, as a JSON object; null where that was not counted.

alter table dataset_version add column filled text;
