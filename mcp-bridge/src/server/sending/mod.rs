//! Creates notes, drafts and emails, within what the person who started the bridge allows, and with the
//! consent of the person at the client where that is needed.

mod ask;
mod channel;
mod create;
mod make;
mod sentences;

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, CallToolResponse, ProtocolVersion},
    service::RequestContext,
};
use shared_inbox::{Scope, clock::Clock};
use tokio_util::task::TaskTracker;

use super::{
    Connection, Connector,
    inboxes::InboxReader,
    record::{client_name, note},
    results::failed,
};
use crate::{
    consent::{AskMethod, Consent, Page, Permission, Questions},
    outcome::Failure,
    settings::{ConsentChannel, SendPolicy, Settings},
};
use ask::ConsentRequest;

pub(super) use create::Create;

/// Creates notes, drafts and emails.
pub(super) struct Sender {
    send: SendPolicy,
    ask: ConsentChannel,
    clock: Arc<dyn Clock>,
    connector: Arc<Connector>,
    /// The creates in flight, which the program waits for before it exits.
    creates: TaskTracker,
    questions: Questions,
    page: Page,
}

impl Sender {
    pub(super) fn new(settings: &Settings, connector: Arc<Connector>) -> Self {
        let Settings { send, ask, clock, .. } = settings.clone();
        let questions = Questions::new(clock.clone());
        let page = Page::new(questions.clone());
        Self { send, ask, clock, connector, creates: TaskTracker::new(), questions, page }
    }

    /// Makes a draft, or sends, or asks. Only an email that may go out needs the conversation read: for the
    /// question, and once more when the yes comes.
    pub(super) async fn mail(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        inboxes: InboxReader<'_>,
        create: Create,
        call: &CallToolRequestParams,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Failure> {
        let draft = async |create: Create, why| {
            inboxes.admit(&create.id).await?;
            if create.sends() {
                note(Consent::Draft);
            }
            Ok(self.create(connection, &create.into_draft(), why).await?.into())
        };
        if !create.sends() {
            return draft(create, None).await;
        }
        if !connection.scopes().contains(&Scope::Send) {
            return Err(failed(
                "Nothing was done: the key lacks the scope `send`. Call again without `send` to make a draft that a person \
                 approves.",
            ));
        }
        let method = AskMethod::choose(self.ask, ctx.client_capabilities().as_ref());
        let cannot_ask = "this client cannot ask a person for consent to send";
        match (self.send, method) {
            (SendPolicy::Never, _) => {
                return draft(create, Some("the bridge was started with --send=never")).await;
            }
            (SendPolicy::Ask, None) => return draft(create, Some(cannot_ask)).await,
            _ => {}
        }
        let newer = ctx.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        if let (Some(AskMethod::Link), true, Some(handle)) = (method, newer, &call.request_state) {
            // Asked before: what became of it is known without the conversation, which may not be readable
            // now.
            return self.collect(connection, &create, handle, call).await;
        }
        let conversation = inboxes.conversation(&create.id).await?;
        if self.send == SendPolicy::Allow && conversation.risk.is_none() {
            let outcome = match self.claim(connection, &create).await {
                Ok(owner) => {
                    note(Consent::Setting);
                    let conversation = Some(&conversation);
                    self.make(connection, &create, &owner, Permission::NotNeeded, conversation).await
                }
                Err(outcome) => outcome,
            };
            return sentences::result(&create, &outcome, None).map(Into::into);
        }
        let request = ConsentRequest::new(connection, create, conversation, client_name(ctx));
        match method {
            None => draft(request.create, Some(cannot_ask)).await,
            Some(AskMethod::Form) if newer => self.ask_by_result(request, call).await,
            Some(method) => self.ask(request, method, newer, ctx).await,
        }
    }

    /// Lets what is being created end, for so long, and begins nothing new.
    pub(super) async fn finish(&self, grace: Duration) {
        self.creates.close();
        _ = tokio::time::timeout(grace, self.creates.wait()).await;
    }
}
