//! Reads all of a list that has no cursor: what is longer than a page is read in slices.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;

use super::{backoff, can_pass};
use crate::client::call::{List, Request, call_options, list_filters};
use crate::client::engine::Core;
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::model::shows;
use crate::{
    Assigned, ConversationId, ConversationSummary, Mailbox, MailboxId, View, limits, operation::Operation,
};

/// Read last, and so not again: what comes into it was in another before.
const LAST_VIEW: View = View::Closed;
/// How often slices are read again at most.
const MAX_ROUNDS: u32 = 5;

/// A part of the list of conversations, as the service can list it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListSlice {
    /// The status.
    pub view: View,
    /// The inbox, or all.
    pub mailbox: Option<MailboxId>,
    /// Assigned to this key's agent or unassigned, or all.
    pub assigned: Option<Assigned>,
}

impl fmt::Display for ListSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.view.as_str())?;
        if let Some(mailbox) = &self.mailbox {
            write!(f, " in {mailbox}")?;
        }
        match &self.assigned {
            Some(assigned) => write!(f, ", assigned: {assigned}"),
            None => Ok(()),
        }
    }
}

/// Every conversation that the key can see, each once; made by [`Client::sweep`](crate::Client::sweep).
///
/// A list of the service ends after 100 conversations, so what is longer is read in slices: by status, then
/// by inbox, then by assignment to this key's agent or to nobody. The API has no slice for one teammate or
/// one tag; so where an inbox has more than 100 of a status, those that others have are complete only among
/// the newest 100. [`incomplete_slices`](Self::incomplete_slices) returns each slice of which some may be
/// missing.
///
/// The filters narrow the sweep; a [search](Self::search) can also reach what a slice had to leave out. The
/// requests are background work, see [`Priority::Bulk`].
///
/// A conversation that changes during the sweep is returned as it was first seen. One whose status changes
/// may come into a slice that was read before; so all slices but those of the last status are read again,
/// until nothing new is in them. After five rounds `incomplete_slices` returns those in which there still
/// was. A conversation that changes twice during the sweep can be missed.
///
/// After an error that [can pass](crate::Error::is_retryable) the sweep goes on, with growing pauses and a
/// warning through `tracing`. Any other error is yielded and ends it: a wrong key, a bad header, a malformed
/// response, and a service that was [never reached](crate::ClientBuilder::first_connection_timeout).
///
/// A snoozed conversation has the status `open`, and its summary does not show that it is snoozed.
/// [`found_in`](Self::found_in) distinguishes them.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// let mut sweep = inbox.sweep();
/// let mut urgent = 0;
/// while let Some(summary) = sweep.next().await {
///     urgent += usize::from(summary?.urgency == Some(shared_inbox::Urgency::High));
/// }
/// println!("{urgent} urgent ones");
/// for slice in sweep.incomplete_slices() {
///     println!("there may be more: {slice}");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a sweep does nothing unless polled"]
pub struct Sweep {
    core: Arc<Core>,
    input: ListConversations,
    options: Options,
    steps: Option<VecDeque<Step>>,
    under_way: Option<(Step, BoxFuture<'static, Result<Found>>)>,
    mailboxes: Option<Vec<MailboxId>>,
    seen: HashSet<ConversationId>,
    /// The slices that are read again at the end, and how often they were.
    again: Vec<ListSlice>,
    rounds: u32,
    /// The slices of this round in which something new was.
    fresh: Vec<ListSlice>,
    ready: VecDeque<(View, ConversationSummary)>,
    found_in: Option<View>,
    /// How long to wait before the next request, after a failure.
    pause: Duration,
    incomplete: Vec<ListSlice>,
    ended: bool,
}

#[derive(Clone)]
enum Step {
    /// Reads a slice, and divides it if it is longer than a page.
    Look(ListSlice),
    /// Reads which inboxes there are, to divide a slice by them.
    Inboxes(ListSlice),
}

enum Found {
    Page(List<ConversationSummary>),
    Inboxes(Vec<Mailbox>),
}

impl Sweep {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            input: ListConversations::default(),
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
            steps: None,
            under_way: None,
            mailboxes: None,
            seen: HashSet::new(),
            again: Vec::new(),
            rounds: 0,
            fresh: Vec::new(),
            ready: VecDeque::new(),
            found_in: None,
            pause: Duration::ZERO,
            incomplete: Vec::new(),
            ended: false,
        }
    }

    list_filters!();
    call_options!();

    /// Returns the next conversation. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<ConversationSummary>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Returns the slices so far of which some conversations may be missing: longer than a page and not to be
    /// divided, or never the same twice.
    #[must_use]
    pub fn incomplete_slices(&self) -> &[ListSlice] {
        &self.incomplete
    }

    /// Returns the view in which the latest conversation was found: [`View::Snoozed`] for a snoozed one,
    /// whatever its status.
    #[must_use]
    pub fn found_in(&self) -> Option<&View> {
        self.found_in.as_ref()
    }

    fn plan(&self) -> VecDeque<Step> {
        let slice = |view| ListSlice {
            view,
            mailbox: self.input.mailbox.clone(),
            assigned: self.input.assigned.clone(),
        };
        match (&self.input.view, &self.input.reference) {
            (Some(view), _) => [Step::Look(slice(view.clone()))].into(),
            (None, Some(_)) => [Step::Look(slice(View::All))].into(),
            (None, None) => [View::Open, View::Waiting, View::Snoozed, LAST_VIEW]
                .map(|view| Step::Look(slice(view)))
                .into(),
        }
    }

    fn begin(&self, step: &Step) -> BoxFuture<'static, Result<Found>> {
        let options = self.options.clone();
        let call: BoxFuture<'static, Result<Found>> = match step {
            Step::Look(slice) => {
                let input = ListConversations {
                    view: Some(slice.view.clone()),
                    mailbox: slice.mailbox.clone(),
                    assigned: slice.assigned.clone(),
                    limit: Some(limits::LIST_MAX),
                    ..self.input.clone()
                };
                let call = Request::conversations(&self.core, input).with_options(options);
                Box::pin(async { call.await.map(Found::Page) })
            }
            Step::Inboxes(_) => {
                let call = Request::new(&self.core, Operation::ListMailboxes, None, ());
                let call = call.with_options(options);
                Box::pin(async { call.await.map(Found::Inboxes) })
            }
        };
        let (core, pause) = (Arc::clone(&self.core), self.pause);
        Box::pin(async move {
            if !pause.is_zero() {
                core.clock.sleep(pause).await;
            }
            call.await
        })
    }

    fn take(&mut self, step: Step, found: Found) {
        let (Step::Look(slice) | Step::Inboxes(slice)) = step;
        let is_cut = match found {
            Found::Page(page) => {
                let (is_cut, before) = (page.is_cut(), self.ready.len());
                let new = page.into_iter().filter(|summary| self.seen.insert(summary.id.clone()));
                self.ready.extend(new.map(|summary| (slice.view.clone(), summary)));
                if self.ready.len() > before {
                    self.fresh.push(slice.clone());
                }
                is_cut
            }
            Found::Inboxes(all) => {
                self.mailboxes = Some(all.into_iter().map(|mailbox| mailbox.id).collect());
                true
            }
        };
        if is_cut {
            self.divide(slice);
        } else if slice.view != LAST_VIEW {
            self.again.push(slice);
        }
    }

    /// Plans another round over the slices that may have changed since they were read. Returns whether there
    /// is one.
    fn read_again(&mut self) -> bool {
        let all_views = self.input.view.is_none() && self.input.reference.is_none();
        let fresh = std::mem::take(&mut self.fresh);
        self.rounds += 1;
        if !all_views || fresh.is_empty() && self.rounds > 1 {
            return false;
        }
        if self.rounds > MAX_ROUNDS {
            self.add_incomplete(fresh);
            return false;
        }
        let slices = std::mem::take(&mut self.again).into_iter();
        self.steps.get_or_insert_default().extend(slices.map(Step::Look));
        true
    }

    fn add_incomplete(&mut self, mut slices: Vec<ListSlice>) {
        slices.retain(|slice| !self.incomplete.contains(slice));
        self.incomplete.extend(slices);
    }

    /// Plans the next steps for a slice that is longer than a page.
    fn divide(&mut self, slice: ListSlice) {
        let steps = self.steps.get_or_insert_default();
        if slice.mailbox.is_none() {
            match self.mailboxes.as_deref() {
                None => return steps.push_front(Step::Inboxes(slice)),
                // Of one inbox, the slice would be the same.
                Some([] | [_]) => {}
                Some(mailboxes) => {
                    for mailbox in mailboxes.iter().rev() {
                        steps.push_front(Step::Look(ListSlice {
                            mailbox: Some(mailbox.clone()),
                            ..slice.clone()
                        }));
                    }
                    return;
                }
            }
        }
        if slice.assigned.is_none() {
            for assigned in [Assigned::Unassigned, Assigned::Me] {
                steps.push_front(Step::Look(ListSlice { assigned: Some(assigned), ..slice.clone() }));
            }
        }
        // The API cannot list those that others have.
        self.add_incomplete(vec![slice]);
    }
}

impl Stream for Sweep {
    type Item = Result<ConversationSummary>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                self.found_in = Some(found.0);
                return Poll::Ready(Some(Ok(found.1)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let (step, mut look) = match self.under_way.take() {
                Some(under_way) => under_way,
                None => {
                    let plan = self.plan();
                    match self.steps.get_or_insert(plan).pop_front() {
                        Some(step) => {
                            let look = self.begin(&step);
                            (step, look)
                        }
                        None => {
                            self.ended = !self.read_again();
                            continue;
                        }
                    }
                }
            };
            match look.as_mut().poll(cx) {
                Poll::Pending => {
                    self.under_way = Some((step, look));
                    return Poll::Pending;
                }
                Poll::Ready(Ok(found)) => {
                    self.pause = Duration::ZERO;
                    self.take(step, found);
                }
                Poll::Ready(Err(error)) if can_pass(&error, &self.core) => {
                    self.pause = backoff(self.pause, &error);
                    self.steps.get_or_insert_default().push_front(step);
                }
                Poll::Ready(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

shows! { Sweep: input incomplete; }
