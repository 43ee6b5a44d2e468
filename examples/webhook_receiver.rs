//! A webhook receiver on axum: only genuine requests reach the handler, and each event is handled once,
//! however often it is delivered.
//!
//!     cargo run --example webhook_receiver
//!
//! starts a mock that sends it an event, twice. To receive from a real service, set the secret (and, for 24
//! hours after a rotation, the old one after a space) and put an HTTPS server in front:
//!
//!     SHARED_INBOX_WEBHOOK_SECRET=whsec_… cargo run --example webhook_receiver

use std::{env, time::Duration};

use axum::{
    Router,
    extract::{FromRef, State},
    response::IntoResponse,
    routing::post,
};
use shared_inbox_examples::{Result, Sender};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, ReceiverBuilder, Secret, Webhook,
    replay::{Handlers, MemoryGuard},
};
use tokio::net::TcpListener;

#[derive(Clone)]
struct App {
    receiver: Receiver,
    handlers: Handlers<MemoryGuard>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

impl App {
    fn new(receiver: ReceiverBuilder) -> Self {
        // For the log alone: the sender gets a bare status.
        let receiver = receiver.on_rejected(|rejection| eprintln!("rejected: {rejection}")).build();
        // One machine, until it is restarted; a guard that several share is one on a store of theirs.
        Self { receiver, handlers: Handlers::new(MemoryGuard::new()) }
    }

    fn router(&self) -> Router {
        Router::new().route("/webhooks", post(receive)).with_state(self.clone())
    }
}

/// Runs for verified requests only; everything else was answered before. The handler runs in a task of its
/// own and ends, also when the service hangs up after its 10 seconds.
async fn receive(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let delivery = event.delivery("inbox");
    app.handlers.once(delivery, async move |_| handle(&event).await).await
}

/// What the app does with an event. When it fails, the response is a 500 and the service tries again, for
/// about a day.
async fn handle(event: &Event) -> Result<()> {
    match &event.kind {
        EventKind::ClientReplied(reply) => println!("{}: reply in {}", event.id, reply.conversation_id),
        EventKind::MessageSent(sent) => println!("{}: {} went out", event.id, sent.message_id),
        // New kinds of events may come at any time.
        other => println!("{}: nothing to do for {}", event.id, other.event_type()),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    // A handler's error is told here, with the event's id and type.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    if env::var_os("SHARED_INBOX_WEBHOOK_SECRET").is_some() {
        let app = App::new(Receiver::builder().secrets_from_env()?);
        let listener = TcpListener::bind("127.0.0.1:8080").await?;
        println!("waiting for webhooks on http://{}/webhooks", listener.local_addr()?);
        let stop = async { _ = tokio::signal::ctrl_c().await };
        axum::serve(listener, app.router()).with_graceful_shutdown(stop).await?;
        app.handlers.shutdown(Duration::from_secs(30)).await?; // what has begun ends
        return Ok(());
    }

    // Without a secret: a mock whose events come here, the same one twice. The handler runs once.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let sender = Sender::to(format!("http://{}/webhooks", listener.local_addr()?)).await?;
    let app = App::new(Receiver::builder().secrets([Secret::parse(sender.secret())?])).router();
    tokio::spawn(async { axum::serve(listener, app).await });
    sender.send_twice().await
}
