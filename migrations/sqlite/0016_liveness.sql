-- Who is alive is judged by signs of life that are counted, and how long something took by a clock that nobody sets.

alter table worker add column beats bigint not null default 0;

alter table job drop column lease_until;

-- How long an attempt has had its devices, as far as its worker has told.
alter table attempt add column held_milliseconds bigint not null default 0;

update attempt set held_milliseconds =
    max(0, coalesce(ended_at, (select updated_at from job where id = job_id)) - started_at);
