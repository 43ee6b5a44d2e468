//! What happens beside a call while it runs: progress for a client that asked for it, and the end when it cancels.

use std::time::Duration;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// How often a long call says that it is still running.
const EVERY: Duration = Duration::from_secs(1);

/// Runs a call. `None`: the client cancelled it, and the call was dropped where it stood.
pub(super) async fn watch<T>(ctx: &RequestContext<RoleServer>, call: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(call);
    let token = ctx.meta.get_progress_token();
    let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seconds = 0.0;
    loop {
        tokio::select! {
            biased;
            out = &mut call => return Some(out),
            () = ctx.ct.cancelled() => return None,
            _ = ticks.tick(), if token.is_some() => {
                seconds += EVERY.as_secs_f64();
                if let Some(token) = token.clone() {
                    let message = format!("Still waiting after {seconds} s");
                    let progress = ProgressNotificationParam::new(token, seconds).with_message(message);
                    // Not waited for: a client that does not read must not hold up the call.
                    let peer = ctx.peer.clone();
                    tokio::spawn(async move { peer.notify_progress(progress).await });
                }
            }
        }
    }
}
