-- Values of metrics, packed by 256 steps, and points for 256, 1024 and 4096 steps. Values behind the event that a job's are
-- packed up to are read from its events, as all values of a database from before are until it is opened again.

drop table metric_rollup;
drop table metric;

create table metric_block (
    job_id  text not null references job (id),
    name    text not null,
    -- The values of steps `block * 256` up to that of the next.
    block   bigint not null,
    packed  blob not null,
    primary key (job_id, name, block)
);

create table metric_point (
    job_id       text not null references job (id),
    width        bigint not null,
    name         text not null,
    bucket       bigint not null,
    value_count  bigint not null,
    -- Null where it is not a number: the sum of what is infinite both ways.
    value_sum    double precision,
    value_min    double precision not null,
    value_max    double precision not null,
    last_step    bigint not null,
    last_value   double precision not null,
    primary key (job_id, width, name, bucket)
);

alter table job add column packed_seq bigint not null default 0;

-- Who knows the tables that are gone cannot use this database. No version was released that could be at work beside this one.
update compatibility set oldest = 39;
