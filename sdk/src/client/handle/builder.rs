//! Builds a client, and checks the key, the address and the settings before any request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;

use super::client::Client;
use crate::client::config::{ApiKey, BaseUrl};
use crate::client::create_state::ServiceClock;
use crate::client::engine::Core;
use crate::client::error::{Error, Result};
use crate::client::once::{OnceSettings, OnceStore};
use crate::client::policy::{
    Clock, MIN_LIMIT, MemoryLimiter, Options, RateLimiter, RetryPolicy, TokioClock, Verification,
};
use crate::limits;
use crate::model::{setters, shows};

const BASE_URL_VARIABLE: &str = "SHARED_INBOX_BASE_URL";
const API_KEY_VARIABLE: &str = "SHARED_INBOX_API_KEY";
/// Shorter than an attempt's time, so that a connection that cannot be made is known as such.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A wrong host or port is not worth waiting for.
const FIRST_CONNECTION_TIMEOUT: Duration = Duration::from_secs(3);
/// A long conversation is a few megabytes.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// How long the result of a `once` key is kept.
const ONCE_RETENTION: Duration = Duration::from_secs(30 * 86_400);
const DEFAULT_USER_AGENT: &str = concat!("shared-inbox-rust/", env!("CARGO_PKG_VERSION"));

/// Settings of a client; made by [`Client::builder`].
///
/// ```
/// use shared_inbox::{Client, retry::RetryPolicy};
/// use std::time::Duration;
///
/// # let key = format!("rk_test_{}", "a1".repeat(24));
/// let inbox = Client::builder("https://inbox.example/api/v1", &key)
///     .timeout(Duration::from_secs(10))
///     .deadline(Duration::from_secs(60))
///     .retry(RetryPolicy::default().attempts(8))
///     .user_agent("refund-bot/1.4")
///     .build()?;
/// # Ok::<(), shared_inbox::Error>(())
/// ```
#[must_use]
pub struct ClientBuilder {
    base_url: String,
    key: Result<ApiKey>,
    plain_http: bool,
    http: Option<reqwest::Client>,
    user_agent: Option<String>,
    clock: Arc<dyn Clock>,
    limiter: Option<Arc<dyn RateLimiter>>,
    rate: u32,
    options: Options,
    max_body: usize,
    first_connection_timeout: Duration,
    check_scopes: bool,
    once_store: Option<Arc<dyn OnceStore>>,
    once_retention: Duration,
    once_owner: Option<String>,
}

impl ClientBuilder {
    fn new(base_url: String, key: Result<ApiKey>) -> Self {
        Self {
            base_url,
            key,
            plain_http: false,
            http: None,
            user_agent: None,
            clock: Arc::new(TokioClock),
            limiter: None,
            rate: limits::REQUESTS_PER_MINUTE,
            options: Options::default(),
            max_body: MAX_BODY_BYTES,
            first_connection_timeout: FIRST_CONNECTION_TIMEOUT,
            check_scopes: false,
            once_store: None,
            once_retention: ONCE_RETENTION,
            once_owner: None,
        }
    }

