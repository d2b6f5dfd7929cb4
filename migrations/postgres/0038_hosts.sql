-- The machines whose servers share the database, which of the servers does what is done once for all of them, and which
-- programs may use the tables as they are. And the log of all jobs in an order that can be followed.

create table host (
    -- What the names of its devices begin with.
    name        text primary key,
    -- Of the data directory, which keeps it: two machines must not have one name.
    identity    text not null,
    version     text not null,
    started_at  bigint not null,
    seen_at     bigint not null
);

-- Who leads until then.
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

-- Milliseconds since the epoch: the one clock by which processes of several machines agree.
create function clock_milliseconds() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- Transactions do not end in the order in which they began, so that a plain counter would let whoever has read up to a
-- number miss a smaller one that is committed later. The upper bits of a position are the number of the transaction, the
-- lower 20 count its events. In a copy of the database elsewhere transactions are numbered anew, behind this.
create table position_base (
    only_row  bigint primary key check (only_row = 1),
    base      bigint not null
);
insert into position_base (only_row, base) values (1, 0);

create function next_position() returns bigint language plpgsql volatile as $$
declare
    counted bigint := coalesce(nullif(current_setting('anneal.positions', true), '')::bigint, 0) + 1;
begin
    perform set_config('anneal.positions', counted::text, true);
    return (select base from position_base) + (pg_current_xact_id()::text::bigint << 20) + counted;
end
$$;
alter table event alter column position drop identity;
alter table event alter column position set default next_position();

-- No transaction that may still write an event has a position up to this one.
create function settled_position() returns bigint language sql stable as $$
    select base + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 20) - 1 from position_base
$$;

-- Makes all positions to come larger than those there are, for whoever opens the database first.
create function lift_positions() returns void language sql volatile as $$
    update position_base set base = newest.position - (pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 20)
    from (select coalesce(max(position), 0) as position from event) newest
    where newest.position >= base + (pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 20)
$$;

-- As SQLite calls them, so that changes to come are written once.
create domain blob as bytea;
