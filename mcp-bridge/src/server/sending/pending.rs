//! Questions that outlive the call which asked them.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult},
    service::RequestContext,
};

use super::{
    Result, Sender,
    channel::{self, NO_CLIENT, OpenQuestion, PageDelivery, QuestionOutcome},
    creates::CreateSlot,
    input_required::input_required,
    note,
    request::ConsentRequest,
    shared_questions::{QuestionEntry, QuestionOwner, WaitOutcome, into_response},
};
use crate::{
    audit::Consent,
    consent::{self, AskMethod, ClosingPage, Decision, OpenConsent},
    server::{
        record,
        results::{error, failed},
    },
};

/// How long the program that opens a browser is watched: it may fail late.
const BROWSER_OPEN_TIMEOUT: Duration = Duration::from_secs(10);

impl Sender {
    /// Asks, unless the same is being asked already, and waits for the answer.
    pub(super) async fn ask(
        self: &Arc<Self>,
        case: ConsentRequest,
        way: AskMethod,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let record = record::current();
        if let Some(record) = &record {
            record.ask(way);
        }
        let owner = loop {
            match self.questions.enter(case.seen) {
                QuestionEntry::New(owner) => break owner,
                QuestionEntry::Open(waiting) => match waiting.result(&*self.clock).await {
                    WaitOutcome::Nobody => {}
                    waited => return into_response(waited, way),
                },
            }
        };
        let waiting = owner.wait();
        let claimed = self.claim(&case.connection, &case.mail.0, None).await;
        let (slot, opened) = match claimed.and_then(|slot| Ok((slot, self.open(&case, way)?))) {
            Ok(begun) => begun,
            Err(result) => {
                owner.end(result.clone(), None);
                return Err(result);
            }
        };
        let asked = match self.put(&case, way, newer, ctx).await {
            Ok(asked) => asked,
            Err(why) => {
                drop((slot, opened));
                note(Consent::Draft);
                let result = self.create(&case.connection, &case.mail.into_draft(), Some(why)).await;
                owner.end(result.clone(), Some(Consent::Draft));
                return Ok(result.into());
            }
        };
        let link = match &asked {
            OpenQuestion::Page { question, .. } if newer && way == AskMethod::Link => {
                owner.keep(&opened.handle);
                Some(input_required(consent::link(question), opened.handle.clone()))
            }
            _ => None,
        };
        let run = self.clone().run(owner, case, (way, asked), slot, opened);
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
            None => into_response(waiting.result(&*self.clock).await, way),
        }
    }

    /// Puts the question. The error is why a draft is made instead.
    async fn put(
        &self,
        case: &ConsentRequest,
        way: AskMethod,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> std::result::Result<OpenQuestion, &'static str> {
        const NO_PAGE: &str = "the page that asks for consent could not be served on this machine";
        if way == AskMethod::Form {
            let handle =
                channel::put(&ctx.peer, consent::form(&case.preview)).await.map_err(|_| NO_CLIENT)?;
            return Ok(OpenQuestion::Form(handle));
        }
        let question = self.page.open(&case.preview, way).await.map_err(|error| {
            tracing::warn!(%error, "the page could not be served");
            NO_PAGE
        })?;
        let shown = match way {
            AskMethod::Browser => {
                let target = question.target().to_owned();
                let open = move || open::that_detached_with_timeout(target, BROWSER_OPEN_TIMEOUT);
                PageDelivery::InBrowser(tokio::task::spawn_blocking(open))
            }
            _ if newer => PageDelivery::Given,
            _ => {
                let asked = channel::put(&ctx.peer, consent::link(&question)).await;
                PageDelivery::ByClient(asked.map_err(|_| NO_CLIENT)?)
            }
        };
        Ok(OpenQuestion::Page { question, shown })
    }

    /// Waits for the answer and acts on it, whether or not a call still waits for the result.
    async fn run(
        self: Arc<Self>,
        owner: QuestionOwner,
        mut case: ConsentRequest,
        (way, asked): (AskMethod, OpenQuestion),
        mut slot: CreateSlot,
        opened: OpenConsent,
    ) {
        let (outcome, page) = asked.wait(&*self.clock, &owner.withdrawn()).await;
        drop(opened);
        let consent = match outcome {
            QuestionOutcome::Answer(answer) => Some(Consent::Asked(way, answer)),
            QuestionOutcome::Failed(_) => Some(Consent::Draft),
            QuestionOutcome::Withdrawn => None,
        };
        consent.into_iter().for_each(note);
        let (result, ending) = match outcome {
            QuestionOutcome::Answer(answer) => {
                if matches!(answer, Decision::Yes | Decision::No) {
                    self.ledger.answer_window();
                }
                let result = if answer == Decision::Yes {
                    self.send(&mut case, &mut slot).await
                } else {
                    drop(slot);
                    self.not_sent(&case, answer).await
                };
                let ending = ClosingPage::after(answer, &result);
                (result, ending)
            }
            QuestionOutcome::Failed(why) => {
                drop(slot);
                let draft = case.mail.clone().into_draft();
                (self.create(&case.connection, &draft, Some(why)).await, ClosingPage::not_asked())
            }
            QuestionOutcome::Withdrawn => (
                failed("Not sent, and no draft was made: the call was cancelled."),
                ClosingPage::taken_back(),
            ),
        };
        if let Some(page) = page {
            page.end(ending);
        }
        // A call that waits is written down with its answer; without one, the answer is.
        if !owner.end(result.clone(), consent)
            && consent.is_some()
            && let Some(record) = record::current()
        {
            record.end_late(&result);
        }
    }

    /// Sends after a yes, with another key if the first is refused by now.
    async fn send(&self, case: &mut ConsentRequest, slot: &mut CreateSlot) -> CallToolResult {
        let result = self.send_once(case, slot).await.unwrap_or_else(|result| result);
        match self.renewed(&case.connection).await {
            Some(connection) => {
                case.connection = connection;
                self.send_once(case, slot).await.unwrap_or_else(|result| result)
            }
            None => result,
        }
    }

    /// Sends once. A risk, another contact or a new email may have come while the person was asked, so the conversation is read
    /// again.
    async fn send_once(&self, case: &ConsentRequest, slot: &mut CreateSlot) -> Result<CallToolResult> {
        let read = case.connection.client.conversation(&case.mail.0.id).get().await;
        let now = ConsentRequest::new(&case.connection, case.mail.clone(), read.map_err(|e| error(&e))?)?;
        if now.exact != case.exact {
            return Err(failed(
                "Not sent: the conversation changed while the person was asked. Read it again.",
            ));
        }
        Ok(self.make(&case.connection, &case.mail.0, slot, Some(&now.conversation), None).await)
    }
}
