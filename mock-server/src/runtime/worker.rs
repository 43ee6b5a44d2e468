//! A thread for what takes long with one world: reading its document and what a search needs of it, writing it, taking it
//! down.
//!
//! Each large world has one of its own. Allocators keep the memory of each thread apart, so that of a world which is gone
//! is free as a whole and goes back to the system. With one thread for all, the next world would stand among what is left
//! of the last, and nothing would ever be given back.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{OnceLock, mpsc},
    thread,
};

use tokio::sync::oneshot;

use super::config::LARGE_WORLD;
use crate::world::{Refusal, Result, World};

type Work = Box<dyn FnOnce() + Send>;

/// The thread of one world, which begins with the first work and ends with the last.
#[derive(Default)]
pub(crate) struct Worker {
    queue: OnceLock<Option<mpsc::Sender<Work>>>,
}

impl Worker {
    /// Does something when its turn has come.
    pub(crate) fn submit(&self, work: impl FnOnce() + Send + 'static) {
        match self.queue.get_or_init(spawn_thread) {
            // It waits as long as there is someone who could send.
            Some(queue) => drop(queue.send(Box::new(work))),
            None => work(),
        }
    }

    /// Takes a world down; a large one when its turn has come.
    pub(super) fn drop_world(&self, world: World) {
        if world.size() > LARGE_WORLD {
            self.submit(move || drop(world));
        }
    }

    /// Does something when its turn has come, and gives what came of it.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R> {
        let (done, result) = oneshot::channel();
        self.submit(move || drop(done.send(work())));
        result.await.map_err(|_| Refusal::new(500, "Try again shortly."))
    }
}

/// A thread that does what it is sent; none where the system has none to give.
fn spawn_thread() -> Option<mpsc::Sender<Work>> {
    let (sender, queue) = mpsc::channel::<Work>();
    let work = move || {
        for work in queue {
            // A panic would be our mistake; whoever waits is told, and the next one gets its turn.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    };
    thread::Builder::new().name("shared-inbox-mock-large".to_owned()).spawn(work).ok().map(|_| sender)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn work_is_done_in_turn_on_one_thread_and_a_panic_ends_only_its_own() {
        let worker = Worker::default();
        let first = worker.run(|| thread::current().id()).await.expect("done");
        let broken = worker.run(|| assert_eq!(1, 2, "on purpose")).await;
        assert_eq!(broken.expect_err("it broke").status, 500);
        assert_eq!(worker.run(|| thread::current().id()).await.expect("done"), first);
        assert_ne!(thread::current().id(), first);
    }

    #[test]
    fn the_thread_ends_with_whoever_could_send_work() {
        thread_local! {
            static HELD: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
        }
        let (worker, (held, gone)) = (Worker::default(), mpsc::channel());
        worker.submit(|| HELD.set(Some(held)));
        drop(worker);
        assert!(gone.recv().is_err(), "what a thread holds goes with it");
    }
}
