//! Follows a list that has no cursor, by reading it at intervals.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;

use super::memory::{Change, Memory};
use super::{backoff, can_pass};
use crate::client::call::{List, Request, call_options, list_filters};
use crate::client::engine::Core;
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::model::{setters, shows};
use crate::{ConversationSummary, limits};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(30);

/// A stream of changes in the list of conversations; made by [`Client::changes`](crate::Client::changes).
///
/// Reads the list at intervals and yields what is different. While the list is shorter than a page (100
/// conversations), no change is missed or repeated; several changes between two reads are yielded as one.
/// When a page is full, a [`Change::Gap`] reports that something may have been missed; narrow the list, by
/// inbox or assignment, until it fits.
///
/// The first read yields only such a gap, unless [`with_existing`](Self::with_existing) is set. After an
/// error that [can pass](crate::Error::is_retryable) the stream reads again, with growing pauses and a
/// warning through `tracing`, and nothing is lost. Any other error is yielded and ends it: a wrong key, a
/// missing scope, a bad parameter, a malformed response, and a service that was [never
/// reached](crate::ClientBuilder::first_connection_timeout).
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// use shared_inbox::{Assigned, follow::Change};
///
/// let mut changes = inbox.changes().assigned(Assigned::Me);
/// while let Some(change) = changes.next().await {
///     match change? {
///         Change::New(summary) => println!("{} is mine now", summary.id),
///         Change::Changed { after, .. } => println!("{} changed", after.id),
///         Change::Left(summary) => println!("{} is no longer mine", summary.id),
///         _ => println!("too many to follow"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing unless polled"]
pub struct Changes {
    core: Arc<Core>,
    input: ListConversations,
    every: Duration,
    with_existing: bool,
    options: Options,
    memory: Memory,
    look: Option<BoxFuture<'static, Result<List<ConversationSummary>>>>,
    /// Whether a read was made.
    asked: bool,
    /// Whether a read has succeeded.
    looked: bool,
    ready: VecDeque<Change>,
    /// How long to wait at least before the next read, after a failure.
    pause: Duration,
    ended: bool,
}

impl Changes {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        let input = ListConversations { limit: Some(limits::LIST_MAX), ..ListConversations::default() };
        Self {
            core: Arc::clone(core),
            input,
            every: DEFAULT_INTERVAL,
            with_existing: false,
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
            memory: Memory::default(),
            look: None,
            asked: false,
            looked: false,
            ready: VecDeque::new(),
            pause: Duration::ZERO,
            ended: false,
        }
    }

    setters! {
        /// Sets the time between two reads: 30 seconds by default.
        every(every: Duration) every = every;
        /// Yields what is in the list at the first read as [`Change::New`].
        with_existing() with_existing = true;
        /// Sets how many conversations a read returns at most: 100 by default.
        limit(limit: u32) input.limit = Some(limit);
    }

    list_filters!();
    call_options!();

    /// Returns the next change. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Change>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn look(&self) -> BoxFuture<'static, Result<List<ConversationSummary>>> {
        let core = Arc::clone(&self.core);
        let wait = if self.asked { self.every.max(self.pause) } else { Duration::ZERO };
        let call = Request::conversations(&core, self.input.clone()).with_options(self.options.clone());
        Box::pin(async move {
            if !wait.is_zero() {
                core.clock.sleep(wait).await;
            }
            call.await
        })
    }

    fn take(&mut self, page: List<ConversationSummary>) {
        let with_all = self.looked || self.with_existing;
        let now = self.core.clock.now();
        let now = self.core.service_clock.reading().map(|reading| reading.latest(now));
        let (is_full, page) = (page.is_cut(), page.into_vec());
        let mut changes = self.memory.compare(page, is_full, now);
        changes.retain(|change| with_all || matches!(change, Change::Gap(_)));
        self.ready.extend(changes);
        self.looked = true;
    }
}

impl Stream for Changes {
    type Item = Result<Change>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(change)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let mut look = self.look.take().unwrap_or_else(|| self.look());
            let Poll::Ready(result) = look.as_mut().poll(cx) else {
                self.look = Some(look);
                return Poll::Pending;
            };
            self.asked = true;
            match result {
                Ok(page) => {
                    self.pause = Duration::ZERO;
                    self.take(page);
                }
                Err(error) if can_pass(&error, &self.core) => self.pause = backoff(self.pause, &error),
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

shows! { Changes: input every; }
