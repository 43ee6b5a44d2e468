//! The webhook receiver on plain hyper, without a framework; `webhook_receiver` is the one on axum.
//!
//!     cargo run --example webhook_hyper
//!
//! starts a mock that sends it an event, twice. With the secret from the webhook's page in the environment it
//! waits for a real service:
//!
//!     SHARED_INBOX_WEBHOOK_SECRET=whsec_… cargo run --example webhook_hyper

use std::{convert::Infallible, env};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::{Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use shared_inbox_examples::{Result, Sender};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verified, Verifier,
    replay::{Handlers, MemoryGuard},
};
use tokio::net::TcpListener;

#[derive(Clone)]
struct App {
    receiver: Receiver,
    handlers: Handlers<MemoryGuard>,
}

impl App {
    async fn respond(self, request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
        let status = match self.receiver.receive(request).await {
            Err(rejection) => rejection.status(),
            Ok(event) => self.once(event).await,
        };
        let mut response = Response::new(Empty::new());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Ok(response)
    }

    /// The handler runs in a task of its own and ends, also when the service hangs up.
    async fn once(&self, event: Verified<Event>) -> u16 {
        let delivery = event.delivery("inbox");
        match self.handlers.once(delivery, async move |_| handle(&event).await).await {
            Ok(outcome) => outcome.status(),
            Err(error) => error.status(),
        }
    }
}

/// What the app does with an event. When it fails, the response is a 500 and the service tries again, for
/// about a day.
async fn handle(event: &Event) -> Result<()> {
    match &event.kind {
        EventKind::ClientReplied(reply) => println!("{}: reply in {}", event.id, reply.conversation_id),
        other => println!("{}: nothing to do for {}", event.id, other.event_type()),
    }
    Ok(())
}

async fn serve(listener: TcpListener, receiver: Receiver) -> Result<()> {
    let app = App { receiver, handlers: Handlers::new(MemoryGuard::new()) };
    loop {
        let (stream, _) = listener.accept().await?;
        let app = app.clone();
        let service = service_fn(move |request| app.clone().respond(request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    if env::var_os("SHARED_INBOX_WEBHOOK_SECRET").is_some() {
        let listener = TcpListener::bind("127.0.0.1:8080").await?;
        println!("waiting for webhooks on http://{}", listener.local_addr()?);
        return serve(listener, Receiver::from_env()?).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let sender = Sender::to(format!("http://{}/", listener.local_addr()?)).await?;
    let receiver = Receiver::new(Verifier::new([Secret::parse(sender.secret())?]));
    tokio::spawn(serve(listener, receiver));
    sender.send_twice().await
}
