-- Keys, what projects may use, what was done with which key, and requests that can be repeated.

create table api_key (
    id            text primary key,
    project       text not null,
    name          text not null,
    -- SHA-256 of the key, in hexadecimal digits; the key itself is nowhere.
    digest        text not null unique,
    -- The first characters of the key, by which people recognise it.
    prefix        text not null,
    scopes        text not null,
    metadata      text not null,
    created_at    bigint not null,
    expires_at    bigint,
    revoked_at    bigint,
    last_used_at  bigint
);

create table project (
    name                 text primary key,
    -- Null: no limit.
    requests_per_minute  bigint check (requests_per_minute >= 1),
    max_unfinished_jobs  bigint check (max_unfinished_jobs >= 0),
    max_devices          bigint check (max_devices >= 0),
    max_storage_bytes    bigint check (max_storage_bytes >= 0),
    created_at           bigint not null,
    updated_at           bigint not null
);

-- For counting what a project has under way.
create index job_unfinished on job (project) where finished_at is null;

create table audit_entry (
    id          text primary key,
    project     text not null,
    -- Null: without a key, or with one that is not known.
    key_id      text,
    method      text not null,
    path        text not null,
    status      integer not null,
    code        text,
    request_id  text not null,
    created_at  bigint not null
);
create trigger audit_entry_stays_as_it_is before update on audit_entry
begin select raise(abort, 'entries of the audit log never change'); end;
create trigger audit_entry_stays before delete on audit_entry
    when old.created_at > (unixepoch() - 365 * 24 * 3600) * 1000
begin select raise(abort, 'entries of the audit log stay for a year'); end;

drop table idempotency;
create table idempotency (
    project     text not null,
    key         text not null,
    -- Of the request: path and body.
    digest      text not null,
    -- The job that was made; null for other requests.
    resource    text,
    -- The answer to other requests; null while they are under way.
    status      integer,
    answer      text,
    created_at  bigint not null,
    primary key (project, key)
) without rowid;
create index idempotency_age on idempotency (created_at);
