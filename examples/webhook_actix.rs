//! The webhook receiver on actix-web; `webhook_receiver` is the one on axum.
//!
//!     cargo run --example webhook_actix --features actix
//!
//! starts a mock that sends it an event, twice. With the secret from the webhook's page in the environment it
//! waits for a real service:
//!
//!     SHARED_INBOX_WEBHOOK_SECRET=whsec_… cargo run --example webhook_actix --features actix

use std::{env, time::Duration};

use actix_web::{App, HttpServer, Responder, rt, web};
use shared_inbox_examples::{Result, Sender};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verifier, Webhook,
    replay::{Handlers, MemoryGuard},
};

/// Runs for verified requests only. The handler runs in a task of its own and ends, also when the service
/// hangs up.
async fn receive(
    handlers: web::Data<Handlers<MemoryGuard>>,
    Webhook(event): Webhook<Event>,
) -> impl Responder {
    let delivery = event.delivery("inbox");
    handlers.once(delivery, async move |_| handle(&event).await).await
}

/// What the app does with an event. When it fails, the answer is a 500 and the service tries again, for about
/// a day.
async fn handle(event: &Event) -> Result<()> {
    match &event.kind {
        EventKind::ClientReplied(reply) => println!("{}: reply in {}", event.id, reply.conversation_id),
        other => println!("{}: nothing to do for {}", event.id, other.event_type()),
    }
    Ok(())
}

#[actix_web::main]
async fn main() -> Result<()> {
    let is_set = env::var_os("SHARED_INBOX_WEBHOOK_SECRET").is_some();
    let address = if is_set { "127.0.0.1:8080" } else { "127.0.0.1:0" };
    let listener = std::net::TcpListener::bind(address)?;
    let url = format!("http://{}/webhooks", listener.local_addr()?);
    let sender = if is_set { None } else { Some(Sender::to(url.clone()).await?) };
    let receiver = match &sender {
        None => Receiver::from_env()?,
        Some(sender) => Receiver::new(Verifier::new([Secret::parse(sender.secret())?])),
    };
    // Made here, not in a worker: what has begun outlives the workers.
    let handlers = web::Data::new(Handlers::new(MemoryGuard::new()));
    let for_workers = handlers.clone();
    let app = move || {
        App::new()
            .app_data(receiver.clone())
            .app_data(for_workers.clone())
            .route("/webhooks", web::post().to(receive))
    };
    let server = HttpServer::new(app).workers(1).listen(listener)?.run();
    match sender {
        // Ends with Ctrl-C.
        None => {
            println!("waiting for webhooks on {url}");
            server.await?;
        }
        Some(sender) => {
            let stop = server.handle();
            rt::spawn(server);
            sender.send_twice().await?;
            stop.stop(true).await;
        }
    }
    handlers.shutdown(Duration::from_secs(30)).await?;
    Ok(())
}
