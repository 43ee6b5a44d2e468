//! Asks a person whether an email may go out, and acts on the answer. A question outlives the call that asked
//! it: a client gives up on a call after a minute, and a person may take five.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams,
        ElicitationAction, InputRequest, InputRequests, InputRequiredResult,
    },
    service::RequestContext,
};
use shared_inbox::{Conversation, create::UnconfirmedCreate};

use super::{
    Create, Sender,
    channel::{self, NO_CLIENT, OpenQuestion, QuestionOutcome},
    make::{may_be_made_by_another, to_look_for},
    note, sentences,
};
use crate::{
    consent::{
        self, AskMethod, ClosingPage, Consent, ConsentError, Decision, Ending, Entry, Event, Owner,
        Permission, Terms, Waiter, last_inbound,
    },
    outcome::{Doubt, Failure, Outcome},
    server::{Connection, record, results::failed},
};

/// How long the program that opens a browser is watched: it may fail late.
const BROWSER_OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How old a call becomes that waits for a person, before it returns that the question is still open.
const CALL_WAIT_TIMEOUT: Duration = Duration::from_secs(45);
/// The name under which the question travels in the newer protocol.
const QUESTION: &str = "consent";

type Result<T> = std::result::Result<T, Failure>;

/// An email that a person must agree to.
pub(super) struct ConsentRequest {
    pub(super) connection: Arc<Connection>,
    pub(super) create: Create,
    /// The conversation that the terms are made from.
    conversation: Conversation,
    terms: Arc<Terms>,
    /// The client's name.
    client: Option<String>,
    /// What to look for if another bridge may have sent it since it was asked.
    lost: Option<UnconfirmedCreate>,
}

impl ConsentRequest {
    pub(super) fn new(
        connection: &Arc<Connection>,
        create: Create,
        conversation: Conversation,
        client: Option<String>,
    ) -> Self {
        let terms = Terms {
            email: create.exact(),
            preview: create.preview(&conversation),
            answers: last_inbound(&conversation).map(|message| message.id.to_string()),
        };
        Self { connection: connection.clone(), create, conversation, terms: terms.into(), client, lost: None }
    }
}

impl Sender {
    /// Asks, unless the same is being asked already, and waits for the answer.
    pub(super) async fn ask(
        self: &Arc<Self>,
        mut request: ConsentRequest,
        method: AskMethod,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        // Whatever another bridge sends from now on is new, however late the yes comes.
        request.lost = to_look_for(&request.connection, &request.create, &request.conversation).await.ok();
        let record = record::current();
        if let Some(record) = &record {
            record.ask(method);
        }
        let owner = loop {
            match self.questions.enter(request.create.digest(), request.create.id.as_str()) {
                Entry::Busy(waiter) if waiter.is_for_answer() => {
                    if let Some(response) = self.wait(waiter, method).await {
                        return response;
                    }
                }
                Entry::Busy(waiter) => _ = waiter.ended().await,
                entry => match self.settle(&request.connection, &request.create, entry).await {
                    Ok(owner) => break owner,
                    Err(outcome) => return response(&request.create, &outcome),
                },
            }
        };
        owner.ask(request.terms.clone(), method).map_err(sentences::cannot_ask)?;
        let waiter = owner.wait();
        let (asked, link) = match self.put(&owner, &request, method, newer, ctx).await {
            Ok(asked) => asked,
            Err(why) => {
                note(Consent::Draft);
                let (result, closing) = self.draft_instead(&request, why).await;
                owner.end(Ending { result: result.clone(), consent: Some(Consent::Draft) }, closing);
                return result.map(Into::into);
            }
        };
        let run = self.clone().run(owner, request, method, asked);
        tokio::spawn(async move {
            match record {
                Some(record) => record.scope(run).await,
                None => run.await,
            }
        });
        match link {
            Some(link) => {
                waiter.leave();
                Ok(link.into())
            }
            None => self.wait(waiter, method).await.unwrap_or_else(sentences::nobody),
        }
    }

