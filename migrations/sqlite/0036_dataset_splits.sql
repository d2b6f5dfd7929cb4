-- How a version's rows are split, how many are held out, and what a version was made of.

-- The rule as JSON, `{"eval": 0.05}`; null where no rows are held out.
alter table dataset_version add column split text;
alter table dataset_version add column held_out bigint not null default 0;
-- The version whose rows it has, all of them first (appended to) or some of them (filtered).
alter table dataset_version add column parent_id text;
-- What was done with these, as JSON.
alter table dataset_version add column made text;