    /// Starts from the environment: `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY`.
    ///
    /// # Errors
    ///
    /// When a variable is missing, or the second does not hold a key.
    pub fn from_env() -> Result<Self> {
        let read = |name: &'static str, what: &str| match std::env::var(name) {
            Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
            _ => Err(Error::config(name, format_args!("is not set; set it to {what}"))),
        };
        let base_url = read(BASE_URL_VARIABLE, "the base URL of the service, which ends in /api/v1")?;
        let key = ApiKey::parse(read(API_KEY_VARIABLE, "an API key, which starts with rk_")?)
            .map_err(|error| Error::config(API_KEY_VARIABLE, error))?;
        Ok(Self::new(base_url, Ok(key)))
    }

    setters! {
        /// Allows plain `http` to other machines than this one. The key then crosses the network unprotected:
        /// for a network that you trust, such as between containers.
        allow_plain_http() plain_http = true;
        /// Uses this `reqwest::Client`, with its proxies, certificates and pool.
        ///
        /// Build it with `redirect(Policy::none())` and `retry(reqwest::retry::never())`, as this crate does
        /// for its own: a followed redirect is an error, and only this crate's retries know what may be
        /// repeated.
        #[cfg(feature = "reqwest")]
        http_client(client: reqwest::Client) http = Some(client);
        /// Sets the start of the `User-Agent`; the name and version of this crate follow.
        user_agent(product: impl Into<String>) user_agent = Some(product.into());
        /// Sets the time for one attempt: 30 seconds by default.
        timeout(timeout: Duration) options.timeout = timeout;
        /// Sets the time for a call, with retries and waits: 2 minutes by default.
        deadline(deadline: Duration) options.deadline = deadline;
        /// Sets how often calls are repeated, and how long they wait in between.
        retry(policy: RetryPolicy) options.retry = policy;
        /// Sets how to recover a create (note, reply, document request) whose response was lost: by reading
        /// the conversation back ([`ReadAfterLoss`](Verification::ReadAfterLoss)) by default.
        verification(verification: Verification) options.verification = verification;
        /// Sets how long the service may take to show what it has created: 10 seconds by default. A create
        /// whose response was lost is sent again, once, only if nothing that could be it has shown by then.
        visibility_timeout(visibility_timeout: Duration) options.visibility_timeout = visibility_timeout;
        /// Sets how many requests may be sent in any 60 seconds, for a key that others use too: 120 by
        /// default, the service's limit, and at least 2. No effect together with
        /// [`rate_limiter`](Self::rate_limiter).
        rate_limit(requests: u32) rate = requests;
        /// Uses this limiter: one that several clients (pass an `Arc`), processes or machines (crate
        /// `shared-inbox-stores`) share. It must allow at least 2 requests, like
        /// [`rate_limit`](Self::rate_limit).
        rate_limiter(limiter: impl RateLimiter) limiter = Some(Arc::new(limiter));
        /// Sets how long to try to connect to a service that was never reached: 3 seconds by default, since a
        /// wrong host or port does not get better. Choose a minute where the service may start after this
        /// program, as under `docker compose`. Once the service was reached, failed connections are repeated
        /// like other failures, up to the [`deadline`](Self::deadline).
        first_connection_timeout(timeout: Duration) first_connection_timeout = timeout;
        /// Checks the key's scopes before each call, at the cost of one `GET /me` before the first: a call
        /// that the key cannot make then fails before it is sent.
        check_scopes() check_scopes = true;
        /// Sets the store of [`once`](crate::create::CreateRequest::once) keys, for creates that happen once
        /// although processes are killed: a [`FileStore`](crate::once::FileStore) for one machine, one on
        /// PostgreSQL or Redis of the crate `shared-inbox-stores` for several. Clients that share it must use
        /// the same workspace.
        once_store(store: impl OnceStore) once_store = Some(Arc::new(store));
        /// Sets how long the result of a `once` key is kept: 30 days by default. After that, the key stands
        /// for a new create. A record without a result is kept until it has one.
        once_retention(retention: Duration) once_retention = retention;
        /// Sets the name that records of this client show, for people: by default the process id, and the
        /// name of the machine where the environment has it.
        once_owner(name: impl Into<String>) once_owner = Some(name.into());
        /// Sets the largest response that is read, in bytes: 32 MiB by default.
        max_response_bytes(bytes: usize) max_body = bytes;
        /// Uses this clock; for tests. Pass an `Arc` to keep a handle to it.
        clock(clock: impl Clock) clock = Arc::new(clock);
    }

    /// Checks the settings and creates the client.
    ///
    /// # Errors
    ///
    /// When the base URL, the key or the user agent is not valid, or TLS cannot be set up. Nothing is sent.
    ///
    /// # Panics
    ///
    /// With the feature `rustls-no-provider` alone, when the program has not installed a crypto provider.
    pub fn build(self) -> Result<Client> {
        let base = BaseUrl::parse(&self.base_url, self.plain_http)?;
        let key = self.key?;
        let agent = self.user_agent.map_or_else(
            || DEFAULT_USER_AGENT.to_owned(),
            |product| format!("{product} {DEFAULT_USER_AGENT}"),
        );
        let user_agent = HeaderValue::from_str(&agent)
            .map_err(|_| Error::config("user agent", "must be visible characters of ASCII"))?;
        if self.limiter.is_none() && self.rate < MIN_LIMIT {
            let problem = "must be at least 2 requests a minute: a request that was lost is sent again only together with a read";
            return Err(Error::config("rate limit", problem));
        }
        let http = match self.http {
            Some(http) => http,
            None => own_http(&base)?,
        };
        let clock = self.clock;
        let limiter = self
            .limiter
            .unwrap_or_else(|| Arc::new(MemoryLimiter::with_clock(self.rate, Arc::clone(&clock))));
        let core = Core {
            http,
            base,
            authorization: key.authorization(),
            key: key.fingerprint(),
            user_agent,
            test_key: key.is_test(),
            service_clock: Arc::new(ServiceClock::new(clock.now())),
            reads: Arc::default(),
            create_log: Arc::default(),
            contact: Arc::default(),
            clock,
            limiter,
            options: self.options,
            max_body: self.max_body,
            first_connection_timeout: self.first_connection_timeout,
            check_scopes: self.check_scopes,
            me: Arc::default(),
            once: self.once_store.map(|store| {
                let owner = self.once_owner.unwrap_or_else(process_name);
                Arc::new(OnceSettings { store, retention: self.once_retention, owner })
            }),
        };
        Ok(Client { core: Arc::new(core) })
    }
}