    /// Puts the question. Where it travels as a result, that is returned too. The error is why a draft is
    /// made instead.
    async fn put(
        &self,
        owner: &Owner,
        request: &ConsentRequest,
        method: AskMethod,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> std::result::Result<(OpenQuestion, Option<InputRequiredResult>), &'static str> {
        const NO_PAGE: &str = "the page that asks for consent could not be served on this machine";
        let preview = &request.terms.preview;
        if method == AskMethod::Form {
            let handle = channel::put(&ctx.peer, consent::form(preview)).await.map_err(|_| NO_CLIENT)?;
            return Ok((OpenQuestion::Form(handle), None));
        }
        let page =
            self.page.open(owner, preview, request.client.as_deref(), method).await.map_err(|error| {
                tracing::warn!(%error, "the page could not be served");
                NO_PAGE
            })?;
        Ok(match method {
            AskMethod::Browser => {
                let open = move || open::that_detached_with_timeout(page.target, BROWSER_OPEN_TIMEOUT);
                (OpenQuestion::PageInBrowser(tokio::task::spawn_blocking(open)), None)
            }
            _ if newer => {
                let handle = owner.handle().ok_or(NO_PAGE)?;
                let link = input_required(consent::link(&page), handle);
                (OpenQuestion::PageGiven, Some(link))
            }
            _ => {
                let asked = channel::put(&ctx.peer, consent::link(&page)).await.map_err(|_| NO_CLIENT)?;
                (OpenQuestion::PageByClient(asked), None)
            }
        })
    }

    /// Waits for the answer and acts on it, whether or not a call still waits for the result.
    async fn run(
        self: Arc<Self>,
        owner: Owner,
        mut request: ConsentRequest,
        method: AskMethod,
        asked: OpenQuestion,
    ) {
        let outcome = asked.wait(&owner, &*self.clock).await;
        let answer = match outcome {
            QuestionOutcome::Answer(answer) => Some(owner.answer(answer)),
            // It may have been answered in the same moment.
            QuestionOutcome::Failed(_) | QuestionOutcome::Withdrawn => {
                (!owner.step(Event::TakenBack)).then(|| owner.answer(Decision::Dismissed))
            }
        };
        let consent = match (answer, &outcome) {
            (Some(answer), _) => Some(Consent::Asked(method, answer)),
            (None, QuestionOutcome::Failed(_)) => Some(Consent::Draft),
            (None, _) => None,
        };
        consent.into_iter().for_each(note);
        let (result, closing) = match (answer, outcome) {
            (Some(Decision::Yes), _) => {
                let outcome = self.send(&owner, &mut request).await;
                let closing = ClosingPage::after_yes(&outcome, &request.terms.preview);
                (sentences::result(&request.create, &outcome, None), closing)
            }
            (Some(answer), _) => self.not_sent(&owner, &request.connection, &request.create, answer).await,
            (None, QuestionOutcome::Failed(why)) => self.draft_instead(&request, why).await,
            (None, _) => (Err(failed(sentences::WITHDRAWN)), ClosingPage::taken_back()),
        };
        // A call that waits is written down with its answer; without one, the answer is.
        if !owner.end(Ending { result: result.clone(), consent }, closing)
            && consent.is_some()
            && let Some(record) = record::current()
        {
            record.end_late(&result);
        }
    }

    /// Sends after a yes, with another key if the first is refused by now.
    async fn send(&self, owner: &Owner, request: &mut ConsentRequest) -> Outcome {
        let mut sent = self.send_once(owner, request).await;
        if let Ok(Outcome::Refused(failure)) | Err(failure) = &sent
            && failure.is_key_refused()
            && let Some(connection) = self.connector.renew(&request.connection).await
        {
            request.connection = connection;
            sent = self.send_once(owner, request).await;
        }
        match sent {
            Ok(outcome) => outcome,
            Err(_) => {
                if let Some(lost) = request.lost.take() {
                    owner.step(Event::Lost(lost));
                }
                Outcome::Unknown(Doubt::AnotherCaller)
            }
        }
    }

