//! One question to a person, on its way: how it is put, how its answer is heard, and how it is taken back.

use std::time::Duration;

use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use shared_inbox::Clock;
use tokio_util::sync::CancellationToken;

use crate::consent::{ANSWER_WITHIN, Answer, Ticket};

/// A question that was put.
pub(super) enum Asking {
    /// As a form in the client.
    Form(RequestHandle<RoleServer>),
    /// On the page. The client may have been asked to show its address.
    Page { ticket: Ticket, shown: Option<RequestHandle<RoleServer>> },
}

/// What came of a question.
pub(super) enum Heard {
    Answer(Answer),
    /// The client said that it can ask, and could not.
    Failed,
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

impl Asking {
    /// Waits for the answer. The page, if there is one, is given back, to tell what comes of it.
    pub(super) async fn hear(
        self,
        clock: &dyn Clock,
        withdrawn: &CancellationToken,
    ) -> (Heard, Option<Ticket>) {
        let asked = clock.now();
        let took = || clock.now().saturating_duration_since(asked);
        match self {
            Self::Form(handle) => {
                let heard = match said(handle, clock, withdrawn).await {
                    Ok((action, content)) => {
                        Heard::Answer(Answer::new(&action, content.as_ref()).after(took()))
                    }
                    Err(heard) => heard,
                };
                (heard, None)
            }
            Self::Page { mut ticket, shown } => {
                let on_page = async {
                    if let Some(handle) = shown {
                        match said(handle, clock, withdrawn).await {
                            // The person agreed to open the page, and has said nothing about the mail yet.
                            Ok((ElicitationAction::Accept, _)) => {}
                            Ok((action, _)) => {
                                return Heard::Answer(Answer::new(&action, None).after(took()));
                            }
                            Err(heard) => return heard,
                        }
                    }
                    std::future::pending().await
                };
                let heard = tokio::select! {
                    biased;
                    answer = ticket.answer() => Heard::Answer(answer),
                    heard = on_page => heard,
                    () = withdrawn.cancelled() => Heard::Withdrawn,
                    () = clock.sleep(ANSWER_WITHIN) => Heard::Answer(Answer::Dismissed),
                };
                (heard, Some(ticket))
            }
        }
    }
}

type Said = (ElicitationAction, Option<serde_json::Value>);

/// What the client says to a question; a question that is not wanted any more is taken back.
async fn said(
    handle: RequestHandle<RoleServer>,
    clock: &dyn Clock,
    withdrawn: &CancellationToken,
) -> Result<Said, Heard> {
    let (peer, id) = (handle.peer.clone(), handle.id.clone());
    let (heard, reason) = tokio::select! {
        biased;
        said = handle.await_response() => return match said {
            Ok(ClientResult::ElicitResult(result)) => Ok((result.action, result.content)),
            Ok(_) => Err(Heard::Failed),
            Err(ServiceError::McpError(error)) => {
                tracing::warn!(code = error.code.0, "the client could not ask for consent");
                Err(Heard::Failed)
            }
            // The client is gone: nobody is there to want a draft.
            Err(_) => Err(Heard::Withdrawn),
        },
        () = withdrawn.cancelled() => (Heard::Withdrawn, "The call was cancelled."),
        () = clock.sleep(ANSWER_WITHIN) => (Heard::Answer(Answer::Dismissed), "The question is too old."),
    };
    let taken_back = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(reason.into())));
    _ = tokio::time::timeout(Duration::from_secs(1), taken_back).await;
    Err(heard)
}
