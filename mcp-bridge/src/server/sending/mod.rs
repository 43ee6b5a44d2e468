//! Creates notes, drafts and emails, within what the person who started the bridge allows, and with the consent of the
//! person at the client where that is needed.

mod channel;
mod creates;
mod input_required;
mod pending;
mod recent;
mod request;
mod shared_questions;

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ProtocolVersion},
    service::RequestContext,
};
use shared_inbox::{Scope, clock::Clock};
use tokio_util::task::TaskTracker;

use super::{
    Connection, Connector, ReadPriority,
    inboxes::Inboxes,
    record::{self, client_name, note},
    results::{denied, failed},
};
use crate::{
    audit::Consent,
    consent::{AskMethod, ConsentLedger, Decision, OpenConsent, Page},
    settings::{ConsentChannel, SendPolicy},
};
use recent::RecentCreates;
use request::ConsentRequest;
use shared_questions::SharedQuestions;

pub(super) use creates::Create;
pub(super) use request::CustomerEmail;

/// Creates notes, drafts and emails: knows what was created lately, which questions are open, and what was refused.
pub(super) struct Sender {
    send: SendPolicy,
    ask: ConsentChannel,
    clock: Arc<dyn Clock>,
    connector: Arc<Connector>,
    /// The creates in flight, which the program waits for before it exits.
    creates: TaskTracker,
    recent: RecentCreates,
    ledger: ConsentLedger,
    questions: SharedQuestions,
    page: Page,
}

type Result<T> = std::result::Result<T, CallToolResult>;

impl Sender {
    pub(super) fn new(
        send: SendPolicy,
        ask: ConsentChannel,
        clock: Arc<dyn Clock>,
        connector: Arc<Connector>,
    ) -> Self {
        let page = Page::new(clock.clone());
        Self {
            send,
            ask,
            clock,
            connector,
            creates: TaskTracker::new(),
            recent: RecentCreates::default(),
            ledger: ConsentLedger::default(),
            questions: SharedQuestions::default(),
            page,
        }
    }

    /// Makes a draft, or sends, or asks. Only an email that may go out needs the conversation read: for the question, and once
    /// more when the yes comes.
    pub(super) async fn mail(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        inboxes: &Inboxes,
        mail: CustomerEmail,
        request: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse> {
        let draft = async |mail: CustomerEmail, why| {
            inboxes.admit(&connection.client, &mail.0.id).await.map_err(denied)?;
            if mail.wants_to_send() {
                note(Consent::Draft);
            }
            Ok(self.create(connection, &mail.into_draft(), why).await.into())
        };
        if !mail.wants_to_send() {
            return draft(mail, None).await;
        }
        if !connection.scopes().contains(&Scope::Send) {
            return Err(failed(
                "Nothing was done: the key lacks the scope `send`. Call again without `send` to make a draft that a person \
                 approves.",
            ));
        }
        let way = AskMethod::choose(self.ask, ctx.client_capabilities().as_ref());
        let cannot_ask = "this client cannot ask a person for consent to send";
        match (self.send, way) {
            (SendPolicy::Never, _) => {
                return draft(mail, Some("the bridge was started with --send=never")).await;
            }
            (SendPolicy::Ask, None) => return draft(mail, Some(cannot_ask)).await,
            _ => {}
        }
        let read = inboxes.conversation(&connection.client, &mail.0.id, ReadPriority::Requested).await;
        let conversation = read.map_err(denied)?;
        if self.send == SendPolicy::Allow && conversation.risk.is_none() {
            let mut slot = self.claim(connection, &mail.0, None).await?;
            note(Consent::Setting);
            return Ok(self.make(connection, &mail.0, &mut slot, Some(&conversation), None).await.into());
        }
        let mut case = ConsentRequest::new(connection, mail, conversation)?;
        case.preview.client = client_name(ctx);
        let newer = ctx.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        match way {
            None => draft(case.mail, Some(cannot_ask)).await,
            Some(AskMethod::Form) if newer => self.ask_by_result(case, request).await,
            Some(AskMethod::Link) if newer && request.request_state.is_some() => {
                self.collect(&case, request).await
            }
            Some(way) => self.ask(case, way, newer, ctx).await,
        }
    }

    async fn not_sent(&self, case: &ConsentRequest, answer: Decision) -> CallToolResult {
        match answer {
            Decision::No => {
                self.ledger.refuse(&case.preview.conversation, case.seen, self.clock.now());
                failed(
                    "Not sent, and no draft was made: the person declined. Ask them what they want instead.",
                )
            }
            Decision::TooQuick => {
                let why = "the question was answered in less than a second, which no person does: the client answers by itself";
                self.create(&case.connection, &case.mail.clone().into_draft(), Some(why)).await
            }
            Decision::Yes | Decision::Dismissed => failed(
                "Not sent, and no draft was made: the person gave no answer. Ask them before you try again, or call without \
                 `send` to make a draft.",
            ),
        }
    }

    /// Returns a connection with another key, if the service has refused the key of this one just now and there is another.
    async fn renewed(&self, connection: &Connection) -> Option<Arc<Connection>> {
        if !record::current()?.take_refused_key() {
            return None;
        }
        self.connector.renew(connection).await
    }

    /// Lets what is being created end, for so long, and begins nothing new.
    pub(super) async fn finish(&self, grace: Duration) {
        self.creates.close();
        _ = tokio::time::timeout(grace, self.creates.wait()).await;
    }

    /// Opens a question about this email, if it may be asked.
    fn open(&self, case: &ConsentRequest, way: AskMethod) -> Result<OpenConsent> {
        if self.ledger.is_refused(&case.preview.conversation, case.seen, self.clock.now()) {
            return Err(failed(
                "Not sent: the person refused this email a moment ago, or several in this conversation, and is not asked again. Do \
                 not try to send it; ask them what they want instead.",
            ));
        }
        let opened = self.ledger.open(case.exact, case.seen, self.clock.now()).map_err(|_| {
            failed(
                "Not sent, and no draft was made: the person has three other questions to answer. Wait for their answers, or call \
                 without `send` to make a draft.",
            )
        })?;
        if way == AskMethod::Browser && !self.ledger.open_window(self.clock.now()) {
            return Err(failed(
                "Not sent, and no draft was made: the person's browser was opened three times within two minutes and nobody \
                 answered there. Ask them before you try again, or call without `send` to make a draft.",
            ));
        }
        Ok(opened)
    }
}
