-- The last push of each export to a repository of the hub; it goes with its export.

create table push (
    export_id      text primary key references export (id) on delete cascade,
    -- `hf:owner/name@branch`.
    destination    text not null,
    private        integer not null check (private in (0, 1)),
    status         text not null check (status in ('pending', 'running', 'succeeded', 'failed')),
    -- Of all files, and of these those that are on the hub.
    bytes          bigint not null,
    bytes_done     bigint not null default 0,
    commit_id      text,
    url            text,
    failure        text,
    created_at     bigint not null,
    completed_at   bigint
);
create index push_status on push (status, created_at) where status in ('pending', 'running');
