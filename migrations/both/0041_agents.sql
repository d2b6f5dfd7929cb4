-- Machines without a server: agents, which have only the API.

alter table host add column agent bigint not null default 0;
-- The key that the agent showed first; no other speaks for it.
alter table host add column key_id text;
-- What its operator calls machines like it.
alter table host add column pool text;
-- Since when it takes no new jobs, and since when it is to let go of those that it has.
alter table host add column cordoned_at bigint;
alter table host add column drained_at bigint;

-- How many events the worker of the attempt has reported: one that is reported again is not written again.
alter table job add column reported bigint not null default 0;
