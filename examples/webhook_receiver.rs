//! A webhook receiver on axum: only genuine requests reach the handler, and each event is handled once, however often it
//! is delivered.
//!
//!     cargo run --example webhook_receiver
//!
//! starts a mock that sends it an event, twice. To receive from a real service, set the secret (and, for 24 hours after a
//! rotation, the old one after a space) and put an HTTPS server in front:
//!
//!     SHARED_INBOX_WEBHOOK_SECRET=whsec_… cargo run --example webhook_receiver

use std::{env, sync::LazyLock, time::Duration};

use axum::{Router, response::IntoResponse, routing::post};
use shared_inbox_examples::Result;
use shared_inbox_mock::{CreateWebhook, DeliveryFilter, InboundMail, MockServer};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verifier, Webhook,
    replay::{Delivery, MemoryGuard, once},
};
use tokio::net::TcpListener;

/// One machine; a store that several share would be Redis or a database.
static SEEN: LazyLock<MemoryGuard> = LazyLock::new(MemoryGuard::new);

fn router(secrets: Vec<Secret>) -> Router {
    let receiver = Receiver::new(Verifier::new(secrets)).on_refused(|refused| {
        // For the log alone: the sender gets a bare status.
        eprintln!("refused: {}", refused.rejection());
    });
    Router::new().route("/webhooks", post(receive)).with_state(receiver)
}

/// Runs for verified requests only; everything else was answered before.
async fn receive(Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let delivery = Delivery { endpoint: "inbox", event: event.proof().id() };
    once(&*SEEN, delivery, handle(&event)).await
}

/// What the app does with an event. When it fails, the answer is a 500 and the service tries again, for about a day.
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
        axum::serve(listener, router(secrets)).await?;
        return Ok(());
    }

    // Without a secret: a mock whose events come here.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/webhooks", listener.local_addr()?);
    let mock = MockServer::builder().manual_clock().start().await;
    let control = mock.control();
    let webhook = control.create_webhook(CreateWebhook::new(url).events(["client.replied"])).await?;
    let secret = Secret::parse(&webhook.secret)?;
    tokio::spawn(async { axum::serve(listener, router(vec![secret])).await });

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
    for (number, attempt) in log[0].tries.iter().enumerate() {
        println!("try {}: answered with {}", number + 1, attempt.status.unwrap_or_default());
    }
    Ok(())
}
