//! The HTTP client: one method for each operation, and the care around it (input checks, rate limit, retries, verified
//! creates) that makes it safe to leave alone with a customer's inbox.

mod base_url;
mod builder;
mod call;
mod changes;
mod clock;
mod create;
mod decode;
mod error;
mod key;
mod ledger;
mod limiter;
mod message_id;
mod operations;
mod options;
mod raw;
mod retry;
mod run;
mod thread;
mod transport;
mod verify;
mod wait;
mod words_match;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::OnceCell;

use crate::{Me, Operation, Scope};
use base_url::BaseUrl;
use error::Cause;
use ledger::Ledgers;
use options::Options;

pub use builder::ClientBuilder;
pub use call::Call;
pub use changes::{Change, Changes, Gap};
pub use clock::{BoxFuture, Clock, TokioClock};
pub use create::{Create, Created};
pub use error::{Certainty, Error, Result};
pub use key::{ApiKey, InvalidApiKey};
pub use limiter::{Lane, LimitError, MemoryLimiter, RateLimiter};
pub use message_id::{InvalidDomain, new_message_id};
pub use raw::{Raw, RawAnswer};
pub use retry::RetryPolicy;
pub use thread::Thread;
pub use verify::{Sighting, Unconfirmed, Verification};
pub use wait::{ForReply, UntilSent, Wait};

/// The client. Cheap to clone; clones share connections, the rate limit and what is known about creates under way.
///
/// ```no_run
/// use shared_inbox::{Assigned, Client, View};
///
/// # async fn run() -> shared_inbox::Result<()> {
/// let inbox = Client::from_env()?;
/// for summary in inbox.conversations().view(View::Open).assigned(Assigned::Unassigned).await? {
///     inbox.conversation(&summary.id).tags().add("unclaimed").await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    base: BaseUrl,
    authorization: HeaderValue,
    user_agent: HeaderValue,
    test_key: bool,
    clock: Arc<dyn Clock>,
    limiter: Arc<dyn RateLimiter>,
    options: Options,
    max_body: usize,
    check_scopes: bool,
    me: OnceCell<Me>,
    ledgers: Ledgers,
}

impl Client {
    /// A client for the service at `base_url` (it ends in `/api/v1`) with this key. Nothing is checked before
    /// [`build`](ClientBuilder::build).
    ///
    /// ```
    /// # let key = format!("rk_test_{}", "a1".repeat(24));
    /// let inbox = shared_inbox::Client::builder("https://inbox.example/api/v1", &key).build()?;
    /// # Ok::<(), shared_inbox::Error>(())
    /// ```
    pub fn builder<K>(base_url: impl Into<String>, key: K) -> ClientBuilder
    where
        K: TryInto<ApiKey>,
        K::Error: fmt::Display,
    {
        ClientBuilder::new(base_url.into(), key.try_into().map_err(|error| Error::config("API key", error)))
    }

    /// A client from the environment: `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY`.
    ///
    /// # Errors
    ///
    /// When a variable is missing, or does not hold a base URL or a key.
    pub fn from_env() -> Result<Self> {
        ClientBuilder::from_env()?.build()
    }

    /// The base URL, without a slash at the end.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.inner.base.as_str()
    }

    /// How long the service may take to show what it has created; a [`Sighting::NotFound`] means little before. See
    /// [`ClientBuilder::settle`].
    #[must_use]
    pub fn settle(&self) -> Duration {
        self.inner.options.settle
    }

    /// Whether the key is one for the sandbox.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.inner.test_key
    }

    /// What the key may do. Asked for once and then remembered, since the scopes of a key cannot change.
    ///
    /// # Errors
    ///
    /// When they are not known yet and `GET /me` fails.
    pub async fn scopes(&self) -> Result<&[Scope]> {
        Ok(&self.identity(&self.inner.options).await?.scopes)
    }

    /// Whose key this is; asked for once.
    pub(crate) async fn identity(&self, options: &Options) -> Result<&Me> {
        let ask = || {
            let mut call = self.me();
            call.options = options.clone();
            call.into_future()
        };
        // Another call may be asking already, with more time than this one has. Like that of an attempt, the time is real.
        let left = self.budget(options).left();
        match tokio::time::timeout(left, self.inner.me.get_or_try_init(ask)).await {
            Ok(me) => me,
            Err(_) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
        }
    }

    /// Fails when the client was told to check scopes and the key lacks this one.
    pub(crate) async fn check_scope(
        &self,
        operation: Operation,
        scope: &Scope,
        options: &Options,
    ) -> Result<()> {
        // Anyone may ask who they are; without that there is no answer to check against.
        if !self.inner.check_scopes || operation == Operation::Me {
            return Ok(());
        }
        // Keys with other scopes always have `read`, so an unreadable `GET /me` is a failure of its own.
        if self.identity(options).await?.allows(scope) {
            Ok(())
        } else {
            Err(Error::new(Cause::Scope(scope.clone()), Certainty::NotSent))
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.base_url()).finish_non_exhaustive()
    }
}
