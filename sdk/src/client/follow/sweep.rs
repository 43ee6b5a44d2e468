//! Reads all of a list that has no cursor: what is longer than a page is read in slices.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;

use super::backoff;
use crate::client::call::{List, Request, call_options, list_filters};
use crate::client::engine::Core;
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::model::shows;
use crate::{Assigned, ConversationId, ConversationSummary, Mailbox, MailboxId, Operation, View, limits};

/// A part of the list of conversations, as the service can list it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// The status.
    pub view: View,
    /// The inbox, or all.
    pub mailbox: Option<MailboxId>,
    /// Assigned to this key's agent or unassigned, or all.
    pub assigned: Option<Assigned>,
}

impl fmt::Display for Slice {
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
/// A list of the service ends after 100 conversations, so what is longer is read in slices: by status, then by inbox, then by
/// assignment to this key's agent or to nobody. The API has no slice for one teammate or one tag; so where an inbox has more than
/// 100 of a status, those that others have are complete only among the newest 100. [`cut`](Self::cut) returns each slice of which
/// some may be missing.
///
/// The filters narrow the sweep; a search ([`q`](Self::q)) can also reach what a slice had to leave out. The requests are
/// background work, see [`Priority::Bulk`]. A conversation that changes during the sweep is returned as it was first seen. After a
/// [retryable](crate::Error::is_retryable) error the sweep continues, with growing pauses. Any other error ends it: a wrong key, a
/// bad header, a malformed response.
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
/// for slice in sweep.cut() {
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
    ready: VecDeque<Result<(View, ConversationSummary)>>,
    found_in: Option<View>,
    /// How long to wait before the next request, after a failure.
    pause: Duration,
    cut: Vec<Slice>,
    ended: bool,
}

#[derive(Clone)]
enum Step {
    /// Reads a slice, and divides it if it is longer than a page.
    Look(Slice),
    /// Reads a slice once more, for what came into it meanwhile: that is on top.
    LookAgain(Slice),
    /// Reads which inboxes there are, to divide a slice by them.
    Inboxes(Slice),
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
            ready: VecDeque::new(),
            found_in: None,
            pause: Duration::ZERO,
            cut: Vec::new(),
            ended: false,
        }
    }

    list_filters!();
    call_options!();

    /// Returns the next conversation. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<ConversationSummary>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Returns the slices so far that were longer than a page and could not be divided: some of their conversations may be
    /// missing.
    #[must_use]
    pub fn cut(&self) -> &[Slice] {
        &self.cut
    }

    /// Returns the view in which the latest conversation was found: [`View::Snoozed`] for a snoozed one, whatever its status.
    #[must_use]
    pub fn found_in(&self) -> Option<&View> {
        self.found_in.as_ref()
    }

    fn plan(&self) -> VecDeque<Step> {
        let slice =
            |view| Slice { view, mailbox: self.input.mailbox.clone(), assigned: self.input.assigned.clone() };
        match (&self.input.view, &self.input.reference) {
            (Some(view), _) => [Step::Look(slice(view.clone()))].into(),
            (None, Some(_)) => [Step::Look(slice(View::All))].into(),
            (None, None) => {
                let views = [View::Open, View::Waiting, View::Snoozed, View::Closed];
                let looks = views.map(|view| Step::Look(slice(view)));
                looks.into_iter().chain([Step::LookAgain(slice(View::Open))]).collect()
            }
        }
    }

    fn begin(&self, step: &Step) -> BoxFuture<'static, Result<Found>> {
        match step {
            Step::Look(slice) | Step::LookAgain(slice) => {
                let input = ListConversations {
                    view: Some(slice.view.clone()),
                    mailbox: slice.mailbox.clone(),
                    assigned: slice.assigned.clone(),
                    limit: Some(limits::LIST_MAX),
                    ..self.input.clone()
                };
                let mut call = Request::conversations(&self.core, input);
                call.options = self.options.clone();
                self.after_pause(async { call.await.map(Found::Page) })
            }
            Step::Inboxes(_) => {
                let mut call = Request::bare(&self.core, Operation::ListMailboxes, None);
                call.options = self.options.clone();
                self.after_pause(async { call.await.map(Found::Inboxes) })
            }
        }
    }

    fn after_pause(
        &self,
        call: impl Future<Output = Result<Found>> + Send + 'static,
    ) -> BoxFuture<'static, Result<Found>> {
        let (core, pause) = (Arc::clone(&self.core), self.pause);
        Box::pin(async move {
            if !pause.is_zero() {
                core.clock.sleep(pause).await;
            }
            call.await
        })
    }

    fn take(&mut self, step: Step, found: Found) {
        let divides = !matches!(step, Step::LookAgain(_));
        let (Step::Look(slice) | Step::LookAgain(slice) | Step::Inboxes(slice)) = step;
        let is_cut = match found {
            Found::Page(page) => {
                let is_cut = page.is_cut();
                let new = page.into_iter().filter(|summary| self.seen.insert(summary.id.clone()));
                self.ready.extend(new.map(|summary| Ok((slice.view.clone(), summary))));
                is_cut
            }
            Found::Inboxes(all) => {
                self.mailboxes = Some(all.into_iter().map(|mailbox| mailbox.id).collect());
                true
            }
        };
        if is_cut && divides {
            self.divide(slice);
        }
    }

    /// Plans the next steps for a slice that is longer than a page.
    fn divide(&mut self, slice: Slice) {
        let steps = self.steps.get_or_insert_default();
        if slice.mailbox.is_none() {
            match self.mailboxes.as_deref() {
                None => return steps.push_front(Step::Inboxes(slice)),
                // Of one inbox, the slice would be the same.
                Some([] | [_]) => {}
                Some(mailboxes) => {
                    for mailbox in mailboxes.iter().rev() {
                        steps.push_front(Step::Look(Slice {
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
                steps.push_front(Step::Look(Slice { assigned: Some(assigned), ..slice.clone() }));
            }
        }
        // The API cannot list those that others have.
        self.cut.push(slice);
    }
}

impl Stream for Sweep {
    type Item = Result<ConversationSummary>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Poll::Ready(Some(found.map(|(view, summary)| {
                    self.found_in = Some(view);
                    summary
                })));
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
                            self.ended = true;
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
                Poll::Ready(Err(error)) => {
                    self.ended = !error.is_retryable();
                    self.pause = backoff(self.pause, &error);
                    self.steps.get_or_insert_default().push_front(step);
                    self.ready.push_back(Err(error));
                }
            }
        }
    }
}

shows! { Sweep: input cut; }
