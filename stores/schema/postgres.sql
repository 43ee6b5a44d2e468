-- The marks of handled webhook events, schema version 3. Plain statements that can be run again and that bring an older table up
-- to date: give this file to a migration tool, or call `PostgresGuard::create_table`. Receivers of a release with another
-- version answer 503 until they are replaced; the service repeats what they rejected.
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
-- From version 1, which had no namespaces.
do $$ begin
    if not exists (select from pg_attribute
        where attrelid = 'shared_inbox_webhooks'::regclass and attname = 'namespace' and not attisdropped)
    then
        alter table shared_inbox_webhooks add column namespace text not null default '';
        alter table shared_inbox_webhooks drop constraint shared_inbox_webhooks_pkey,
            add primary key (namespace, endpoint, event);
    end if;
end $$;
-- From version 2, which had no dead letters.
alter table shared_inbox_webhooks add column if not exists runs integer not null default 0,
    add column if not exists dead_at timestamptz, add column if not exists event_type text,
    add column if not exists body bytea, add column if not exists error text;
create index if not exists shared_inbox_webhooks_dead on shared_inbox_webhooks (namespace, dead_at)
    where dead_at is not null;
-- To find what is old: the sweep goes by the fence, in this order. Of what a step changes nothing has an index, so that the row's
-- other index entries stay.
create index if not exists shared_inbox_webhooks_fence on shared_inbox_webhooks (fence);
comment on table shared_inbox_webhooks is 'shared-inbox-webhooks, schema version 3';
