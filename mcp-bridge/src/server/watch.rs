//! Watches a call while it runs: sends progress to a client that asked for it, and ends the call when the
//! client cancels or would give up.

use std::time::Duration;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use shared_inbox::clock::Clock;

use super::{record::CallRecord, results::failed};
use crate::{audit::AuditOutcome, consent::AskMethod, outcome::Failure};

/// How often a long call reports progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that a call may take: clients give up after 60 seconds.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(55);
/// How long a create continues after the client cancelled it: it may have taken effect, and most end sooner.
const CANCELLED_CREATE_TIMEOUT: Duration = Duration::from_secs(8);

/// Why a call ended without a result of its own. It was dropped where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallEnded {
    #[error("The call was cancelled.")]
    Cancelled,
    #[error(
        "The service did not respond within {} seconds, and the call was given up. Try again in a minute. If it was to change \
         something, whether it did is not known: the same call again looks for that first, and repeats nothing.",
        CLIENT_TIMEOUT.as_secs()
    )]
    TooLong,
}

impl CallEnded {
    pub(super) fn outcome(self) -> AuditOutcome {
        match self {
            Self::Cancelled => AuditOutcome::Cancelled,
            Self::TooLong => AuditOutcome::TooLong,
        }
    }
}

impl From<CallEnded> for Failure {
    fn from(ended: CallEnded) -> Self {
        failed(ended.to_string())
    }
}

/// Runs a call. When the client cancels, a create continues for a while, so that its outcome is known.
pub(super) async fn watch<T>(
    ctx: &RequestContext<RoleServer>,
    clock: &dyn Clock,
    record: &CallRecord,
    call: impl Future<Output = T>,
) -> Result<T, CallEnded> {
    tokio::pin!(call);
    let mut cancelled = false;
    let token = ctx.meta.get_progress_token();
    let mut progress_due = clock.sleep(PROGRESS_INTERVAL);
    let mut seconds = 0.0;
    let mut too_long = clock.sleep(CLIENT_TIMEOUT.saturating_sub(record.age()));
    loop {
        tokio::select! {
            biased;
            out = &mut call => return if cancelled { Err(CallEnded::Cancelled) } else { Ok(out) },
            () = ctx.ct.cancelled(), if !cancelled => {
                if !record.is_creating() {
                    return Err(CallEnded::Cancelled);
                }
                cancelled = true;
                too_long = clock.sleep(CANCELLED_CREATE_TIMEOUT);
            }
            () = &mut too_long => return Err(if cancelled { CallEnded::Cancelled } else { CallEnded::TooLong }),
            () = &mut progress_due, if token.is_some() => {
                progress_due = clock.sleep(PROGRESS_INTERVAL);
                seconds += PROGRESS_INTERVAL.as_secs_f64();
                if let Some(token) = token.clone() {
                    let message = match record.asking() {
                        Some(AskMethod::Browser) => "A person is asked whether the email may go out: look at your browser".into(),
                        Some(AskMethod::Link) => "A person is asked whether the email may go out: open the link".into(),
                        Some(AskMethod::Form) => "A person is asked whether the email may go out: look at the form".into(),
                        None => format!("Still waiting after {seconds} s"),
                    };
                    let progress = ProgressNotificationParam::new(token, seconds).with_message(message);
                    // Not waited for: a client that does not read must not hold up the call.
                    let peer = ctx.peer.clone();
                    tokio::spawn(async move { peer.notify_progress(progress).await });
                }
            }
        }
    }
}