impl Client {
    /// Returns a builder of a client for the service at `base_url` (it ends in `/api/v1`) with this key.
    /// Nothing is checked before [`build`](ClientBuilder::build).
    pub fn builder<K>(base_url: impl Into<String>, key: K) -> ClientBuilder
    where
        K: TryInto<ApiKey>,
        K::Error: fmt::Display,
    {
        ClientBuilder::new(base_url.into(), key.try_into().map_err(|error| Error::config("API key", error)))
    }

    /// Creates a client from the environment: `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY`.
    ///
    /// # Errors
    ///
    /// When a variable is missing, or does not hold a base URL or a key.
    pub fn from_env() -> Result<Self> {
        ClientBuilder::from_env()?.build()
    }
}

/// Returns a name of this process for people.
fn process_name() -> String {
    let machine = ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let machine = machine.map(|name| format!(" on {name}")).unwrap_or_default();
    format!("process {}{machine}", std::process::id())
}

fn own_http(base: &BaseUrl) -> Result<reqwest::Client> {
    let tls = cfg!(any(feature = "rustls", feature = "rustls-no-provider", feature = "native-tls"));
    if !tls && base.as_str().starts_with("https:") {
        let problem = "https needs TLS: turn on the feature `rustls` or `native-tls`, or pass an `http_client` (feature `reqwest`)";
        return Err(Error::config("base URL", problem));
    }
    #[cfg(all(feature = "rustls-ring", not(feature = "rustls")))]
    provide_crypto();
    let mut http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT);
    if base.is_loopback() {
        // A proxy from the environment has no business with this machine.
        http = http.no_proxy();
        #[cfg(any(feature = "rustls", feature = "rustls-no-provider", feature = "native-tls"))]
        if base.as_str().starts_with("http:") {
            // No connection will use TLS, so the system's certificates need not be loaded: most of the time
            // it takes to make a client, which tests do often.
            http = http.tls_certs_only([]);
        }
    }
    // The last source of the error is the cause: mostly that there are no certificates to trust.
    http.build().map_err(|error| {
        let cause =
            std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source()).last();
        Error::config("HTTP client", cause.map_or_else(String::new, ToString::to_string))
    })
}

/// Installs a crypto provider if there is none, because the HTTP library panics without one.
#[cfg(all(feature = "rustls-ring", not(feature = "rustls")))]
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        _ = rustls::crypto::ring::default_provider().install_default();
    }
}

shows! { ClientBuilder: options; }
