//! What is shared on PostgreSQL, and the one value that it all comes from.

mod guard;
mod once;
mod statements;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use shared_inbox::clock::BoxFuture;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{Connection, Executor};

use crate::guard_settings::GuardSettings;
pub use guard::PostgresGuard;
pub use once::PostgresOnceKeys;

/// How long connecting and creating the tables may take by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// An error returned when the store cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL is not valid, the store cannot be reached, or it refuses.
    #[error("the store failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The store did not respond.
    #[error("no response within {0:?}")]
    Timeout(Duration),
    /// The tables are of a later release.
    #[error(
        "the tables are of schema version {version}, and this release knows no later one than {}: use the release that made them",
        Postgres::SCHEMA_VERSION
    )]
    #[non_exhaustive]
    NewerSchema {
        /// The version of the tables.
        version: i32,
    },
}

/// What several processes or machines share on PostgreSQL.
///
/// ```no_run
/// use shared_inbox::Client;
/// use shared_inbox_stores::Postgres;
/// use shared_inbox_webhooks::replay::Handlers;
///
/// # async fn run(url: &str, key: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let shared = Postgres::connect("postgres://app@store.internal/app").await?;
/// shared.create_tables().await?; // or give `Postgres::SCHEMA` to your migrations
/// let inbox = Client::builder(url, key).once_store(shared.once_keys()).build()?;
/// let handlers = Handlers::new(shared.guard());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Postgres {
    pool: PgPool,
    namespace: Arc<str>,
    timeout: Option<Duration>,
}

impl Postgres {
    /// The tables as plain SQL for a migration tool: the file `schema/postgres.sql` of this crate.
    pub const SCHEMA: &'static str = include_str!("../../schema/postgres.sql");

    /// The version of the tables that this release works with. A comment of the table `shared_inbox_webhooks`
    /// has it too.
    pub const SCHEMA_VERSION: i32 = 1;

    /// Connects with a pool of its own, of up to ten connections. `?sslmode=verify-full` in the URL turns on
    /// TLS (feature `postgres-rustls`).
    ///
    /// # Errors
    ///
    /// When the URL is not valid, or no store responds there.
    pub async fn connect(url: &str) -> Result<Self, PostgresError> {
        let options = PgPoolOptions::new().max_connections(10).acquire_timeout(CONNECT_TIMEOUT);
        // Only a connection that has been idle may be broken.
        let options = options.test_before_acquire(false).before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > Duration::from_secs(1) {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
        Ok(Self::new(in_time(CONNECT_TIMEOUT, options.connect(url)).await?))
    }

    /// Uses a pool of yours. Bring one where handlers in transactions are slow: each holds a connection for
    /// as long as it runs.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool, namespace: "".into(), timeout: None }
    }

    /// Sets a name for this app's once keys and handled events. Two apps that share a database need two.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets how long a step may take before the store counts as unavailable, for all that is made from this
    /// value from now on. By default 2 seconds, and 5 for once keys. A handler's own statements are not
    /// steps.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the pool.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Creates the tables, unless they are there.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached, or refuses, or the tables are of a later version.
    pub async fn create_tables(&self) -> Result<(), PostgresError> {
        let creating: BoxFuture<'_, sqlx::Result<i32>> = Box::pin(create_tables(self.pool.clone()));
        match in_time(self.timeout.unwrap_or(CONNECT_TIMEOUT), creating).await? {
            version if version > Self::SCHEMA_VERSION => Err(PostgresError::NewerSchema { version }),
            _ => Ok(()),
        }
    }

    /// Returns a store of `once` keys, for
    /// [`ClientBuilder::once_store`](shared_inbox::ClientBuilder::once_store).
    #[must_use]
    pub fn once_keys(&self) -> PostgresOnceKeys {
        let timeout = self.timeout.unwrap_or(once::STEP_TIMEOUT);
        PostgresOnceKeys::new(self.pool.clone(), Arc::clone(&self.namespace), timeout)
    }

    /// Returns a record of handled events, for `Handlers`.
    #[must_use]
    pub fn guard(&self) -> PostgresGuard {
        let timeout = self.timeout.unwrap_or(crate::guard_settings::STEP_TIMEOUT);
        PostgresGuard::new(self.pool.clone(), timeout, GuardSettings::new(Arc::clone(&self.namespace)))
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// Creates the tables where there are none. Returns which version was there; 0 for none.
async fn create_tables(pool: PgPool) -> sqlx::Result<i32> {
    // Of several processes that start at once, one creates them, and the others must see that when they get
    // the lock: in any stricter isolation they would go by a snapshot from before.
    let mut transaction = pool.begin_with("begin isolation level read committed").await?;
    transaction.execute(statements::ONE_AT_A_TIME).await?;
    let version: i32 = sqlx::query_scalar(statements::VERSION).fetch_one(&mut *transaction).await?;
    if version < Postgres::SCHEMA_VERSION {
        transaction.execute(Postgres::SCHEMA).await?;
    }
    transaction.commit().await?;
    Ok(version)
}

async fn in_time<T>(
    limit: Duration,
    step: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, PostgresError> {
    match tokio::time::timeout(limit, step).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(PostgresError::Timeout(limit)),
    }
}
