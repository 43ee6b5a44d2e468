//! A replay guard on PostgreSQL, and the one form that is exactly once: the mark inside the handler's own
//! transaction.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryFutureExt;
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard, Delivery, FencingToken,
    GuardError, GuardFuture, Mark, ReplayGuard, TransactionalInbox,
};
use sqlx::postgres::{PgArguments, PgPool, PgRow};
use sqlx::query::Query;
use sqlx::{FromRow, PgConnection, PgExecutor, Postgres, Row, Transaction};

use super::statements;
use crate::guard_settings::{GuardSettings, granted, guard_settings, held_if, in_time, release_later};

/// How often one process removes old marks.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Remembers events in a table of PostgreSQL, which all receivers share:
/// [`Postgres::guard`](crate::Postgres::guard).
///
/// As a [`ReplayGuard`] it has claims with leases, for handlers whose effects are elsewhere. As a
/// [`TransactionalInbox`] it writes the mark inside the transaction of the handler: what the handler does
/// through it happens exactly once.
///
/// `Handlers::on_store_error` sets what happens while the store is unavailable. A transaction always needs
/// the store.
#[derive(Clone)]
pub struct PostgresGuard {
    pool: PgPool,
    timeout: Duration,
    settings: GuardSettings,
    swept: Arc<Mutex<Option<Instant>>>,
}

impl PostgresGuard {
    pub(super) fn new(pool: PgPool, timeout: Duration, settings: GuardSettings) -> Self {
        Self { pool, timeout, settings, swept: Arc::default() }
    }

    guard_settings!();

    /// Returns the pool.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Runs a step, and explains the error of a table that is missing.
    async fn ask<T>(&self, step: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, GuardError> {
        in_time(self.timeout, step).await.map_err(|error| {
            let database = error.cause::<sqlx::Error>().and_then(|error| error.as_database_error());
            match database.and_then(|error| error.code()).as_deref() {
                Some("42P01") => GuardError::new(NO_TABLE),
                _ => error,
            }
        })
    }

    /// Returns a statement about one delivery.
    fn query<'q>(
        &'q self,
        statement: &'static str,
        delivery: &'q Delivery,
    ) -> Query<'q, Postgres, PgArguments> {
        let query = sqlx::query(statement).bind(&*self.settings.namespace);
        query.bind(delivery.endpoint()).bind(delivery.event())
    }

    /// Runs a statement, and returns whether it changed the row.
    async fn change(&self, query: Query<'_, Postgres, PgArguments>) -> Result<bool, GuardError> {
        Ok(self.ask(query.execute(&self.pool)).await?.rows_affected() == 1)
    }

    /// Returns why an event was not granted.
    async fn state(&self, store: impl PgExecutor<'_>, delivery: &Delivery) -> Result<Claim, GuardError> {
        let row = self.ask(self.query(statements::STATE, delivery).fetch_optional(store)).await?;
        let state: Option<String> = row.and_then(|row| row.try_get(0).ok());
        Ok(match state.as_deref() {
            Some("done") => Claim::Done,
            Some("dead") => Claim::DeadLettered,
            _ => Claim::InProgress,
        })
    }

    /// Removes old marks now and then, in the background.
    fn sweep(&self) {
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if swept.is_some_and(|last| last.elapsed() < SWEEP_INTERVAL) {
                return;
            }
            *swept = Some(Instant::now());
        }
        let (pool, retention) = (self.pool.clone(), self.settings.retention.as_secs_f64());
        tokio::spawn(async move {
            // A few at a time, so that no statement waits for it. A failure is tried again in a minute.
            let sweep = async || sqlx::query(statements::SWEEP).bind(retention).execute(&pool).await;
            while sweep().await.is_ok_and(|swept| swept.rows_affected() == statements::SWEPT_AT_ONCE) {}
        });
    }
}

const NO_TABLE: &str = "the table `shared_inbox_webhooks` is missing: call `Postgres::create_tables`, or run `Postgres::SCHEMA` \
    (the file `schema/postgres.sql`)";

/// Converts a fence; one that does not fit was never granted.
fn number(fence: FencingToken) -> i64 {
    i64::try_from(fence.number()).unwrap_or(-1)
}

