"""Makes a finished job look as if it had taken many steps: writes metrics with their roll-ups into the database of a server
that does not run. What a program of its own writes has to be believed afterwards: `anneal doctor --reseal`.

    long_job.py DATABASE JOB STEPS NAME...
"""
import math
import sqlite3
import sys

path, job, steps, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
database = sqlite3.connect(path)
database.execute("delete from metric where job_id = ?", (job,))
database.execute("delete from metric_rollup where job_id = ?", (job,))


def value(number, step):
    """A curve with a trend, waves, and single steps that stand out."""
    wave = math.sin(step / (37 + number)) + 0.3 * math.sin(step * 1.7)
    return step / steps + 0.2 * wave + (3.0 if step % 9973 == 0 else 0.0)


for number, name in enumerate(names):
    rows = ((job, name, step, value(number, step)) for step in range(1, steps + 1))
    database.executemany("insert into metric (job_id, name, step, value) values (?, ?, ?, ?)", rows)
database.execute(
    """insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
       select job_id, 8, name, step / 8, count(*), sum(value), min(value), max(value), max(step)
       from metric where job_id = ? group by name, step / 8""", (job,))
for narrow, wide in ((8, 64), (64, 512), (512, 4096)):
    database.execute(
        """insert into metric_rollup (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
           select job_id, ?, name, bucket / 8, sum(value_count), sum(value_sum), min(value_min), max(value_max), max(last_step)
           from metric_rollup where job_id = ? and width = ? group by name, bucket / 8""", (wide, job, narrow))
database.execute("update job set step = ? where id = ?", (steps, job))
database.commit()
