//! Following a list that has no cursor: ask again and again, and tell what is different.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;

use crate::client::call::{Call, call_options, list_filters};
use crate::client::engine::Core;
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Lane, Options};
use crate::input::ListConversations;
use crate::{ConversationId, ConversationSummary, Operation, Timestamp, limits};

const EVERY: Duration = Duration::from_secs(30);
/// How many conversations are remembered when the list is always longer than a page, so that a stream of months does not
/// fill the memory.
const REMEMBERED: usize = 10_000;

/// What happened in a list of conversations between two looks at it.
///
/// ```
/// use shared_inbox::Change;
///
/// fn needs_me(change: &Change) -> bool {
///     match change {
///         Change::New(_) => true,
///         Change::Changed { before, after, .. } => before.message_count < after.message_count,
///         _ => false,
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A conversation came into the list.
    New(ConversationSummary),
    /// A conversation in the list is not as it was.
    #[non_exhaustive]
    Changed {
        /// As it was.
        before: Box<ConversationSummary>,
        /// As it is.
        after: ConversationSummary,
    },
    /// A conversation is no longer in the list: its status changed, it was given to someone, it was moved.
    Left(ConversationSummary),
    /// The list was longer than a page, so that something may have been missed.
    Gap(Gap),
}

/// What may have been missed.
///
/// ```
/// use shared_inbox::Change;
///
/// fn must_look_through_all(change: &Change) -> bool {
///     matches!(change, Change::Gap(gap) if gap.mail)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Whether conversations with new mail may be among it: no conversation on the page was known from the look before.
    /// Otherwise only changes that do not bring a conversation to the top (tags, assignment) can have been missed, in
    /// conversations further down.
    pub mail: bool,
}

/// A stream of changes in the list of conversations; made by [`Client::changes`](crate::Client::changes).
///
/// It asks for the list at intervals and tells what is different. While the list is shorter than a page (100
/// conversations), no change is missed and none is told twice; changes that were undone between two looks, or followed
/// each other, are told as one. When a page is full, a [`Change::Gap`] says that something may have been missed; narrow the
/// list, by inbox or assignment, until it fits.
///
/// The first look tells nothing but such a gap, unless [`with_existing`](Self::with_existing) is set. An error does not end the stream,
/// and nothing is lost by it, unless no later look can succeed (a wrong key, a missing scope, a bad parameter).
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// use shared_inbox::{Assigned, Change};
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
    known: Option<HashMap<ConversationId, ConversationSummary>>,
    /// The latest mail that any look showed.
    newest: Option<Timestamp>,
    look: Option<BoxFuture<'static, Result<Vec<ConversationSummary>>>>,
    looked: bool,
    ready: VecDeque<Result<Change>>,
    ended: bool,
}

impl Changes {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        let input = ListConversations { limit: Some(limits::LIST_MAX), ..ListConversations::default() };
        Self {
            core: Arc::clone(core),
            input,
            every: EVERY,
            with_existing: false,
            options: Options { lane: Lane::Bulk, ..core.options.clone() },
            known: None,
            newest: None,
            look: None,
            looked: false,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// The time between two looks, 30 seconds unless set.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Tells what is in the list at the first look as [`Change::New`].
    pub fn with_existing(mut self) -> Self {
        self.with_existing = true;
        self
    }

    list_filters!();
    call_options!();

    /// The next change. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Change>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn look(&self) -> BoxFuture<'static, Result<Vec<ConversationSummary>>> {
        let core = Arc::clone(&self.core);
        let wait = if self.looked { self.every } else { Duration::ZERO };
        let mut call = Call::new(&core, Operation::ListConversations, None, self.input.clone());
        call.options = self.options.clone();
        Box::pin(async move {
            if !wait.is_zero() {
                core.clock.sleep(wait).await;
            }
            call.await
        })
    }

    fn take(&mut self, page: Vec<ConversationSummary>) {
        let full = page.len() >= self.input.limit.unwrap_or(limits::LIST_DEFAULT) as usize;
        let mut tell = true;
        let known = match &mut self.known {
            Some(known) => known,
            known @ None => {
                tell = self.with_existing;
                known.insert(HashMap::new())
            }
        };
        if full {
            // Newest first: whoever got mail since the last look stands before everyone who did not.
            let oldest = page.last().map(|summary| summary.last_message_at);
            let mail = self.newest.is_none() || oldest >= self.newest;
            self.ready.push_back(Ok(Change::Gap(Gap { mail })));
        }
        self.newest = self.newest.max(page.first().map(|summary| summary.last_message_at));
        if !full {
            let here: HashSet<&ConversationId> = page.iter().map(|summary| &summary.id).collect();
            let mut gone: Vec<_> = known.keys().filter(|id| !here.contains(id)).cloned().collect();
            gone.sort();
            for id in gone {
                if let Some(summary) = known.remove(&id) {
                    self.ready.push_back(Ok(Change::Left(summary)));
                }
            }
        }
        for summary in page.into_iter().rev() {
            let change = match known.insert(summary.id.clone(), summary.clone()) {
                None => Change::New(summary),
                Some(before) if before != summary => {
                    Change::Changed { before: Box::new(before), after: summary }
                }
                Some(_) => continue,
            };
            if tell {
                self.ready.push_back(Ok(change));
            }
        }
        if known.len() > REMEMBERED {
            let mut times: Vec<_> = known.values().map(|summary| summary.last_message_at).collect();
            let (_, oldest, _) = times.select_nth_unstable(REMEMBERED / 2);
            known.retain(|_, summary| summary.last_message_at >= *oldest);
        }
    }
}

impl Stream for Changes {
    type Item = Result<Change>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Poll::Ready(Some(change));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let mut look = self.look.take().unwrap_or_else(|| self.look());
            let Poll::Ready(result) = look.as_mut().poll(cx) else {
                self.look = Some(look);
                return Poll::Pending;
            };
            self.looked = true;
            match result {
                Ok(page) => self.take(page),
                Err(error) => {
                    self.ended = error.is_unauthorized() || error.is_forbidden() || error.is_invalid_input();
                    self.ready.push_back(Err(error));
                }
            }
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("input", &self.input)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, REMEMBERED};
    use crate::{Client, ConversationSummary};

    fn summary(number: usize) -> ConversationSummary {
        let at = crate::Timestamp::from_millis(i64::try_from(number).unwrap());
        serde_json::from_value(
            serde_json::json!({"id": format!("cnv_{number}"), "subject": "", "snippet": "",
            "status": "open", "contact": {"name": null, "email": null}, "mailbox": "", "lastMessageAt": at,
            "messageCount": 1, "assignee": null, "tags": [], "topic": null, "urgency": null, "risk": null}),
        )
        .unwrap()
    }

    #[test]
    fn a_list_that_is_always_full_does_not_fill_the_memory() {
        let key = format!("rk_test_{}", "a1".repeat(24));
        let client = Client::builder("http://localhost/api/v1", key).build().unwrap();
        let mut changes = client.changes();
        for page in 0..3 * REMEMBERED / 100 {
            changes.take((page * 100..(page + 1) * 100).rev().map(summary).collect());
            changes.ready.clear();
        }
        let known = changes.known.as_ref().unwrap();
        assert!((100..=REMEMBERED).contains(&known.len()), "{}", known.len());
        // The newest are still known.
        changes.take((3 * REMEMBERED - 100..3 * REMEMBERED).rev().map(summary).collect());
        assert!(changes.ready.iter().all(|change| matches!(change, Ok(Change::Gap(_)))));
    }
}
