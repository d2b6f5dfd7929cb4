-- The machines whose servers share the database, which of the servers does what is done once for all of them, and which
-- programs may use the tables as they are.

create table host (
    -- `local` where there is but one; otherwise what the names of its devices begin with.
    name        text primary key,
    -- Of the data directory, which keeps it: two machines must not have one name.
    identity    text not null,
    version     text not null,
    started_at  bigint not null,
    seen_at     bigint not null
);

-- Who leads until then; of a database that one server has for itself there is no row.
create table leader (
    only_row  bigint primary key check (only_row = 1),
    server    text not null,
    until     bigint not null
);

-- The oldest number of changes that a program must know. A change that takes nothing away leaves it.
create table compatibility (
    only_row  bigint primary key check (only_row = 1),
    oldest    bigint not null
);
insert into compatibility (only_row, oldest) values (1, 38);

-- SHA-256 of keys that all servers must have alike, in hexadecimal digits.
create table key_digest (
    name    text primary key,
    digest  text not null
);

-- The data directory whose database was copied into this one; null as long as the copy is under way.
create table copied_from (
    only_row     bigint primary key check (only_row = 1),
    identity     text not null,
    completed_at bigint
);

alter table device add column host text not null default 'local';
create index device_host on device (host);
create index device_idle on device (status, host);
