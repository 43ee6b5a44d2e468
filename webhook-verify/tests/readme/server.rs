use std::{path::Path, time::Duration};

use axum::{Router, extract::{FromRef, State}, response::IntoResponse, routing::post};
use shared_inbox_webhooks::replay::{Handlers, MemoryGuard};
use shared_inbox_webhooks::{Event, EventKind, Receiver, SecretSource, SecretSourceError, Webhook};

#[derive(Clone, FromRef)]
pub struct App {
    receiver: Receiver,
    pub handlers: Handlers<MemoryGuard>,
}

impl App {
    /// `secrets`: a file with what the app shows once, on the page of the webhook. After a rotation write both, the new one first.
    pub fn new(secrets: &Path) -> Result<Self, SecretSourceError> {
        let receiver = Receiver::builder()
            .source(SecretSource::file(secrets)?.on_error(|error| eprintln!("webhook secrets: {error}")))
            .require_live() // events of the sandbox belong to a test endpoint
            .on_rejected(|rejection| eprintln!("webhook rejected: {rejection}"))
            .build();
        let handlers = Handlers::new(MemoryGuard::new()).max_attempts(5).max_run_time(Duration::from_secs(300));
        Ok(Self { receiver, handlers })
    }

    pub fn router(&self) -> Router {
        Router::new().route("/hook", post(hook)).with_state(self.clone())
    }
}

async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let delivery = event.delivery("/hook");
    app.handlers.once(delivery, async move |_| handle(&event).await).await
}

pub async fn handle(event: &Event) -> Result<(), String> {
    match &event.kind {
        EventKind::ClientReplied(reply) => println!("{} has a reply", reply.conversation_id),
        // It comes again, and after five failures it waits among the dead letters for a version of this app that knows it.
        EventKind::Unknown(unknown) => return Err(format!("there is no handler for {}", unknown.event_type)),
        _ => {}
    }
    Ok(())
}

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init(); // a handler's error is logged here, with the event's id and type
    let app = App::new(Path::new("webhook-secret"))?;
    let stop = async { _ = tokio::signal::ctrl_c().await };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, app.router()).with_graceful_shutdown(stop).await?;
    app.handlers.shutdown(Duration::from_secs(30)).await?; // what has begun ends
    Ok(())
}