    /// Sends once. A risk, another contact or a new email may have come while the person was asked, so the
    /// conversation is read again. The error is why nothing was sent here, and it cannot be seen whether
    /// another bridge, which may have asked as well, has sent it.
    async fn send_once(&self, owner: &Owner, request: &ConsentRequest) -> Result<Outcome> {
        let ConsentRequest { connection, create, terms, .. } = request;
        let conversation = connection.client.conversation(&create.id).get().await?;
        let now = ConsentRequest::new(connection, create.clone(), conversation, None);
        let outcome = if now.terms == *terms {
            let permission = Permission::Yes(&now.terms);
            self.make(connection, create, owner, permission, Some(&now.conversation)).await
        } else {
            let made = terms.preview.made_since(&request.conversation, &now.conversation);
            made.map_or_else(|| Outcome::Refused(failed(sentences::CHANGED)), |made| owner.made(made))
        };
        match outcome {
            Outcome::Refused(why) if may_be_made_by_another(connection, create).await => Err(why),
            outcome => Ok(outcome),
        }
    }

    /// Acts on any answer but a yes.
    async fn not_sent(
        &self,
        owner: &Owner,
        connection: &Connection,
        create: &Create,
        answer: Decision,
    ) -> (Result<CallToolResult>, ClosingPage) {
        match answer {
            Decision::No => _ = owner.step(Event::Refused),
            Decision::TooQuick => {
                let draft = create.clone().into_draft();
                let outcome = self.create_once(connection, &draft).await;
                let result = sentences::result(&draft, &outcome, Some(sentences::TOO_QUICK));
                return (result, ClosingPage::after_no(answer, Some(&outcome)));
            }
            Decision::Yes | Decision::Dismissed => {}
        }
        let why = if answer == Decision::No { sentences::DECLINED } else { sentences::NO_ANSWER };
        (Err(failed(why)), ClosingPage::after_no(answer, None))
    }

    async fn draft_instead(
        &self,
        request: &ConsentRequest,
        why: &str,
    ) -> (Result<CallToolResult>, ClosingPage) {
        let draft = request.create.clone().into_draft();
        let outcome = self.create_once(&request.connection, &draft).await;
        (sentences::result(&draft, &outcome, Some(why)), ClosingPage::not_asked(&outcome))
    }

    /// Waits for the answer to a question. `None`: nobody is asking, since the call that was about to was
    /// cancelled before its question was out, or another one has looked up since what came of it. For a call
    /// whose own question is out, this can only mean that the bridge failed.
    async fn wait(&self, waiter: Waiter, method: AskMethod) -> Option<Result<CallToolResponse>> {
        let spent = record::current().map_or(Duration::ZERO, |record| record.age());
        let waited = tokio::select! {
            biased;
            ending = waiter.ended() => {
                let Ending { result, consent } = ending?;
                consent.into_iter().for_each(note);
                result.map(Into::into)
            }
            () = self.clock.sleep(CALL_WAIT_TIMEOUT.saturating_sub(spent)) => {
                if waiter.is_open() {
                    note(Consent::Open(method));
                    Err(sentences::still_open())
                } else {
                    Err(sentences::under_way())
                }
            }
        };
        waiter.leave();
        Some(waited)
    }

