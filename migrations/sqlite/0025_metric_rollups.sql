-- Metrics in points that stand for 16, 256 and 4096 steps, written with each step, so that a long series is shown without
-- being read whole.

create table metric_rollup (
    job_id       text not null references job (id),
    -- Steps that a point stands for.
    width        bigint not null,
    name         text not null,
    -- Of the steps from bucket * width on.
    bucket       bigint not null,
    value_count  bigint not null check (value_count >= 1),
    value_sum    double precision not null,
    value_min    double precision not null,
    value_max    double precision not null,
    last_step    bigint not null,
    primary key (job_id, width, name, bucket)
) without rowid;

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 16, name, step / 16, count(*), coalesce(sum(value), 0.0), min(value), max(value), max(step)
    from metric group by job_id, name, step / 16;

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 256, name, bucket / 16, sum(value_count), coalesce(sum(value_sum), 0.0), min(value_min),
           max(value_max), max(last_step)
    from metric_rollup where width = 16 group by job_id, name, bucket / 16;

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 4096, name, bucket / 16, sum(value_count), coalesce(sum(value_sum), 0.0), min(value_min),
           max(value_max), max(last_step)
    from metric_rollup where width = 256 group by job_id, name, bucket / 16;
