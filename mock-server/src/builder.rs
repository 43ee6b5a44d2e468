//! Settings and start of a server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use shared_inbox::Timestamp;
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::{self, Handle},
    sync::{oneshot, watch},
};

use crate::{
    BoundServer, MockServer,
    http::{
        self, ServerState,
        connection::{Limits, Phase},
        guard::Guard,
    },
    ready::Addresses,
    runtime::{
        clock::ClockMode, config::Settings, delivery::Deliverer, document::Origin, memory::MemoryLimits,
        registry::WorldRegistry, targets::WebhookTargets,
    },
    world::Refusal,
};

/// Settings of a server; made by [`MockServer::builder`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use shared_inbox_mock::MockServer;
///
/// let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
/// assert!(mock.base_url().ends_with("/api/v1"));
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct MockServerBuilder {
    listen: SocketAddr,
    clock: ClockMode,
    start_at: Option<Timestamp>,
    origin: Origin,
    rate_limit: Option<u32>,
    rate_window: Duration,
    targets: WebhookTargets,
    webhook_timeout: Duration,
    control_token: Option<String>,
    client_timeout: Duration,
    memory_limit: usize,
    log: bool,
    console: bool,
    /// Whether requests also come through other ports of this machine.
    behind_gateways: bool,
    strict: bool,
    max_connections: usize,
}

/// How many connections may wait to be accepted; a test may open hundreds at once.
const BACKLOG: u32 = 1_024;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Lets a port be reused right after a server on it has stopped. On other systems the option means
    // something else.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Why a server did not start.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use shared_inbox_mock::MockServer;
///
/// let error = MockServer::builder().seed("{}").try_start().await.unwrap_err();
/// assert!(error.to_string().contains("mailboxes: is required"));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address could not be listened on.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The world document is not sound.
    #[error("the seed cannot be used: {0}")]
    Seed(String),
    /// Others could reach the control API.
    #[error("--control-token is required because --listen {0} is not a loopback address")]
    ControlToken(SocketAddr),
    /// The runtime could not be made.
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
}

impl Default for MockServerBuilder {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            clock: ClockMode::Real,
            start_at: None,
            origin: Origin::Demo,
            rate_limit: Some(shared_inbox::__spec::limits::REQUESTS_PER_MINUTE),
            rate_window: shared_inbox::__spec::limits::RATE_WINDOW,
            targets: WebhookTargets::default(),
            webhook_timeout: shared_inbox::__spec::limits::WEBHOOK_TIMEOUT,
            control_token: None,
            client_timeout: Limits::default().client_timeout,
            memory_limit: MemoryLimits::DEFAULT_BYTES,
            log: false,
            console: true,
            behind_gateways: false,
            strict: false,
            max_connections: Limits::default().connections,
        }
    }
}

impl MockServerBuilder {
    setters! {
        /// How the clock runs; with the machine's unless set.
        clock(mode: ClockMode) => clock = mode;
        /// Time stands still until [`Control::advance`](crate::Control::advance) moves it.
        manual_clock() => clock = ClockMode::Manual;
        /// Where a manual clock starts, so that every run shows the same times; the time of the start unless
        /// set.
        start_at(start: Timestamp) => start_at = Some(start);
        /// Starts with a workspace that has nothing in it.
        empty() => origin = Origin::Empty;
        /// Starts from a world document, as [`Control::state`](crate::Control::state) returns it.
        seed(document: impl AsRef<[u8]>) => origin = Origin::Document(Bytes::copy_from_slice(document.as_ref()));
        /// Requests a minute for each key, or none for no limit; 120 unless set.
        rate_limit(requests: impl Into<Option<u32>>) => rate_limit = requests.into();
        /// The span over which requests are counted: a minute unless set. For tests of many processes, whose
        /// time is real.
        rate_window(window: Duration) => rate_window = window;
        /// Disables the limits of requests and of simulated emails.
        no_rate_limit() => rate_limit = None;
        /// Where webhooks may go; this machine too, unless set.
        webhook_targets(targets: WebhookTargets) => targets = targets;
        /// How long a webhook's receiver has for its response, in real time whatever the clock; 10 seconds
        /// unless set.
        webhook_timeout(time: Duration) => webhook_timeout = time;
        /// The address to listen on; a free port of the loopback address unless set.
        listen(address: SocketAddr) => listen = address;
        /// What the control API then wants as its bearer token over HTTP.
        control_token(token: impl Into<String>) => control_token = Some(token.into());
        /// How long a slow client is waited for, in real time: for the head of a request, for its body (then
        /// it is answered 408), for the next request on a connection that is kept, and to take its response;
        /// 30 seconds unless set.
        client_timeout(client_timeout: Duration) => client_timeout = client_timeout;
        /// How many bytes the snapshots of all worlds (three quarters of it) and their journals (one) may
        /// take; 1 GiB unless set. Beyond it a new snapshot is refused with 409, and the largest journals
        /// lose their oldest requests.
        memory_limit(bytes: usize) => memory_limit = bytes;
        /// One line on stderr for each request.
        log(log: bool) => log = log;
        /// Leaves out the console: there is nothing at `/`.
        no_console() => console = false;
        /// Panics when the server is dropped and something in the main world had no effect
        /// ([`Control::unused`](crate::Control::unused)): a fault that never fired, or an expectation of none
        /// that nothing could have met. Otherwise it is written to stderr.
        strict() => strict = true;
        /// Accepts requests that come through other ports of this machine.
        #[doc(hidden)]
        behind_gateways() => behind_gateways = true;
        /// How many connections are held, and requests handled, at one time.
        #[doc(hidden)]
        max_connections(connections: usize) => max_connections = connections;
    }

