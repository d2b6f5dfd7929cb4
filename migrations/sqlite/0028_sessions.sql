-- Who has signed in with a browser, and the links that sign one in. Of both only digests are stored.

create table session (
    digest text primary key,
    -- A link is used once, for a session of the same key.
    kind text not null check (kind in ('session', 'link')),
    key_id text not null references api_key (id),
    created_at integer not null,
    expires_at integer not null
) without rowid;

create index session_key on session (key_id, kind, created_at);
create index session_expires on session (expires_at);
