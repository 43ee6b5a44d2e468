//! A question that goes on beside the call which asked it.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult},
    service::RequestContext,
};

use super::{
    Mailroom, Reading, Result,
    channel::{self, Asking, Heard, NO_CLIENT, Shown},
    creates::Slot,
    input_required::question,
    note, read,
    request::Case,
    shared_questions::{Entry, Place, Waited, told},
};
use crate::{
    audit::Consent,
    consent::{self, Answer, Ending, Opened, Way},
    server::{record, results::failed},
};

/// How long the program that opens a browser is watched: it may fail late.
const OPENED_WITHIN: Duration = Duration::from_secs(10);

impl Mailroom {
    /// Asks, unless the same is being asked already, and waits for the answer.
    pub(super) async fn errand(
        self: &Arc<Self>,
        case: Case,
        way: Way,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let record = record::current();
        if let Some(record) = &record {
            record.ask(way);
        }
        let place = loop {
            match self.errands.enter(case.seen) {
                Entry::New(place) => break place,
                Entry::Open(waiting) => match waiting.result(&*self.clock).await {
                    Waited::Nobody => {}
                    waited => return told(waited, way),
                },
            }
        };
        let waiting = place.wait();
        let slot = match self.claim(&case.linked, &case.mail.0, None).await {
            Ok(slot) => slot,
            Err(result) => {
                place.end(result.clone(), None);
                return Err(result);
            }
        };
        let opened = match self.open(&case, way) {
            Ok(opened) => opened,
            Err(result) => {
                place.end(result.clone(), None);
                return Err(result);
            }
        };
        let asked = match self.put(&case, way, newer, ctx).await {
            Ok(asked) => asked,
            Err(why) => {
                drop((slot, opened));
                note(Consent::Draft);
                let result = self.create(&case.linked, &case.mail.into_draft(), Some(why)).await;
                place.end(result.clone(), Some(Consent::Draft));
                return Ok(result.into());
            }
        };
        let link = match &asked {
            Asking::Page { ticket, .. } if newer && way == Way::Link => {
                place.keep(&opened.handle);
                Some(question(consent::link(ticket), opened.handle.clone()))
            }
            _ => None,
        };
        let run = self.clone().run(place, case, (way, asked), slot, opened);
        tokio::spawn(async move {
            match record {
                Some(record) => record.scope(run).await,
                None => run.await,
            }
        });
        match link {
            Some(link) => {
                waiting.leave();
                Ok(link.into())
            }
            None => told(waiting.result(&*self.clock).await, way),
        }
    }

    /// Puts the question. The error is why a draft is made instead.
    async fn put(
        &self,
        case: &Case,
        way: Way,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> std::result::Result<Asking, &'static str> {
        const NO_PAGE: &str = "the page that asks for consent could not be served on this machine";
        if way == Way::Form {
            let handle = channel::put(&ctx.peer, consent::form(&case.letter)).await.map_err(|_| NO_CLIENT)?;
            return Ok(Asking::Form(handle));
        }
        let ticket = self.page.open(&case.letter, way).await.map_err(|error| {
            tracing::warn!(%error, "the page could not be served");
            NO_PAGE
        })?;
        let shown = match way {
            Way::Browser => {
                let target = ticket.target().to_owned();
                let open = move || open::that_detached_with_timeout(target, OPENED_WITHIN);
                Shown::InBrowser(tokio::task::spawn_blocking(open))
            }
            _ if newer => Shown::Given,
            _ => {
                let asked = channel::put(&ctx.peer, consent::link(&ticket)).await;
                Shown::ByClient(asked.map_err(|_| NO_CLIENT)?)
            }
        };
        Ok(Asking::Page { ticket, shown })
    }

    /// Hears the answer and does what it says, whoever still waits for it.
    async fn run(
        self: Arc<Self>,
        place: Place,
        mut case: Case,
        (way, asked): (Way, Asking),
        mut slot: Slot,
        opened: Opened,
    ) {
        let (heard, page) = asked.hear(&*self.clock, &place.withdrawn()).await;
        drop(opened);
        let consent = match heard {
            Heard::Answer(answer) => Some(Consent::Asked(way, answer)),
            Heard::Failed(_) => Some(Consent::Draft),
            Heard::Withdrawn => None,
        };
        consent.into_iter().for_each(note);
        let (result, ending) = match heard {
            Heard::Answer(answer) => {
                if matches!(answer, Answer::Yes | Answer::No) {
                    self.book.answer_window();
                }
                let result = if answer == Answer::Yes {
                    self.send(&mut case, &mut slot).await
                } else {
                    drop(slot);
                    self.not_sent(&case, answer).await
                };
                let ending = Ending::of(answer, &result);
                (result, ending)
            }
            Heard::Failed(why) => {
                drop(slot);
                let draft = case.mail.clone().into_draft();
                (self.create(&case.linked, &draft, Some(why)).await, Ending::not_asked())
            }
            Heard::Withdrawn => {
                (failed("Not sent, and no draft was made: the call was cancelled."), Ending::taken_back())
            }
        };
        if let Some(page) = page {
            page.end(ending);
        }
        // A call that waits is written down with its answer; without one, the answer is.
        if !place.end(result.clone(), consent)
            && consent.is_some()
            && let Some(record) = record::current()
        {
            record.end_late(&result);
        }
    }

    /// Sends after a yes, with another key if the first is refused by now.
    async fn send(&self, case: &mut Case, slot: &mut Slot) -> CallToolResult {
        let result = self.send_once(case, slot).await.unwrap_or_else(|result| result);
        match self.renewed(&case.linked).await {
            Some(linked) => {
                case.linked = linked;
                self.send_once(case, slot).await.unwrap_or_else(|result| result)
            }
            None => result,
        }
    }

    /// The mail would go to whoever is the contact now, so after a while the conversation is read again.
    async fn send_once(&self, case: &Case, slot: &mut Slot) -> Result<CallToolResult> {
        let now = self.clock.now();
        let mut reading = case.reading.clone();
        if !reading.is_fresh(now) {
            let conversation = Arc::new(read(&case.linked, &case.mail.0.id).await?);
            reading = Reading { conversation, at: now };
            if Case::new(&case.linked, case.mail.clone(), reading.clone())?.exact != case.exact {
                return Err(failed(
                    "Not sent: the conversation changed while the person was asked. Read it again.",
                ));
            }
        }
        Ok(self.make(&case.linked, &case.mail.0, slot, Some(&reading.conversation), None).await)
    }
}
