//! A question that goes on beside the call which asked it.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult},
    service::RequestContext,
};

use super::{
    Mailroom, Reading, Result,
    asking::{self, Asking, Heard},
    carried::question,
    case::Case,
    creates::Slot,
    errands::{Entry, Place, Waited},
    note, read,
};
use crate::{
    audit::{self, Consent, Line},
    consent::{self, ANSWER_WITHIN, Answer, Opened, Ticket, Way},
    server::answer::failed,
};

impl Mailroom {
    /// Asks, unless the same is being asked already, and waits for the answer.
    pub(super) async fn errand(
        self: &Arc<Self>,
        case: Case,
        way: Way,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let place = loop {
            match self.errands.enter(case.seen) {
                Entry::New(place) => break place,
                Entry::Open(waiting) => match waiting.result(&*self.clock).await {
                    Waited::Nobody => {}
                    waited => return told(waited, ctx),
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
        let opened = match self.open(&case) {
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
                let result = self.create(&case.linked, &case.mail.into_draft(), Some(why)).await;
                note(ctx, Consent::Draft);
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
        tokio::spawn(self.clone().run(place, case, (way, asked), slot, opened));
        match link {
            Some(link) => {
                waiting.leave();
                Ok(link.into())
            }
            None => told(waiting.result(&*self.clock).await, ctx),
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
        const NO_CLIENT: &str = "this client failed to ask a person for consent to send";
        if way == Way::Form {
            let handle = asking::put(&ctx.peer, consent::form(&case.letter)).await.map_err(|_| NO_CLIENT)?;
            return Ok(Asking::Form(handle));
        }
        let ticket = self.page.open(&case.letter).await.map_err(|error| {
            tracing::warn!(%error, "the page could not be served");
            NO_PAGE
        })?;
        let shown = match way {
            Way::Browser => {
                browse(&ticket).await?;
                None
            }
            _ if newer => None,
            _ => Some(asking::put(&ctx.peer, consent::link(&ticket)).await.map_err(|_| NO_CLIENT)?),
        };
        Ok(Asking::Page { ticket, shown })
    }

    /// Hears the answer and does what it says, whoever still waits for it.
    async fn run(
        self: Arc<Self>,
        place: Place,
        case: Case,
        (way, asked): (Way, Asking),
        mut slot: Slot,
        opened: Opened,
    ) {
        let (heard, page) = asked.hear(&*self.clock, &place.withdrawn()).await;
        drop(opened);
        let withdrawn = matches!(heard, Heard::Withdrawn);
        let consent = match heard {
            Heard::Answer(answer) => Some(Consent::Asked(way, answer)),
            Heard::Failed => Some(Consent::Draft),
            Heard::Withdrawn => None,
        };
        let result = match heard {
            Heard::Answer(Answer::Yes) => self.send(&case, &mut slot).await.unwrap_or_else(|result| result),
            Heard::Answer(answer) => {
                drop(slot);
                self.not_sent(&case, answer).await
            }
            Heard::Failed => {
                drop(slot);
                let why = "this client failed to ask a person for consent to send";
                self.create(&case.linked, &case.mail.clone().into_draft(), Some(why)).await
            }
            Heard::Withdrawn => failed("Not sent, and no draft was made: the call was cancelled."),
        };
        if let Some(page) = page.filter(|_| !withdrawn) {
            page.end(&outcome(&result));
        }
        // A call that waits is written down with its answer; without one, the answer is.
        if !place.end(result.clone(), consent)
            && let Some(audit) = &self.audit
        {
            let tool = case.mail.0.operation().tool_name().unwrap_or_default();
            let mut line = Line::new(tool, audit::of_result(&result), consent).about(&result);
            line.conversation = Some(case.letter.conversation);
            audit.write(&line);
        }
    }

    /// Sends after a yes. The mail would go to whoever is the contact now, so after a while the conversation is read again.
    async fn send(&self, case: &Case, slot: &mut Slot) -> Result<CallToolResult> {
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

/// What a call is told after it has waited.
pub(super) fn told(waited: Waited, ctx: &RequestContext<RoleServer>) -> Result<CallToolResponse> {
    match waited {
        Waited::Ended(ended) => {
            ended.consent.into_iter().for_each(|consent| note(ctx, consent));
            Ok(ended.result.into())
        }
        Waited::Open => Err(failed(format!(
            "Not sent yet: the person was asked and has not answered. The question stays open for {} minutes in all, and a yes \
             sends the mail. To learn the answer, make the same call again in a while; do not change the mail.",
            ANSWER_WITHIN.as_secs() / 60
        ))),
        Waited::Nobody => Err(failed(
            "The bridge failed while the person was asked, and it is not known whether the mail was sent. Read the conversation \
             before you try again.",
        )),
    }
}

/// Opens the page in the person's browser.
async fn browse(ticket: &Ticket) -> std::result::Result<(), &'static str> {
    const NO_BROWSER: &str = "no browser could be opened to ask a person for consent to send";
    let url = ticket.url().to_owned();
    match tokio::task::spawn_blocking(move || open::that_detached(url)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(kind = ?error.kind(), "no browser could be opened");
            Err(NO_BROWSER)
        }
        Err(_) => Err(NO_BROWSER),
    }
}

/// What became of a mail, for the person who answered: the first line of what the model is told.
fn outcome(result: &CallToolResult) -> String {
    let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
    text.and_then(|text| text.lines().next()).unwrap_or("It is done.").to_owned()
}
