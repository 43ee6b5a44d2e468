//! The app's end of the webhooks: an axum server that hands on what it could verify.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, extract::FromRef, extract::State, http::StatusCode, routing::post};
use shared_inbox_webhooks::{Event, Receiver, Secret, Verified, Verifier, Webhook};
use tokio::{net::TcpListener, sync::mpsc};

use crate::show::Error;

/// What has arrived, and a switch to break the receiver.
pub(crate) struct Hooks {
    verifier: Verifier,
    events: mpsc::UnboundedReceiver<Verified<Event>>,
    broken: Arc<AtomicBool>,
}

#[derive(Clone)]
struct App {
    receiver: Receiver,
    events: mpsc::UnboundedSender<Verified<Event>>,
    broken: Arc<AtomicBool>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Receiver {
        app.receiver.clone()
    }
}

/// Serves `/webhooks` for requests that are signed with this secret.
pub(crate) fn serve(listener: TcpListener, secret: Secret) -> Hooks {
    let (sender, events) = mpsc::unbounded_channel();
    let broken = Arc::new(AtomicBool::new(false));
    let verifier = Verifier::new([secret]);
    let receiver = Receiver::new(verifier.clone());
    let app = App { receiver, events: sender, broken: broken.clone() };
    let router = Router::new().route("/webhooks", post(receive)).with_state(app);
    tokio::spawn(async { axum::serve(listener, router).await });
    Hooks { verifier, events, broken }
}

/// Reached by verified requests only.
async fn receive(State(app): State<App>, Webhook(event): Webhook<Event>) -> StatusCode {
    if app.broken.load(Ordering::Relaxed) {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    _ = app.events.send(event);
    StatusCode::NO_CONTENT
}

impl Hooks {
    /// The next event of this kind; others are passed over.
    pub(crate) async fn next(&mut self, event_type: &str) -> Result<Verified<Event>, Error> {
        loop {
            let event = self.events.recv().await.ok_or("the receiver has stopped")?;
            if event.kind.event_type() == event_type {
                return Ok(event);
            }
        }
    }

    /// What the receiver verifies with.
    pub(crate) fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// From now on every event is answered with 500.
    pub(crate) fn break_down(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}
