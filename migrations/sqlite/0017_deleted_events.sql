-- Where the events of deleted jobs stood: whoever had read up to one of them goes on behind it.

create table deleted_event (
    id        text primary key,
    position  bigint not null unique,
    project   text not null
) without rowid;
