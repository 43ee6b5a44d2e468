//! The creates that are under way, which the program lets end before it ends itself.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rmcp::model::CallToolResult;
use tokio::sync::watch;

use crate::server::{
    record::{self, Intent},
    results::failed,
};

#[derive(Default)]
pub(super) struct InFlightCreates {
    count: watch::Sender<usize>,
    closed: AtomicBool,
}

/// A create that is under way, until this is dropped.
pub(super) struct Creating<'a> {
    in_flight: &'a InFlightCreates,
    intent: Option<Intent>,
}

impl InFlightCreates {
    /// Begins a create, which may email a customer, and writes its intent down. An error is why it must not begin.
    pub(super) fn begin(&self, sends: bool) -> Result<Creating<'_>, CallToolResult> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(failed("Nothing was done: the bridge is being ended."));
        }
        let intent = match record::current().map(|record| record.intend(sends)).transpose() {
            Ok(intent) => intent,
            // Whoever asked for a record has to answer for every email; a note or a draft reaches nobody.
            Err(_) if sends => {
                return Err(failed(
                    "Nothing was sent: the file of --audit cannot be written to, and an email that is not written down does not \
                     go out.",
                ));
            }
            Err(_) => None,
        };
        self.count.send_modify(|count| *count += 1);
        Ok(Creating { in_flight: self, intent })
    }

    /// Waits until nothing is under way, for so long at most. Nothing begins after this.
    pub(super) async fn finish(&self, grace: Duration) {
        self.closed.store(true, Ordering::Relaxed);
        let mut count = self.count.subscribe();
        _ = tokio::time::timeout(grace, count.wait_for(|count| *count == 0)).await;
    }
}

impl Creating<'_> {
    /// Ends it. `certain` is whether its effect is known.
    pub(super) fn end(mut self, result: &CallToolResult, certain: bool) {
        if let Some(intent) = self.intent.take() {
            intent.end(result, certain);
        }
    }
}

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        self.in_flight.count.send_modify(|count| *count -= 1);
    }
}
