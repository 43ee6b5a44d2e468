//! A webhook receiver as a Worker: WebAssembly, by the host's clock.
//!
//!     cargo build --target wasm32-unknown-unknown --manifest-path examples/worker/Cargo.toml
//!
//! (`wrangler` does that and deploys it.) The secret from the webhook's page is the Worker's secret
//! `SHARED_INBOX_WEBHOOK_SECRET`.
//!
//! An isolate may end at any time and forgets what it has seen; where a repeat must not be handled twice,
//! write the effect into a store under the event's id.
#![forbid(unsafe_code)]

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use shared_inbox_webhooks::replay::{MemoryGuard, once};
use shared_inbox_webhooks::{Event, EventKind, Receiver, Secret, Verified, Verifier};
use worker::{Context, Date, Env, HttpRequest, Result, console_log, event};

static SEEN: LazyLock<MemoryGuard> = LazyLock::new(|| MemoryGuard::new().clock(now));

/// The host's clock: WebAssembly has none of its own.
fn now() -> Duration {
    Duration::from_millis(Date::now().as_millis())
}

#[event(fetch)]
async fn fetch(request: HttpRequest, env: Env, _: Context) -> Result<http::Response<String>> {
    let secret = env.secret("SHARED_INBOX_WEBHOOK_SECRET")?.to_string();
    let secret = Secret::parse(&secret).map_err(|error| worker::Error::from(error.to_string()))?;
    let receiver = Receiver::new(Verifier::new([secret]).clock(|| UNIX_EPOCH + now()));
    let status = match receiver.receive(request).await {
        Err(rejection) => rejection.status(),
        Ok(event) => {
            let event: Verified<Event> = event;
            match once(&*SEEN, &event.delivery("inbox"), |_| handle(&event)).await {
                Ok(outcome) => outcome.status(),
                Err(error) => error.status(),
            }
        }
    };
    let response = http::Response::builder().status(status).body(String::new());
    response.map_err(|error| worker::Error::from(error.to_string()))
}

/// When it fails, the event comes again.
async fn handle(event: &Event) -> Result<()> {
    match &event.kind {
        EventKind::ClientReplied(reply) => console_log!("{}: reply in {}", event.id, reply.conversation_id),
        other => console_log!("{}: nothing to do for {}", event.id, other.event_type()),
    }
    Ok(())
}
