//! Mails to customers: what the person who started the bridge allows, and the consent of the person at the client.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams,
        ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ProtocolVersion,
    },
    service::RequestContext,
};
use shared_inbox::{
    Clock, Conversation, ConversationId, Scope,
    input::{Reply, RequestDocuments},
};

use super::{
    Linked,
    asking::{self, Asking, Heard},
    creates::{Create, Slot, What},
    errands::{Entry, Errands, Place, Waiting},
    error, failed,
};
use crate::{
    audit::{self, Audit, Consent, Line, Trail},
    consent::{self, ANSWER_WITHIN, Answer, Book, Letter, Opened, Page, Ticket, Way},
    digest::Digest,
    recent::Recent,
    settings::{Ask, SendPolicy},
};

/// The name under which the question travels in the newer protocol.
const QUESTION: &str = "consent";

/// Where mails are made: what was made lately, what is being asked, and what was refused.
pub(super) struct Mailroom {
    send: SendPolicy,
    ask: Ask,
    clock: Arc<dyn Clock>,
    audit: Option<Arc<Audit>>,
    pub(super) recent: Recent,
    book: Book,
    errands: Errands,
    page: Page,
}

/// A reply or a document request.
#[derive(Clone)]
pub(super) struct Mail(Create);

impl Mail {
    pub(super) fn reply(id: ConversationId, reply: Reply) -> Self {
        Self(Create { id, what: What::Reply(reply) })
    }

    pub(super) fn request(id: ConversationId, request: RequestDocuments) -> Self {
        Self(Create { id, what: What::Request(request) })
    }

    fn wants_to_send(&self) -> bool {
        match &self.0.what {
            What::Reply(reply) => reply.send,
            What::Request(request) => request.send,
            What::Note(_) => false,
        }
    }

    fn into_draft(mut self) -> Create {
        match &mut self.0.what {
            What::Reply(reply) => reply.send = false,
            What::Request(request) => request.send = false,
            What::Note(_) => {}
        }
        self.0
    }

    fn letter(&self, conversation: &Conversation) -> Letter {
        match &self.0.what {
            What::Reply(r) => {
                Letter::new(conversation, &r.body, r.documents.as_deref().unwrap_or_default(), None)
            }
            What::Request(r) => {
                let due = r.due_date.as_ref().map(ToString::to_string);
                Letter::new(conversation, r.message.as_deref().unwrap_or_default(), &r.documents, due)
            }
            What::Note(n) => Letter::new(conversation, &n.body, &[], None),
        }
    }
}

/// A mail that a person must agree to.
struct Case {
    linked: Arc<Linked>,
    mail: Mail,
    letter: Letter,
    /// What a consent is bound to: what the person sees as well as what is sent. Another recipient is another mail.
    exact: Digest,
    /// What a refusal holds for: what the person sees.
    seen: Digest,
}

impl Case {
    fn new(linked: &Arc<Linked>, mail: Mail, conversation: &Conversation) -> Result<Self> {
        let letter = mail.letter(conversation);
        let wrong = |e: serde_json::Error| failed(e.to_string());
        let exact = Digest::of(&(&mail.0.id, &mail.0.what, &letter)).map_err(wrong)?;
        let seen = letter.seen().map_err(wrong)?;
        Ok(Self { linked: linked.clone(), mail, letter, exact, seen })
    }
}

type Result<T> = std::result::Result<T, CallToolResult>;

impl Mailroom {
    pub(super) fn new(send: SendPolicy, ask: Ask, clock: Arc<dyn Clock>, audit: Option<Arc<Audit>>) -> Self {
        let page = Page::new(clock.clone());
        Self {
            send,
            ask,
            clock,
            audit,
            recent: Recent::default(),
            book: Book::default(),
            errands: Errands::default(),
            page,
        }
    }

    /// Makes a draft, or sends, or asks.
    pub(super) async fn mail(
        self: &Arc<Self>,
        linked: &Arc<Linked>,
        mail: Mail,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        if !mail.wants_to_send() {
            return Ok(self.create(linked, &mail.0, None).await.into());
        }
        if !linked.scopes().contains(&Scope::Send) {
            return Err(failed(
                "Nothing was done: the key lacks the scope `send`. Call again without `send` to make a draft that a person \
                 approves.",
            ));
        }
        if self.send == SendPolicy::Never {
            let why = "the bridge was started with --send=never";
            note(ctx, Consent::Draft);
            return Ok(self.create(linked, &mail.into_draft(), Some(why)).await.into());
        }
        let conversation = read(linked, &mail.0.id).await?;
        if self.send == SendPolicy::Allow && conversation.risk.is_none() {
            let mut slot = self.claim(linked, &mail.0, None).await?;
            note(ctx, Consent::Setting);
            return Ok(self.make(linked, &mail.0, &mut slot, &conversation, None).await.into());
        }
        let case = Case::new(linked, mail, &conversation)?;
        let newer = ctx.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        match Way::of(self.ask, ctx.client_capabilities().as_ref()) {
            None => {
                let why = "this client cannot ask a person for consent to send";
                note(ctx, Consent::Draft);
                Ok(self.create(linked, &case.mail.into_draft(), Some(why)).await.into())
            }
            Some(Way::Form) if newer => self.carried(case, &conversation, request, ctx).await,
            Some(Way::Link) if newer && request.request_state.is_some() => {
                self.collect(&case, request, ctx).await
            }
            Some(way) => self.errand(case, way, newer, ctx).await,
        }
    }

