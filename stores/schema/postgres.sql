-- What machines share in PostgreSQL, schema version 1. Plain statements that can be run again: give this file to a migration tool,
-- or call `Postgres::create_tables`.

-- The marks of handled webhook events.
create table if not exists shared_inbox_webhooks (
    -- Tells apps that share a database apart.
    namespace text not null default '',
    endpoint text not null,
    event text not null,
    state text not null check (state in ('claimed', 'free', 'done')),
    -- Grows with each claim of the same event, and begins with the time in microseconds.
    fence bigint not null,
    -- When a claim runs out, or when the row may go.
    until timestamptz not null,
    -- How many runs of a handler there were that did not succeed.
    runs integer not null default 0,
    -- Of a dead letter: since when it is one, the event's type, its body, and what the last run failed with.
    dead_at timestamptz,
    event_type text,
    body bytea,
    error text,
    primary key (namespace, endpoint, event)
) with (fillfactor = 70);
create index if not exists shared_inbox_webhooks_dead on shared_inbox_webhooks (namespace, dead_at)
    where dead_at is not null;
-- To find what is old: the sweep goes by the fence, in this order. Of what a step changes nothing has an index, so that the row's
-- other index entries stay.
create index if not exists shared_inbox_webhooks_fence on shared_inbox_webhooks (fence);

-- The records of `once` keys.
create table if not exists shared_inbox_once (
    namespace text not null,
    key text not null,
    fingerprint text not null,
    record text not null,
    is_finished boolean not null,
    is_taken_over boolean not null,
    fence bigint not null,
    until timestamptz not null,
    primary key (namespace, key)
);

comment on table shared_inbox_webhooks is 'shared-inbox-stores, schema version 1';