impl ReplayGuard for PostgresGuard {
    fn lease_time(&self) -> Duration {
        self.settings.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async move { Ok(self.claim_run(delivery).await?.claim) })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let renewal = self.query(statements::RENEW, delivery).bind(number(fence));
        Box::pin(self.change(renewal.bind(self.settings.lease.as_secs_f64())).map_ok(held_if))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let commit = self.query(statements::COMMIT, delivery).bind(number(fence));
        Box::pin(self.change(commit.bind(self.settings.retention.as_secs_f64())).map_ok(held_if))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let release = self.query(statements::RELEASE, delivery).bind(number(fence));
        Box::pin(self.change(release.bind(self.settings.retention.as_secs_f64())).map_ok(held_if))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        let forgetting = self.query(statements::FORGET, delivery);
        Box::pin(self.change(forgetting.bind(self.settings.retention.as_secs_f64())))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        release_later(self.clone(), delivery, fence);
    }
}

/// A row that is a dead letter: fence, endpoint, event, type, body, runs, error.
type LetterRow = (i64, String, String, Option<String>, Vec<u8>, i32, String);

fn letter((_, endpoint, event, event_type, body, runs, error): LetterRow) -> DeadLetter {
    let delivery = Delivery::new(endpoint, event).with_body(body);
    let delivery = event_type.into_iter().fold(delivery, Delivery::with_event_type);
    DeadLetter::new(delivery, runs.unsigned_abs(), &error)
}

impl DeadLetterGuard for PostgresGuard {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        Box::pin(async move {
            self.sweep();
            let claim = self.query(statements::CLAIM, delivery).bind(self.settings.lease.as_secs_f64());
            let claim = claim.try_map(|row: PgRow| FromRow::from_row(&row));
            Ok(match self.ask(claim.fetch_optional(&self.pool)).await? {
                Some((fence, run, has_lapsed)) => granted(delivery, fence, run, has_lapsed),
                None => self.state(&self.pool, delivery).await?.into(),
            })
        })
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let delivery = letter.delivery();
        let burial = self.query(statements::BURY, delivery).bind(number(fence));
        let burial = burial.bind(self.settings.retention.as_secs_f64()).bind(delivery.event_type());
        let burial = burial.bind(letter.body()).bind(i32::try_from(letter.attempts()).unwrap_or(i32::MAX));
        Box::pin(self.change(burial.bind(letter.error())).map_ok(held_if))
    }

    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter> {
        Box::pin(async move {
            let claim = self.query(statements::CLAIM_DEAD_LETTER, delivery);
            let claim =
                claim.bind(self.settings.lease.as_secs_f64()).try_map(|row: PgRow| FromRow::from_row(&row));
            let row: Option<LetterRow> = self.ask(claim.fetch_optional(&self.pool)).await?;
            Ok(row.map(|row| (FencingToken::new(row.0.unsigned_abs()), letter(row))))
        })
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        Box::pin(async move {
            let query = sqlx::query_as(statements::DEAD_LETTERS).bind(&*self.settings.namespace);
            let query = query.bind(i64::try_from(limit).unwrap_or(i64::MAX));
            let rows: Vec<LetterRow> = self.ask(query.fetch_all(&self.pool)).await?;
            Ok(rows.into_iter().map(letter).collect())
        })
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        let discard = self.query(statements::DISCARD, delivery);
        Box::pin(self.change(discard.bind(self.settings.retention.as_secs_f64())))
    }
}

impl TransactionalInbox for PostgresGuard {
    type Transaction = Transaction<'static, Postgres>;

    fn begin(&self) -> GuardFuture<'_, Self::Transaction> {
        Box::pin(in_time(self.timeout, self.pool.begin()))
    }

    fn mark<'a>(
        &'a self,
        transaction: &'a mut Self::Transaction,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Mark> {
        let connection: &mut PgConnection = transaction;
        Box::pin(async move {
            self.sweep();
            let mark = self.query(statements::MARK, delivery).bind(self.settings.retention.as_secs_f64());
            let mark = mark.bind(self.settings.lease.as_millis().max(1).to_string());
            let marked = self.ask(mark.execute(&mut *connection)).await?;
            if marked.rows_affected() == 1 {
                return Ok(Mark::New);
            }
            Ok(match self.state(connection, delivery).await? {
                Claim::Done => Mark::Done,
                Claim::DeadLettered => Mark::DeadLettered,
                _ => Mark::InProgress,
            })
        })
    }

    fn commit(&self, transaction: Self::Transaction) -> GuardFuture<'_, ()> {
        Box::pin(in_time(self.timeout, transaction.commit()))
    }
}

impl fmt::Debug for PostgresGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresGuard").field("settings", &self.settings).finish_non_exhaustive()
    }
}