    /// A form in the newer protocol: it travels as a result, and the answer comes with a call of its own.
    async fn carried(
        &self,
        case: Case,
        conversation: &Conversation,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let now = self.clock.now();
        let Some(handle) = &request.request_state else {
            // What was sent a moment ago is not asked about.
            drop(self.claim(&case.linked, &case.mail.0, None).await?);
            let opened = self.open(&case)?;
            return Ok(question(consent::form(&case.letter), opened.travel()).into());
        };
        let took = self.book.close(handle, case.exact, now).map_err(|e| failed(format!("Not sent: {e}.")))?;
        let answer = answered(request).and_then(Answer::read).unwrap_or(Answer::Dismissed);
        let answer = answer.after(took);
        note(ctx, Consent::Asked(Way::Form, answer));
        let mut slot = self.claim(&case.linked, &case.mail.0, None).await?;
        match answer {
            Answer::Yes => {
                Ok(self.make(&case.linked, &case.mail.0, &mut slot, conversation, None).await.into())
            }
            answer => {
                drop(slot);
                Ok(self.not_sent(&case, answer).await.into())
            }
        }
    }

    /// A question that goes on beside the call which asked it.
    async fn errand(
        self: &Arc<Self>,
        case: Case,
        way: Way,
        newer: bool,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let place = match self.errands.enter(case.seen) {
            Entry::Open(waiting) => return self.wait(waiting, ctx).await,
            Entry::New(place) => place,
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
            None => self.wait(waiting, ctx).await,
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

    /// Sends after a yes. The person took a while, and the mail would go to whoever is the contact now.
    async fn send(&self, case: &Case, slot: &mut Slot) -> Result<CallToolResult> {
        let conversation = read(&case.linked, &case.mail.0.id).await?;
        if Case::new(&case.linked, case.mail.clone(), &conversation)?.exact != case.exact {
            return Err(failed(
                "Not sent: the conversation changed while the person was asked. Read it again.",
            ));
        }
        Ok(self.make(&case.linked, &case.mail.0, slot, &conversation, None).await)
    }

    async fn not_sent(&self, case: &Case, answer: Answer) -> CallToolResult {
        match answer {
            Answer::No => {
                self.book.refuse(&case.letter.conversation, case.seen, self.clock.now());
                failed(
                    "Not sent, and no draft was made: the person declined. Ask them what they want instead.",
                )
            }
            Answer::Nobodys => {
                let why = "the question was answered in less than a second, which no person does: the client answers by itself";
                self.create(&case.linked, &case.mail.clone().into_draft(), Some(why)).await
            }
            Answer::Yes | Answer::Dismissed => failed(
                "Not sent, and no draft was made: the person gave no answer. Ask them before you try again, or call without \
                 `send` to make a draft.",
            ),
        }
    }

    /// The answer to a question whose link the client of the newer protocol has shown, or not.
    async fn collect(
        &self,
        case: &Case,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let handle = request.request_state.as_deref().unwrap_or_default();
        let Some(waiting) = self.errands.collect(case.seen, handle) else {
            return Err(failed(format!("Not sent: {}.", consent::Refused::Unknown)));
        };
        let action = answered(request).and_then(consent::action);
        match self.book.age(handle, self.clock.now()) {
            // It is still open, and the person did not follow the link.
            Some(took) if action != Some(ElicitationAction::Accept) => {
                waiting.withdraw();
                _ = waiting.result(&*self.clock).await;
                let answer =
                    action.map_or(Answer::Dismissed, |action| Answer::new(&action, None)).after(took);
                note(ctx, Consent::Asked(Way::Link, answer));
                Ok(self.not_sent(case, answer).await.into())
            }
            _ => self.wait(waiting, ctx).await,
        }
    }

    async fn wait(&self, waiting: Waiting, ctx: &RequestContext<RoleServer>) -> Result<CallToolResponse> {
        match waiting.result(&*self.clock).await {
            Some(ended) => {
                ended.consent.into_iter().for_each(|consent| note(ctx, consent));
                Ok(ended.result.into())
            }
            None => Err(failed(format!(
                "Not sent yet: the person was asked and has not answered. The question stays open for {} minutes in all, and a \
                 yes sends the mail. To learn the answer, make the same call again in a while; do not change the mail.",
                ANSWER_WITHIN.as_secs() / 60
            ))),
        }
    }

    /// A question about this mail, if it may be asked.
    fn open(&self, case: &Case) -> Result<Opened> {
        if self.book.is_refused(&case.letter.conversation, case.seen, self.clock.now()) {
            return Err(failed(
                "Not sent: the person refused this mail a moment ago, or several in this conversation, and is not asked again. Do \
                 not try to send it; ask them what they want instead.",
            ));
        }
        self.book.open(case.exact, case.seen, self.clock.now()).map_err(|_| {
            failed(
                "Not sent, and no draft was made: the person has three other questions to answer. Wait for their answers, or call \
                 without `send` to make a draft.",
            )
        })
    }
}

/// Notes who agreed, for the audit of this call.
fn note(ctx: &RequestContext<RoleServer>, consent: Consent) {
    if let Some(trail) = ctx.extensions.get::<Arc<Trail>>() {
        trail.note(consent);
    }
}

async fn read(linked: &Linked, id: &ConversationId) -> Result<Conversation> {
    linked.client.conversation(id).get().await.map_err(|e| error(&e))
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

/// A question as a result, for the newer protocol.
fn question(asked: ElicitRequestParams, handle: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(asked));
    InputRequiredResult::new(Some(InputRequests::from([(QUESTION.to_owned(), question)])), Some(handle))
}

/// The answer that a call of the newer protocol brings.
fn answered(request: &CallToolRequestParams) -> Option<&serde_json::Value> {
    request.input_responses.as_ref()?.get(QUESTION)
}

/// What became of a mail, for the person who answered: the first line of what the model is told.
fn outcome(result: &CallToolResult) -> String {
    let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
    text.and_then(|text| text.lines().next()).unwrap_or("It is done.").to_owned()
}
