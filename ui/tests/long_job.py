"""Makes a finished job look as if it had taken many steps: writes metrics, packed and with their points, into the database of
a server that does not run (the form is that of src/store/metric_blocks.rs). What a program of its own writes has to be
believed afterwards: `anneal doctor --reseal`.

    long_job.py DATABASE JOB STEPS NAME...
"""
import math
import sqlite3
import struct
import sys

BLOCK, WIDTHS = 256, (256, 1024, 4096)
path, job, steps, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
database = sqlite3.connect(path)
for table in ("metric_block", "metric_point"):
    database.execute(f"delete from {table} where job_id = ?", (job,))


def value(number, step):
    """A curve with a trend, waves, and single steps that stand out."""
    wave = math.sin(step / (37 + number)) + 0.3 * math.sin(step * 1.7)
    return step / steps + 0.2 * wave + (3.0 if step % 9973 == 0 else 0.0)


def packed(values):
    """A bit for each step of the block that has a value, and the values."""
    bits = sum(1 << step % BLOCK for step, _ in values)
    return bits.to_bytes(BLOCK // 8, "little") + struct.pack(f"<{len(values)}d", *(value for _, value in values))


def buckets(values, width):
    """The values of each `width` steps in a row."""
    found = {}
    for step, one in values:
        found.setdefault(step // width, []).append((step, one))
    return found.items()


for number, name in enumerate(names):
    values = [(step, value(number, step)) for step in range(1, steps + 1)]
    database.executemany("insert into metric_block (job_id, name, block, packed) values (?, ?, ?, ?)",
                         ((job, name, block, packed(some)) for block, some in buckets(values, BLOCK)))
    for width in WIDTHS:
        database.executemany(
            "insert into metric_point (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, "
            "last_step, last_value) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((job, width, name, bucket, len(some), sum(v for _, v in some), min(v for _, v in some),
              max(v for _, v in some), *some[-1]) for bucket, some in buckets(values, width)))
database.execute("update job set step = ?, packed_seq = last_seq where id = ?", (steps, job))
database.commit()
