-- Points for 8, 64, 512 and 4096 steps, eight of each in one of the next, in the place of those for 16 and 256.

delete from metric_rollup where width in (16, 256);

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 8, name, step / 8, count(*), coalesce(sum(value), 0.0), min(value), max(value), max(step)
    from metric group by job_id, name, step / 8;

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 64, name, bucket / 8, sum(value_count), coalesce(sum(value_sum), 0.0), min(value_min),
           max(value_max), max(last_step)
    from metric_rollup where width = 8 group by job_id, name, bucket / 8;

insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
    select job_id, 512, name, bucket / 8, sum(value_count), coalesce(sum(value_sum), 0.0), min(value_min),
           max(value_max), max(last_step)
    from metric_rollup where width = 64 group by job_id, name, bucket / 8;
