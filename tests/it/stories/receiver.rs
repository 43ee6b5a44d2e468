//! The team's own program that listens for webhooks: axum, our extractor, the replay guard. It can be broken
//! and mended.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU16, AtomicUsize, Ordering},
};

use axum::{
    Router,
    extract::{FromRef, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use shared_inbox_mock::{Control, CreateWebhook, webhooks::TimestampSource};
use shared_inbox_webhooks::{
    Event, EventKind, Receiver, Secret, Verifier, Webhook,
    replay::{Handlers, MemoryGuard},
};

/// A receiver on a port of its own, and what it has handled.
pub(crate) struct Listener {
    pub(crate) webhook: shared_inbox::WebhookId,
    state: App,
}

#[derive(Clone)]
struct App {
    receiver: Receiver,
    handlers: Handlers<MemoryGuard>,
    handled: Arc<Mutex<Vec<Event>>>,
    arrivals: Arc<AtomicUsize>,
    status: Arc<AtomicU16>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

async fn handle(State(app): State<App>, Webhook(event): Webhook<Event>) -> Response {
    let delivery = event.delivery("team");
    app.arrivals.fetch_add(1, Ordering::SeqCst);
    let broken = app.status.load(Ordering::SeqCst);
    let handled = app.handled;
    let handler = async move |_| {
        if broken != 200 {
            return Err(std::fmt::Error);
        }
        handled.lock().unwrap().push(event.into_inner());
        Ok(())
    };
    match app.handlers.once(delivery, handler).await {
        Ok(outcome) => outcome.into_response(),
        Err(_) => StatusCode::from_u16(broken).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response(),
    }
}

impl Listener {
    /// Listens, and adds itself to the workspace as a webhook.
    pub(crate) async fn start(
        control: &Control,
        change: impl FnOnce(CreateWebhook) -> CreateWebhook,
    ) -> Self {
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhooks", socket.local_addr().unwrap());
        // The receiver goes by the time of day, as it would in life, however far the mock's clock is moved.
        let new = CreateWebhook::new(url).timestamps(TimestampSource::Real);
        let webhook = control.create_webhook(change(new)).await.unwrap();
        let verifier = Verifier::new([Secret::parse(&webhook.secret).unwrap()]);
        let state = App {
            receiver: Receiver::new(verifier),
            handlers: Handlers::new(MemoryGuard::new()),
            handled: Arc::default(),
            arrivals: Arc::default(),
            status: Arc::new(AtomicU16::new(200)),
        };
        let router = Router::new().route("/webhooks", post(handle)).with_state(state.clone());
        tokio::spawn(async move { axum::serve(socket, router).await });
        Self { webhook: webhook.id, state }
    }

    /// From now on every event is answered with this status; 200 mends it.
    pub(crate) fn answers(&self, status: u16) {
        self.state.status.store(status, Ordering::SeqCst);
    }

    /// The kinds of event that were handled, in order.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let handled = self.state.handled.lock().unwrap();
        handled.iter().map(|event| event.kind.event_type().to_owned()).collect()
    }

    /// The events that were handled and that `pick` wants.
    pub(crate) fn find<T>(&self, pick: impl Fn(&EventKind) -> Option<T>) -> Vec<T> {
        self.state.handled.lock().unwrap().iter().filter_map(|event| pick(&event.kind)).collect()
    }

    /// How often anything arrived, repeats included.
    pub(crate) fn arrivals(&self) -> usize {
        self.state.arrivals.load(Ordering::SeqCst)
    }
}