    /// Asks by a form that travels as the result of the call, and acts on the answer that the next call
    /// brings.
    pub(super) async fn ask_by_result(
        &self,
        request: ConsentRequest,
        call: &CallToolRequestParams,
    ) -> Result<CallToolResponse> {
        let ConsentRequest { connection, create, terms, .. } = &request;
        let Some(handle) = &call.request_state else {
            // What was sent a moment ago is not asked about.
            let owner = match self.claim(connection, create).await {
                Ok(owner) => owner,
                Err(outcome) => return response(create, &outcome),
            };
            owner.ask(terms.clone(), AskMethod::Form).map_err(sentences::cannot_ask)?;
            let handle = owner
                .handle()
                .ok_or_else(|| failed("Not sent by this call: this machine has no random numbers."))?;
            owner.travel();
            return Ok(input_required(consent::form(&terms.preview), handle).into());
        };
        let (owner, took) = match self.questions.take(handle, create.digest(), terms) {
            Ok(taken) => taken,
            Err(why) => return self.without_consent(connection, create, why).await,
        };
        let answer = answered(call).and_then(Decision::read).unwrap_or(Decision::Dismissed);
        let answer = owner.answer(answer.after(took));
        note(Consent::Asked(AskMethod::Form, answer));
        if answer != Decision::Yes {
            return self.not_sent(&owner, connection, create, answer).await.0.map(Into::into);
        }
        // The conversation was read for this call, and is what the person agreed to: the handle was for no
        // other.
        let conversation = Some(&request.conversation);
        let outcome = self.make(connection, create, &owner, Permission::Yes(terms), conversation).await;
        response(create, &outcome)
    }

    /// Returns what is known of an email whose answer does not count: an earlier call may have sent it.
    async fn without_consent(
        &self,
        connection: &Connection,
        create: &Create,
        why: ConsentError,
    ) -> Result<CallToolResponse> {
        let digest = create.digest();
        // A question that is open now keeps waiting for its own answer.
        if !self.questions.is_asking(digest) {
            let entry = self.questions.enter(digest, create.id.as_str());
            if let Err(outcome) = self.settle(connection, create, entry).await {
                return response(create, &outcome);
            }
        }
        Err(failed(sentences::without_consent(why)))
    }

    /// Returns the answer to a question whose link the client of the newer protocol has shown, or not.
    pub(super) async fn collect(
        &self,
        connection: &Connection,
        create: &Create,
        handle: &str,
        call: &CallToolRequestParams,
    ) -> Result<CallToolResponse> {
        let digest = create.digest();
        let Some((waiter, open_for)) = self.questions.collect(handle, digest) else {
            return self.without_consent(connection, create, ConsentError::Unknown).await;
        };
        let action = answered(call).and_then(consent::action);
        let took = match open_for {
            // It is still open, and the person did not follow the link.
            Some(took) if action != Some(ElicitationAction::Accept) => took,
            _ => {
                return match self.wait(waiter, AskMethod::Link).await {
                    Some(response) => response,
                    None => self.without_consent(connection, create, ConsentError::Unknown).await,
                };
            }
        };
        waiter.withdraw();
        _ = self.wait(waiter, AskMethod::Link).await;
        let answer = action.map_or(Decision::Dismissed, |action| Decision::new(&action, None)).after(took);
        note(Consent::Asked(AskMethod::Link, answer));
        match self.questions.enter(digest, create.id.as_str()) {
            Entry::New(owner) => {
                let answer = owner.answer(answer);
                self.not_sent(&owner, connection, create, answer).await.0.map(Into::into)
            }
            entry => match self.settle(connection, create, entry).await {
                Ok(_) => Err(failed(sentences::NO_ANSWER)),
                Err(outcome) => response(create, &outcome),
            },
        }
    }
}

fn response(create: &Create, outcome: &Outcome) -> Result<CallToolResponse> {
    sentences::result(create, outcome, None).map(Into::into)
}

fn input_required(asked: ElicitRequestParams, handle: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(asked));
    InputRequiredResult::new(Some(InputRequests::from([(QUESTION.to_owned(), question)])), Some(handle))
}

fn answered(request: &CallToolRequestParams) -> Option<&serde_json::Value> {
    request.input_responses.as_ref()?.get(QUESTION)
}
