//! A world of the mock server, driven through its control API.

use std::time::Duration;

use reqwest::Client;
use serde::Serialize;
use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_mock::{
    ClockMode, Control, CreateWebhook, Fault, MockServer, NewWorld, Ready, RequestFilter, StepKind,
    TimestampSource,
};

use crate::json::text;

/// How long a control call may take: moving the clock waits for webhooks.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// The server that holds the worlds.
pub(crate) struct Server {
    mock: MockServer,
    http: Client,
}

impl Server {
    pub(crate) async fn start() -> Result<Self, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mock = MockServer::builder().manual_clock().empty().behind_gateways().try_start().await;
        let http = Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(CONTROL_TIMEOUT)
            .build();
        Ok(Self {
            mock: mock.map_err(|error| error.to_string())?,
            http: http.map_err(|error| format!("cannot make an HTTP client: {error}"))?,
        })
    }

    /// Returns a new world, with a key of these scopes.
    pub(crate) async fn world(&self, scopes: &[String]) -> Result<World, String> {
        let main = self.mock.control().clone();
        let control = or_message(main.create_world(NewWorld::empty().clock(ClockMode::Manual)).await)?;
        let ready = control.ready();
        let inbox = or_message(control.mailboxes().await)?.first().map(|inbox| inbox.address.clone());
        let person = control.users().await.first().map(|user| user.id.to_string());
        let mut world = World {
            http: self.http.clone(),
            main,
            control,
            id: ready.id.unwrap_or_default(),
            url: ready.control_url,
            base_url: ready.base_url,
            key: String::new(),
            agent: String::new(),
            inbox: inbox.unwrap_or_default(),
            person: person.unwrap_or_default(),
        };
        let key = json!({ "name": KEY_NAME, "scopes": scopes, "livemode": true });
        let key = world.post("/keys", &key).await?;
        (world.key, world.agent) = (text(&key["key"]), text(&key["agentId"]));
        Ok(world)
    }
}

/// The name of the app's key, and so of its notes' author.
pub(crate) const KEY_NAME: &str = "app";

/// A world.
#[derive(Clone)]
pub(crate) struct World {
    http: Client,
    main: Control,
    control: Control,
    id: String,
    url: String,
    pub(crate) base_url: String,
    pub(crate) key: String,
    /// The app's agent.
    pub(crate) agent: String,
    /// The address of the team inbox.
    pub(crate) inbox: String,
    /// Someone on the team.
    pub(crate) person: String,
}

