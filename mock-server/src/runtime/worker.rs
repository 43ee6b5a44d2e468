//! A thread for slow work on one world: reading and writing its document, indexing its words, dropping it.
//!
//! Each large world has its own. Allocators separate the memory of threads, so the memory of a dropped world
//! can be returned to the system. With one thread for all worlds, memory would fragment and never be
//! returned.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{OnceLock, mpsc},
    thread,
};

use tokio::sync::oneshot;

use super::config::LARGE_WORLD;
use crate::world::{Refusal, Result};

type Work = Box<dyn FnOnce() + Send>;

/// The thread of one world, which starts with the first work and ends when the worker is dropped.
#[derive(Default)]
pub(crate) struct Worker {
    queue: OnceLock<Option<mpsc::Sender<Work>>>,
}

impl Worker {
    /// Queues work.
    pub(crate) fn submit(&self, work: impl FnOnce() + Send + 'static) {
        match self.queue.get_or_init(spawn_thread) {
            // The thread runs until the sender is dropped.
            Some(queue) => drop(queue.send(Box::new(work))),
            None => work(),
        }
    }

    /// Drops a world, or what holds one of this size; a large one on the thread.
    pub(super) fn drop_world(&self, size: usize, world: impl Send + 'static) {
        if size > LARGE_WORLD {
            self.submit(move || drop(world));
        }
    }

    /// Queues work and returns its result.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R> {
        let (done, result) = oneshot::channel();
        self.submit(move || drop(done.send(work())));
        result.await.map_err(|_| Refusal::new(500, "Try again shortly."))
    }
}

/// Starts the thread; returns `None` if the system cannot.
fn spawn_thread() -> Option<mpsc::Sender<Work>> {
    let (sender, queue) = mpsc::channel::<Work>();
    let work = move || {
        for work in queue {
            // A panic is a bug; the waiting caller gets an error, and the next work runs.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    };
    thread::Builder::new().name("shared-inbox-mock-large".to_owned()).spawn(work).ok().map(|_| sender)
}
