-- The marks of handled webhook events. Plain statements that can be run again: give this file to a migration tool, or
-- call `PostgresGuard::create_table`.
create table if not exists shared_inbox_webhooks (
    endpoint text not null,
    event text not null,
    state text not null check (state in ('claimed', 'free', 'done')),
    -- Grows with each claim of the same event, and begins with the time in microseconds.
    fence bigint not null,
    -- When a claim runs out, or when the row may go.
    until timestamptz not null,
    primary key (endpoint, event)
) with (fillfactor = 70);
-- To find what is old. Of what a step changes, nothing else has an index, so that the row's other index entries stay.
create index if not exists shared_inbox_webhooks_fence on shared_inbox_webhooks (fence);
