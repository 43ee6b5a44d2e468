//! One question to a person: how it is put, awaited and withdrawn.

use std::{io, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use shared_inbox::clock::Clock;
use tokio::task::JoinHandle;

use crate::consent::{ANSWER_TIMEOUT, Decision, Owner};

/// Why a draft is made instead.
pub(super) const NO_CLIENT: &str = "this client failed to ask a person for consent to send";
const NO_BROWSER: &str = "no browser could be opened to ask a person for consent to send";

pub(super) enum OpenQuestion {
    /// As a form in the client.
    Form(RequestHandle<RoleServer>),
    /// On the page, whose address the client was given with the result of the call.
    PageGiven,
    /// On the page, whose address the client was asked to show.
    PageByClient(RequestHandle<RoleServer>),
    /// On the page, for which a browser is being opened; the error is why it was not.
    PageInBrowser(JoinHandle<io::Result<()>>),
}

pub(super) enum QuestionOutcome {
    Answer(Decision),
    /// It did not reach a person, for this reason.
    Failed(&'static str),
    /// Nobody waits for the answer any more.
    Withdrawn,
}

/// Asks the client to show a question.
pub(super) async fn put(
    peer: &Peer<RoleServer>,
    question: ElicitRequestParams,
) -> Result<RequestHandle<RoleServer>, ServiceError> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(question));
    peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await
}

impl OpenQuestion {
    /// Waits for the answer.
    pub(super) async fn wait(self, owner: &Owner, clock: &dyn Clock) -> QuestionOutcome {
        let asked = clock.now();
        let took = || clock.now().saturating_duration_since(asked);
        if let Self::Form(handle) = self {
            return match reply(handle, owner, clock).await {
                Ok((action, content)) => {
                    QuestionOutcome::Answer(Decision::new(&action, content.as_ref()).after(took()))
                }
                Err(outcome) => outcome,
            };
        }
        let on_page = async {
            match self {
                Self::Form(_) | Self::PageGiven => {}
                Self::PageByClient(handle) => match reply(handle, owner, clock).await {
                    // The person agreed to open the page, and has not answered yet.
                    Ok((ElicitationAction::Accept, _)) => {}
                    Ok((action, _)) => {
                        return QuestionOutcome::Answer(Decision::new(&action, None).after(took()));
                    }
                    Err(outcome) => return outcome,
                },
                // A running browser may have opened the page even if its opener failed.
                Self::PageInBrowser(opener) => match opener.await {
                    Ok(Ok(())) => {}
                    _ if owner.is_entered() => {}
                    failed => {
                        let kind = failed.ok().and_then(Result::err).map(|error| error.kind());
                        let why =
                            kind.map_or_else(|| "it is not known why".to_owned(), |kind| kind.to_string());
                        tracing::warn!("no browser could be opened: {why}");
                        return QuestionOutcome::Failed(NO_BROWSER);
                    }
                },
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            answer = owner.answered() => QuestionOutcome::Answer(answer),
            outcome = on_page => outcome,
            () = owner.withdrawn() => QuestionOutcome::Withdrawn,
            () = clock.sleep(ANSWER_TIMEOUT) => QuestionOutcome::Answer(Decision::Dismissed),
        }
    }
}

type ElicitationReply = (ElicitationAction, Option<serde_json::Value>);

/// Waits for the client's reply to a question, and withdraws a question that is no longer wanted.
async fn reply(
    handle: RequestHandle<RoleServer>,
    owner: &Owner,
    clock: &dyn Clock,
) -> Result<ElicitationReply, QuestionOutcome> {
    let (peer, id) = (handle.peer.clone(), handle.id.clone());
    let (outcome, reason) = tokio::select! {
        biased;
        response = handle.await_response() => return match response {
            Ok(ClientResult::ElicitResult(result)) => Ok((result.action, result.content)),
            Ok(_) => Err(QuestionOutcome::Failed(NO_CLIENT)),
            Err(ServiceError::McpError(error)) => {
                tracing::warn!(code = error.code.0, "the client could not ask for consent");
                Err(QuestionOutcome::Failed(NO_CLIENT))
            }
            // The client is gone, and does not want a draft.
            Err(_) => Err(QuestionOutcome::Withdrawn),
        },
        () = owner.withdrawn() => (QuestionOutcome::Withdrawn, "The call was cancelled."),
        () = clock.sleep(ANSWER_TIMEOUT) => (QuestionOutcome::Answer(Decision::Dismissed), "The question is too old."),
    };
    let taken_back = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(reason.into())));
    _ = tokio::time::timeout(Duration::from_secs(1), taken_back).await;
    Err(outcome)
}
