//! The statements, each one step. All times are the store's own.
//!
//! An expired claim keeps its row, so that its holder may still commit until another claim takes it. Fences
//! begin with the time in microseconds, so that they grow even after a row was removed.

/// A lock on creating the tables, held until the transaction ends.
pub(super) const ONE_AT_A_TIME: &str =
    "select pg_advisory_xact_lock(hashtextextended('shared_inbox_webhooks', 0))";

/// Which version of the schema the tables have; 0 where there are none.
pub(super) const VERSION: &str = "
select coalesce(substring(obj_description(to_regclass('shared_inbox_webhooks'), 'pg_class')
    from 'schema version ([0-9]+)')::int, 0)";

/// `$1` namespace, `$2` endpoint, `$3` event, as in all that follow; `$4` lease in seconds. Gives the fence,
/// the number of the run, and whether an earlier claim had run out, or nothing when it is not granted. What
/// stands behind `returning` in parentheses sees the row as it was before. A run counts for as long as its
/// event is remembered.
pub(super) const CLAIM: &str = "
insert into shared_inbox_webhooks as mark (namespace, endpoint, event, state, fence, until, runs)
values ($1, $2, $3, 'claimed', (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    clock_timestamp() + $4 * interval '1 second', 1)
on conflict (namespace, endpoint, event) do update
set state = excluded.state, fence = greatest(mark.fence + 1, excluded.fence), until = excluded.until,
    runs = case when mark.state = 'claimed' or mark.until > clock_timestamp() then mark.runs + 1 else 1 end
where mark.dead_at is null and (mark.state = 'free' or mark.until <= clock_timestamp())
returning fence, runs::bigint, exists (select from shared_inbox_webhooks
    where namespace = $1 and endpoint = $2 and event = $3 and state = 'claimed')";

/// The state of an event that was not granted: `done`, `dead`, or in progress.
pub(super) const STATE: &str = "
select case when state = 'claimed' and until > clock_timestamp() then state
    when dead_at is not null then 'dead' else state end
from shared_inbox_webhooks where namespace = $1 and endpoint = $2 and event = $3";

/// `$4` fence, `$5` lease in seconds.
pub(super) const RENEW: &str = "
update shared_inbox_webhooks set until = clock_timestamp() + $5 * interval '1 second'
where namespace = $1 and endpoint = $2 and event = $3 and fence = $4 and state = 'claimed'";

/// `$4` fence, `$5` retention in seconds. Once more is as good as once.
pub(super) const COMMIT: &str = "
update shared_inbox_webhooks set state = 'done', until = clock_timestamp() + $5 * interval '1 second',
    dead_at = null, event_type = null, body = null, error = null
where namespace = $1 and endpoint = $2 and event = $3 and fence = $4 and state in ('claimed', 'done')";

/// `$4` fence, `$5` retention in seconds. The row stays, so that fences grow.
pub(super) const RELEASE: &str = "
update shared_inbox_webhooks set state = 'free', until = clock_timestamp() + $5 * interval '1 second'
where namespace = $1 and endpoint = $2 and event = $3 and fence = $4 and state = 'claimed'";

/// `$4` retention in seconds.
pub(super) const FORGET: &str = "
update shared_inbox_webhooks set state = 'free', runs = 0, until = clock_timestamp() + $4 * interval '1 second'
where namespace = $1 and endpoint = $2 and event = $3 and state = 'done' and until > clock_timestamp()";

/// `$4` retention in seconds, `$5` for how many milliseconds the transaction may stand idle. Writes no row
/// when the mark is not new.
///
/// An insert would wait for another transaction that has inserted the same row, so a lock is tried instead,
/// which is released when the transaction ends. The store ends a transaction that is idle for too long,
/// because its machine may be gone.
pub(super) const MARK: &str = "
insert into shared_inbox_webhooks as mark (namespace, endpoint, event, state, fence, until)
select $1, $2, $3, 'done', (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    clock_timestamp() + $4 * interval '1 second'
where set_config('idle_in_transaction_session_timeout', $5, true) is not null
    and pg_try_advisory_xact_lock(hashtextextended($3, hashtextextended($2, hashtextextended($1, 0))))
on conflict (namespace, endpoint, event) do update
set state = excluded.state, fence = greatest(mark.fence + 1, excluded.fence), until = excluded.until
where mark.dead_at is null and (mark.state = 'free' or mark.until <= clock_timestamp())";

/// `$4` fence, `$5` retention in seconds, `$6` type, `$7` body, `$8` attempts, `$9` error. A dead letter is
/// the row itself. Once more is as good as once.
pub(super) const BURY: &str = "
update shared_inbox_webhooks set state = 'free', until = clock_timestamp() + $5 * interval '1 second',
    dead_at = coalesce(dead_at, clock_timestamp()), event_type = $6, body = $7, runs = $8, error = $9
where namespace = $1 and endpoint = $2 and event = $3 and fence = $4 and (state = 'claimed' or dead_at is not null)";

/// `$4` lease in seconds. Gives the fence and what the dead letter is.
pub(super) const CLAIM_DEAD_LETTER: &str = "
update shared_inbox_webhooks set state = 'claimed', until = clock_timestamp() + $4 * interval '1 second',
    fence = greatest(fence + 1, (date_part('epoch', clock_timestamp()) * 1000000)::bigint)
where namespace = $1 and endpoint = $2 and event = $3 and dead_at is not null
    and (state <> 'claimed' or until <= clock_timestamp())
returning fence, endpoint, event, event_type, body, runs, error";

/// `$1` namespace, `$2` how many.
pub(super) const DEAD_LETTERS: &str = "
select fence, endpoint, event, event_type, body, runs, error from shared_inbox_webhooks
where namespace = $1 and dead_at is not null order by dead_at, endpoint, event limit $2";

/// `$4` retention in seconds.
pub(super) const DISCARD: &str = "
update shared_inbox_webhooks set state = 'done', until = clock_timestamp() + $4 * interval '1 second',
    dead_at = null, event_type = null, body = null, error = null
where namespace = $1 and endpoint = $2 and event = $3 and dead_at is not null
    and (state <> 'claimed' or until <= clock_timestamp())";

/// How many rows one sweep removes at most.
pub(super) const SWEPT_AT_ONCE: u64 = 1000;

/// `$1` retention in seconds. Removes rows of all namespaces, as the app of one may be gone.
///
/// Old rows are found by their fence, which holds the time of the claim and has an index. The index is used
/// because `now()` is constant throughout a statement, unlike `clock_timestamp()`. An expired claim is kept
/// for as long again, because its holder may still commit.
pub(super) const SWEEP: &str = "
delete from shared_inbox_webhooks where ctid = any (array(
    select ctid from shared_inbox_webhooks
    where fence < ((date_part('epoch', now()) - $1) * 1000000)::bigint and until < now() and dead_at is null
    and (state <> 'claimed' or until < now() - $1 * interval '1 second')
    order by fence limit 1000 for update skip locked
))";