    /// Starts the server; it accepts connections when this returns.
    ///
    /// # Panics
    ///
    /// If it cannot start; [`try_start`](Self::try_start) returns an error instead.
    pub async fn start(self) -> MockServer {
        match self.try_start().await {
            Ok(mock) => mock,
            Err(error) => panic!("the mock server did not start: {error}"),
        }
    }

    /// Starts the server; it accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or the seed is not sound.
    pub async fn try_start(self) -> Result<MockServer, StartError> {
        self.start_on_thread()
    }

    fn start_on_thread(self) -> Result<MockServer, StartError> {
        let strict = self.strict;
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime)?;
        let (phase, stop) = watch::channel(Phase::Running);
        let (app, listener) = match self.bind_on(runtime.handle(), stop) {
            Ok(bound) => bound,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let control = app.control();
        let (ending, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("shared-inbox-mock".to_owned())
            .spawn(move || {
                runtime.block_on(http::serve(app, listener));
                runtime.shutdown_background();
                drop(ending);
            })
            .map_err(StartError::Runtime)?;
        let (ready, ended, thread) = (control.ready(), Some(ended), Some(thread));
        Ok(MockServer { ready, control, phase, ended, thread, strict })
    }

    /// Builds the world and binds the port, without serving yet. Call it in a Tokio runtime with I/O and
    /// time, which the server then runs on.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or the seed is not sound.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn bind(self) -> Result<BoundServer, StartError> {
        let (phase, stop) = watch::channel(Phase::Running);
        let (app, listener) = self.bind_on(&Handle::current(), stop)?;
        Ok(BoundServer { app, listener, phase })
    }

    fn bind_on(
        self,
        runtime: &Handle,
        stop: watch::Receiver<Phase>,
    ) -> Result<(Arc<ServerState>, TcpListener), StartError> {
        if !self.listen.ip().is_loopback() && self.control_token.is_none() {
            return Err(StartError::ControlToken(self.listen));
        }
        let settings = Settings {
            clock: self.clock,
            start: self.start_at,
            rate_limit: self.rate_limit,
            rate_window: self.rate_window,
            deliverer: Deliverer::new(self.targets, self.webhook_timeout),
            memory: MemoryLimits::new(self.memory_limit),
            runtime: runtime.clone(),
        };
        let registry = WorldRegistry::new(settings, self.origin)
            .map_err(|Refusal { message, .. }| StartError::Seed(message))?;
        let address = self.listen;
        let failed = |source| StartError::Listen { address, source };
        let _context = runtime.enter();
        let listener = listen(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let guard = Guard::new(bound, self.control_token.as_deref(), self.behind_gateways);
        let limits = Limits { connections: self.max_connections, client_timeout: self.client_timeout };
        let app = ServerState {
            registry: Arc::new(registry),
            guard,
            addresses: Arc::new(Addresses::new(bound)),
            limits,
            log: self.log,
            console: self.console,
            stop,
            openapi: OnceLock::new(),
        };
        Ok((Arc::new(app), listener))
    }
}
