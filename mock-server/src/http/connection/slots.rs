//! Who has a place at the server, and who has to go when there are too many.
//!
//! Most connections are idle most of the time: kept for the next request, or left behind by a client that is gone. One
//! that is idle for too long has to go; when all places are taken, the one that has been idle the longest makes room. When
//! all are busy, a few more are let in, whose requests wait for a place unless they are urgent.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::http::log;

/// How often the log is told that connections were closed.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    urgent: Arc<Semaphore>,
    /// How many there are of each.
    sizes: (u32, u32),
    began: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    clients: BTreeMap<u64, Arc<ConnectionState>>,
    made: u64,
    /// Closed since the log was told, and when that was.
    closed: usize,
    close_requested: Option<Instant>,
}

/// What one connection is doing: [`BUSY`], [`ANSWERED`], [`SHED`], or idle since so many microseconds behind [`IDLE`].
pub(super) struct ConnectionState {
    state: AtomicU64,
    began: Instant,
    close_requested: Notify,
}

/// A request is under way.
const BUSY: u64 = 0;
/// Its answer is being written.
const ANSWERED: u64 = 1;
/// It has to go.
const SHED: u64 = 2;
const IDLE: u64 = 3;

impl ConnectionState {
    fn new(began: Instant) -> Self {
        let connection_state =
            Self { state: AtomicU64::new(ANSWERED), began, close_requested: Notify::new() };
        connection_state.written();
        connection_state
    }

    /// A request has come; `false` when the connection is being closed, and the request must not be looked at.
    pub(super) fn begin(&self) -> bool {
        self.state.swap(BUSY, SeqCst) != SHED
    }

    /// Its answer is made.
    pub(super) fn answered(&self) {
        self.state.store(ANSWERED, SeqCst);
    }

    /// All that was to be written is written.
    pub(super) fn written(&self) {
        if self.state.load(SeqCst) == ANSWERED {
            let _ = self.state.compare_exchange(ANSWERED, clock(self.began), SeqCst, SeqCst);
        }
    }

    /// Since when there is nothing to do, as a number that grows with time.
    pub(super) fn idle(&self) -> Option<u64> {
        Some(self.state.load(SeqCst)).filter(|state| *state >= IDLE)
    }

    /// Tells a connection that has been idle since then to go, unless a request has come on it meanwhile.
    fn close(&self, since: u64) -> bool {
        let closes = self.state.compare_exchange(since, SHED, SeqCst, SeqCst).is_ok();
        if closes {
            self.close_requested.notify_one();
        }
        closes
    }

    /// Waits until it is told to end; says whether it has to go at once, or may answer what it was asked.
    pub(super) async fn close_requested(&self) -> bool {
        self.close_requested.notified().await;
        self.state.load(SeqCst) == SHED
    }
}

/// The time as [`ConnectionState`] notes it.
fn clock(began: Instant) -> u64 {
    IDLE + u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX - IDLE)
}

/// A connection's place, given back when it ends.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    connection_state: Arc<ConnectionState>,
    /// A connection that was let in when all were busy: its requests wait for a place.
    waits: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionSlot {
    pub(super) fn connection_state(&self) -> &Arc<ConnectionState> {
        &self.connection_state
    }

    /// A place for one request, if the connection has none.
    pub(super) fn permit(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let free = self.waits.then(|| Arc::clone(&self.slots.free));
        async move {
            match free {
                Some(free) => free.acquire_owned().await.ok(),
                None => None,
            }
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.open().clients.remove(&self.number);
    }
}

impl ConnectionSlots {
    pub(super) fn new(connections: u32, urgent: u32) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(connections as usize)),
            urgent: Arc::new(Semaphore::new(urgent as usize)),
            sizes: (connections, urgent),
            began: Instant::now(),
            open: Mutex::default(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection that has come.
    pub(super) async fn slot(self: &Arc<Self>) -> ConnectionSlot {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return self.occupy(Some(permit), false);
        }
        if self.shed() {
            return self.occupy(Arc::clone(&self.free).acquire_owned().await.ok(), false);
        }
        tokio::select! {
            biased;
            permit = Arc::clone(&self.free).acquire_owned() => self.occupy(permit.ok(), false),
            permit = Arc::clone(&self.urgent).acquire_owned() => self.occupy(permit.ok(), true),
        }
    }

    fn occupy(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>, waits: bool) -> ConnectionSlot {
        let connection_state = Arc::new(ConnectionState::new(self.began));
        let mut open = self.open();
        open.made += 1;
        let number = open.made;
        open.clients.insert(number, Arc::clone(&connection_state));
        ConnectionSlot { slots: Arc::clone(self), number, connection_state, waits, _permit: permit }
    }

    /// Closes the connection that has been idle the longest; `false` when all are busy.
    pub(super) fn shed(&self) -> bool {
        let mut open = self.open();
        loop {
            let idle = open
                .clients
                .values()
                .filter_map(|connection_state| Some((connection_state.idle()?, connection_state)));
            let Some((since, connection_state)) = idle.min_by_key(|(since, _)| *since) else { return false };
            if connection_state.close(since) {
                break;
            }
        }
        open.closed += 1;
        if open.close_requested.is_none_or(|close_requested| close_requested.elapsed() >= LOG_INTERVAL) {
            log::shed(open.closed, self.sizes.0);
            (open.closed, open.close_requested) = (0, Some(Instant::now()));
        }
        true
    }

    /// Closes every connection that has been idle for so long, when it has been. One look at all of them now and then costs
    /// less than a timer for each request.
    pub(super) async fn sweep(&self, client_timeout: Duration) -> Infallible {
        let longest = u64::try_from(client_timeout.as_micros()).unwrap_or(u64::MAX);
        loop {
            let (now, mut next) = (clock(self.began), longest);
            for connection_state in self.open().clients.values() {
                let Some(since) = connection_state.idle() else { continue };
                match longest.saturating_sub(now.saturating_sub(since)) {
                    0 => drop(connection_state.close(since)),
                    left => next = next.min(left),
                }
            }
            // Those that become idle from now on have longer.
            tokio::time::sleep(Duration::from_micros(next.max(1_000))).await;
        }
    }

    /// Lets every connection end, and waits until it has.
    pub(super) async fn end(&self) {
        self.open()
            .clients
            .values()
            .for_each(|connection_state| connection_state.close_requested.notify_one());
        let _ = self.free.acquire_many(self.sizes.0).await;
        let _ = self.urgent.acquire_many(self.sizes.1).await;
    }
}
