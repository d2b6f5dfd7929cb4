-- Whether jobs wait that want several devices: every claim asks.
create index job_on_devices on job (status) where devices > 1;
