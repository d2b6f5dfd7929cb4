-- Webhooks: who is told what, what is on its way, and what became of every try.

create table webhook_endpoint (
    id                text primary key,
    project           text not null default 'default',
    url               text not null,
    description       text,
    -- A list of types of events, or ["*"].
    events            text not null,
    enabled           integer not null check (enabled in (0, 1)),
    -- Why the server has disabled it.
    disabled_reason   text,
    -- Signatures need the secret itself, so that a digest of it would not do.
    secret            text not null,
    -- Signs beside the secret until then.
    old_secret        text,
    old_secret_until  bigint,
    metadata          text not null,
    created_at        bigint not null,
    -- Events up to this one are from before it was made or enabled.
    from_position     bigint not null,
    -- The first failure since the last success.
    failing_since     bigint,
    check ((old_secret is null) = (old_secret_until is null))
);
create index webhook_endpoint_project on webhook_endpoint (project, id);

create table webhook_delivery (
    id               text primary key,
    endpoint_id      text not null references webhook_endpoint (id) on delete cascade,
    -- Null for a test. Not a reference: what was told stays when a job is deleted.
    event_id         text,
    type             text not null,
    -- As it is sent and signed, the same in every try.
    body             text not null,
    status           text not null check (status in ('pending', 'succeeded', 'failed')),
    attempts         integer not null default 0,
    -- Tries since it was made or last asked for: its place in the schedule.
    tries            integer not null default 0,
    next_attempt_at  bigint,
    created_at       bigint not null,
    unique (endpoint_id, event_id),
    check ((status = 'pending') = (next_attempt_at is not null))
);
create index webhook_delivery_endpoint on webhook_delivery (endpoint_id, id);
create index webhook_delivery_due on webhook_delivery (endpoint_id, next_attempt_at, id) where status = 'pending';
create index webhook_delivery_age on webhook_delivery (created_at);

create table webhook_attempt (
    delivery_id   text not null references webhook_delivery (id) on delete cascade,
    number        integer not null,
    started_at    bigint not null,
    milliseconds  bigint not null,
    -- Null when there was no answer.
    http_status   integer,
    -- The begin of the answer's body.
    answer        text,
    error         text,
    primary key (delivery_id, number)
) without rowid;

-- How far the event log has been turned into deliveries.
create table webhook_cursor (
    only_row  integer primary key check (only_row = 1),
    position  bigint not null
);
insert into webhook_cursor (only_row, position) values (1, 0);
