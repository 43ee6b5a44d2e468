//! A webhook receiver on axum: only genuine requests reach the handler, and each event is handled once, however often it
//! is delivered.
//!
//!     cargo run --example webhook_receiver
//!
//! starts a mock that sends it an event, twice. To receive from a real service, set the secret (and, for 24 hours after a
//! rotation, the old one after a space) and put an HTTPS server in front:
//!
//!     SHARED_INBOX_WEBHOOK_SECRET=whsec_… cargo run --example webhook_receiver

use std::{env, sync::Arc, time::Duration};

use axum::{Router, extract::FromRef, extract::State, http::StatusCode, routing::post};
use shared_inbox_examples::Result;
use shared_inbox_mock::{CreateWebhook, DeliveryFilter, InboundMail, MockServer};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verifier, Webhook,
    replay::{Delivery, MemoryGuard, once},
};
use tokio::net::TcpListener;

#[derive(Clone)]
struct App {
    receiver: Receiver,
    /// One machine; a store that several share would be Redis or a database.
    guard: Arc<MemoryGuard>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Receiver {
        app.receiver.clone()
    }
}

impl App {
    fn new(secrets: Vec<Secret>) -> Self {
        let receiver = Receiver::new(Verifier::new(secrets)).on_refused(|refused| {
            // For the log alone: the sender gets a bare status.
            eprintln!("refused: {}", refused.rejection());
        });
        Self { receiver, guard: Arc::default() }
    }

    fn router(self) -> Router {
        Router::new().route("/webhooks", post(receive)).with_state(self)
    }
}

/// Runs for verified requests only; everything else was answered before.
async fn receive(State(app): State<App>, Webhook(event): Webhook<Event>) -> StatusCode {
    let delivery = Delivery { endpoint: "inbox", event: event.proof().id() };
    match once(&*app.guard, delivery, handle(&event)).await {
        Ok(outcome) => StatusCode::from_u16(outcome.status()).unwrap_or(StatusCode::OK),
        // The service tries again, for about a day.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What the app does with an event. When it fails, the event comes again.
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
    if let Ok(secrets) = env::var("SHARED_INBOX_WEBHOOK_SECRET") {
        let secrets = secrets.split_whitespace().map(Secret::parse).collect::<Result<Vec<_>, _>>()?;
        let listener = TcpListener::bind("127.0.0.1:8080").await?;
        println!("waiting for webhooks on http://{}/webhooks", listener.local_addr()?);
        axum::serve(listener, App::new(secrets).router()).await?;
        return Ok(());
    }

    // Without a secret: a mock whose events come here.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/webhooks", listener.local_addr()?);
    let mock = MockServer::builder().manual_clock().start().await;
    let control = mock.control();
    let webhook = control.create_webhook(CreateWebhook::new(url).events(["client.replied"])).await?;
    let secret = Secret::parse(&webhook.secret)?;
    tokio::spawn(async { axum::serve(listener, App::new(vec![secret]).router()).await });

    let inboxes = mock.client().mailboxes().await?;
    let address = &inboxes.first().ok_or("the demo has an inbox")?.address;
    let first = control.inbound(InboundMail::new(address, "kim@example.com", "Where is my order?")).await?;
    let again = InboundMail::new(address, "kim@example.com", "Hello?").on(&first.conversation_id);
    control.inbound(again).await?;
    control.advance(Duration::ZERO).await?; // returns when what was sent has been answered

    // Someone presses "redeliver": the same event again, signed anew. The handler does not run a second time.
    let id = webhook.id.as_str();
    let log = control.deliveries(id, DeliveryFilter::default()).await?;
    control.redeliver(id, log[0].event_id.as_str()).await?;
    control.advance(Duration::ZERO).await?;
    let log = control.deliveries(id, DeliveryFilter::default()).await?;
    println!("{} tries of one event, each answered with {:?}", log[0].tries.len(), log[0].tries[1].status);
    Ok(())
}
