-- What every claim looks for in a large fleet: who shares weights, and whether a device is attended.

create index job_shares on job (status) where base is not null
    and status in ('starting', 'running', 'pausing', 'cancelling');
create index worker_device on worker (device) where ended_at is null;