fn json_of(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn or_message<T>(answer: shared_inbox_mock::Result<T>) -> Result<T, String> {
    answer.map_err(|refused| refused.message)
}

impl World {
    /// Makes a `POST` of the control API, and returns its status and body.
    pub(crate) async fn call(&self, path: &str, body: &Value) -> Result<(u16, Value), String> {
        let failed = |error: reqwest::Error| format!("the mock server does not respond: {error}");
        let request = self.http.post(format!("{}{path}", self.url)).body(body.to_string());
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(failed)?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// Makes a `POST` of the control API that must succeed.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        match self.call(path, body).await? {
            (200..300, body) => Ok(body),
            (_, body) => Err(body["error"].as_str().unwrap_or("a control call failed").to_owned()),
        }
    }

    /// Returns its addresses, with the key of the app.
    pub(crate) fn ready(&self) -> Ready {
        let mut ready = self.control.ready();
        ready.keys.live.clone_from(&self.key);
        ready
    }

    pub(crate) async fn requests(&self) -> Vec<Value> {
        self.control.requests().await.iter().map(json_of).collect()
    }

    pub(crate) async fn count_requests(&self) -> Result<usize, String> {
        let filter = RequestFilter::default().without_responses();
        Ok(or_message(self.control.find_requests(filter, Default::default()).await)?.total)
    }

    pub(crate) async fn faults(&self) -> Vec<Fault> {
        self.control.faults().await
    }

    pub(crate) async fn clear_faults(&self) {
        self.control.clear_faults().await;
    }

    pub(crate) async fn outbox(&self) -> Vec<Value> {
        self.control.outbox().await.iter().map(json_of).collect()
    }

    pub(crate) async fn approvals(&self) -> Vec<Value> {
        self.control.approvals().await.iter().map(json_of).collect()
    }

    /// Returns whether a message has ever been on its way out.
    pub(crate) async fn was_scheduled(&self, message: &str) -> bool {
        let steps = self.control.trace(message).await.steps;
        steps.iter().any(|step| step.id == message && step.what == "scheduled")
    }

    /// Returns every conversation, the oldest first.
    pub(crate) async fn conversations(&self) -> Result<Vec<Value>, String> {
        let listed = or_message(self.control.conversations(Default::default(), Default::default()).await)?;
        let mut views = Vec::new();
        for entry in listed.items.iter().rev() {
            views.push(self.conversation(entry.summary.id.as_str()).await?);
        }
        Ok(views)
    }

    pub(crate) async fn conversation(&self, id: &str) -> Result<Value, String> {
        or_message(self.control.conversation(id).await).map(json_of)
    }

    /// Returns whether something is due that customers or the app would see.
    pub(crate) async fn has_jobs(&self) -> bool {
        let jobs = self.control.jobs().await;
        jobs.iter().any(|job| matches!(job.job.as_str(), "send" | "reminder" | "wake" | "webhook-attempt"))
    }

    pub(crate) async fn now(&self) -> Timestamp {
        self.control.clock().await.now
    }

    /// Returns when the next job is due.
    pub(crate) async fn next_job(&self) -> Option<Timestamp> {
        self.control.jobs().await.first().map(|job| job.due_at)
    }

    pub(crate) async fn advance_to(&self, time: Timestamp) -> Result<(), String> {
        or_message(self.control.advance_to(time).await).map(drop)
    }

    /// Adds a webhook for all events; its id and its secret.
    pub(crate) async fn add_webhook(&self, url: String) -> Result<(String, String), String> {
        let new = CreateWebhook::new(url).timestamps(TimestampSource::Real);
        let added = or_message(self.control.create_webhook(new).await)?;
        Ok((added.id.to_string(), added.secret))
    }

    /// Returns how many events there are for a webhook.
    pub(crate) async fn count_events(&self, webhook: &str) -> Result<usize, String> {
        Ok(or_message(self.control.deliveries(webhook, Default::default()).await)?.len())
    }

    /// Returns every event for a webhook, the oldest first, with all that is known of it and how the app made it come about.
    pub(crate) async fn deliveries(&self, webhook: &str) -> Result<Vec<Value>, String> {
        let listed = or_message(self.control.deliveries(webhook, Default::default()).await)?;
        let mut deliveries = Vec::new();
        for view in listed.iter().rev() {
            let event = view.event_id.as_str();
            let mut delivery = json_of(or_message(self.control.delivery(webhook, event).await)?);
            let trace = self.control.trace(event).await.steps;
            let mut cause = trace.iter().find(|step| step.id == event).and_then(|step| step.cause);
            while let Some(step) = trace.iter().find(|step| Some(step.number) == cause) {
                match step.kind {
                    StepKind::Request => delivery["request"] = json!(step.id),
                    // Somebody else acted, even if a fault made them do so at a request of the app.
                    StepKind::Control => {
                        delivery["root"] = json!(step.number);
                        break;
                    }
                    _ => {}
                }
                cause = step.cause;
            }
            deliveries.push(delivery);
        }
        Ok(deliveries)
    }

    pub(crate) async fn advance(&self, seconds: u64) -> Result<(), String> {
        or_message(self.control.advance(Duration::from_secs(seconds)).await).map(drop)
    }

    pub(crate) async fn run_next_job(&self) -> Result<(), String> {
        or_message(self.control.run_next_job().await).map(drop)
    }

    /// Ends the world.
    pub(crate) async fn end(self) {
        let _ = self.main.delete_world(&self.id).await;
    }
}
