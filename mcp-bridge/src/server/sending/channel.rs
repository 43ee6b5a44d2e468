//! One question to a person, on its way: how it is put, how its answer is heard, and how it is taken back.

use std::{io, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use shared_inbox::Clock;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::consent::{ANSWER_WITHIN, Answer, Ticket};

/// Why a draft is made instead.
pub(super) const NO_CLIENT: &str = "this client failed to ask a person for consent to send";
const NO_BROWSER: &str = "no browser could be opened to ask a person for consent to send";

/// A question that was put.
pub(super) enum Asking {
    /// As a form in the client.
    Form(RequestHandle<RoleServer>),
    /// On the page.
    Page { ticket: Ticket, shown: Shown },
}

/// How a person comes to the page.
pub(super) enum Shown {
    /// The client was given its address, with the result of the call.
    Given,
    /// The client was asked to show its address.
    ByClient(RequestHandle<RoleServer>),
    /// A browser is being opened; the error is why it was not.
    InBrowser(JoinHandle<io::Result<()>>),
}

/// What came of a question.
pub(super) enum Heard {
    Answer(Answer),
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
                let opened = ticket.opened();
                let on_page = async {
                    match shown {
                        Shown::Given => {}
                        Shown::ByClient(handle) => match said(handle, clock, withdrawn).await {
                            // The person agreed to open the page, and has said nothing about the mail yet.
                            Ok((ElicitationAction::Accept, _)) => {}
                            Ok((action, _)) => {
                                return Heard::Answer(Answer::new(&action, None).after(took()));
                            }
                            Err(heard) => return heard,
                        },
                        // A browser that is there already may have opened the page, whatever its opener says later.
                        Shown::InBrowser(opener) => match opener.await {
                            Ok(Ok(())) => {}
                            _ if opened() => {}
                            failed => {
                                let kind = failed.ok().and_then(Result::err).map(|error| error.kind());
                                tracing::warn!(?kind, "no browser could be opened");
                                return Heard::Failed(NO_BROWSER);
                            }
                        },
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
            Ok(_) => Err(Heard::Failed(NO_CLIENT)),
            Err(ServiceError::McpError(error)) => {
                tracing::warn!(code = error.code.0, "the client could not ask for consent");
                Err(Heard::Failed(NO_CLIENT))
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
