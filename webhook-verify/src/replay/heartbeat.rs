//! Keeps the timers of a runtime going while a handler blocks one of its threads.
//!
//! One thread of a runtime waits for its timers and sockets, the others for tasks. If that one runs a handler
//! that blocks, no timer fires, although others are free. A task that is spawned from outside wakes one of
//! those, which waits for timers from then on.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// How many times in a lease the runtimes are woken.
const BEATS_PER_LEASE: u32 = 6;

/// One thread that wakes the runtimes of running handlers. It ends when this value is dropped.
#[derive(Default)]
pub(super) struct Heartbeat {
    runtimes: Arc<Mutex<Vec<Handle>>>,
    thread: OnceLock<Sender<()>>,
}

impl Heartbeat {
    /// Wakes `runtime` from now on while `tasks` are running.
    pub(super) fn start(&self, runtime: Handle, tasks: &TaskTracker, lease: Duration) {
        {
            let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
            if runtimes.iter().any(|known| known.id() == runtime.id()) {
                return;
            }
            runtimes.push(runtime);
        }
        self.thread.get_or_init(|| {
            let (alive, dropped) = channel();
            let (runtimes, tasks) = (Arc::clone(&self.runtimes), tasks.clone());
            let interval = lease.max(Duration::from_millis(12)) / BEATS_PER_LEASE;
            let beat = move || {
                while dropped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    if !tasks.is_empty() {
                        let runtimes = runtimes.lock().unwrap_or_else(PoisonError::into_inner);
                        runtimes.iter().for_each(|runtime| drop(runtime.spawn(async {})));
                    }
                }
            };
            // Without threads a handler that blocks stops everything else in any case.
            _ = thread::Builder::new().name("webhook-heartbeat".to_owned()).spawn(beat);
            alive
        });
    }
}
