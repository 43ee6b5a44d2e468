//! A mock server, its control API over HTTP, and what the tests do with it again and again.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, MockServerBuilder};

use super::receiver::Receiver;
use crate::kit::{Api, Kit};

pub(crate) struct Mock {
    pub(crate) kit: Kit,
}

/// A webhook that was added.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Mock {
    /// An empty workspace whose clock stands still.
    pub(crate) async fn start() -> Self {
        Self::with(MockServer::builder().manual_clock().empty()).await
    }

    pub(crate) async fn with(builder: MockServerBuilder) -> Self {
        Self { kit: Kit::with(builder.no_rate_limit()).await }
    }

    /// Calls the control API.
    pub(crate) async fn control(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let reply = self.kit.control(method, path, body.unwrap_or_default()).await;
        (reply.status, if reply.text.is_empty() { Value::Null } else { reply.json() })
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.control("GET", path, None).await;
        assert_eq!(status, 200, "GET {path}: {answer}");
        answer
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.control("POST", path, Some(body)).await;
        assert!((200..300).contains(&status), "POST {path}: {status} {answer}");
        answer
    }

    /// Calls the service with the live key.
    pub(crate) async fn live(&self, method: &str, path: &str, body: Value) -> Value {
        service(self.kit.live(), method, path, body).await
    }

    /// Calls the service with the test key.
    pub(crate) async fn test(&self, method: &str, path: &str, body: Value) -> Value {
        service(self.kit.sandbox(), method, path, body).await
    }

    /// Moves the clock; all tries that fell due have been made when this returns.
    pub(crate) async fn advance(&self, by: Duration) -> Value {
        self.post("/clock", json!({ "advanceSeconds": by.as_secs_f64() })).await
    }

    /// Waits until every try that is due or under way has been answered.
    pub(crate) async fn settle(&self) {
        self.advance(Duration::ZERO).await;
    }

    /// The time on the mock's clock, in seconds.
    pub(crate) async fn now(&self) -> f64 {
        seconds(&self.get("/clock").await["now"])
    }

    /// Adds a webhook for live events of team inboxes.
    pub(crate) async fn hook(&self, receiver: &Receiver) -> Hook {
        self.hook_with(receiver, json!({})).await
    }

    /// Adds a webhook for live events, or for those of the sandbox.
    pub(crate) async fn hook_in(&self, livemode: bool, receiver: &Receiver) -> Hook {
        self.hook_with(receiver, json!({ "livemode": livemode })).await
    }

    pub(crate) async fn hook_with(&self, receiver: &Receiver, more: Value) -> Hook {
        let mut body = json!({ "url": receiver.url(), "livemode": true, "scope": "team" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.post("/webhooks", body).await;
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        Hook { id: text("id"), secret: text("secret") }
    }

    /// Sends a test event and waits for its first try.
    pub(crate) async fn send_test(&self, hook: &Hook) -> String {
        let sent = self.post(&format!("/webhooks/{}/test", hook.id), json!({})).await;
        self.settle().await;
        sent["eventId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn deliveries(&self, hook: &Hook) -> Vec<Value> {
        self.get(&format!("/webhooks/{}/deliveries", hook.id)).await.as_array().unwrap().clone()
    }

    pub(crate) async fn state_of(&self, hook: &Hook) -> String {
        let hooks = self.get("/webhooks").await;
        let found = hooks.as_array().unwrap().iter().find(|it| it["id"] == hook.id.as_str()).cloned();
        found.expect("the webhook is in the list")["state"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn act(&self, hook: &Hook, what: &str) -> Value {
        self.post(&format!("/webhooks/{}/{what}", hook.id), json!({})).await
    }

    /// The jobs in the queue that are webhook tries.
    pub(crate) async fn queued(&self) -> usize {
        let jobs = self.get("/jobs").await;
        jobs.as_array().unwrap().iter().filter(|job| job["job"] == "webhook-attempt").count()
    }

    pub(crate) async fn notices(&self) -> Vec<Value> {
        let outbox = self.get("/outbox").await;
        outbox.as_array().unwrap().iter().filter(|mail| mail["kind"] == "notice").cloned().collect()
    }

    /// The person that the empty workspace has.
    pub(crate) async fn user(&self) -> String {
        self.get("/users").await[0]["id"].as_str().unwrap().to_owned()
    }

    /// A conversation in the team inbox that a customer began.
    pub(crate) async fn conversation(&self) -> String {
        self.mail(json!({})).await["conversationId"].as_str().unwrap().to_owned()
    }

    /// A mail to the team inbox, or to the sandbox, on this conversation or a new one; gives the conversation.
    pub(crate) async fn mail_in(&self, livemode: bool, conversation: Option<&str>) -> String {
        let mut mail = json!({ "from": "vera@customer.test", "text": "Where is my order?" });
        if let Some(id) = conversation {
            mail["conversationId"] = json!(id);
        }
        let received = match livemode {
            true => self.mail(mail).await,
            false => self.test("POST", "/sandbox/inbound", mail).await,
        };
        received["conversationId"].as_str().unwrap().to_owned()
    }

    /// A mail to the team inbox.
    pub(crate) async fn mail(&self, more: Value) -> Value {
        let mut body = json!({
            "to": "help@acme.example", "from": "vera@customer.example", "name": "Vera", "subject": "A question",
            "text": "Where is my order?",
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post("/inbound", body).await
    }
}

async fn service(api: Api, method: &str, path: &str, body: Value) -> Value {
    let reply = if method == "GET" { api.get(path).await } else { api.post(path, body).await };
    assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
    reply.json()
}

/// A time as the API writes it, in seconds since 1970.
pub(crate) fn seconds(time: &Value) -> f64 {
    let time = shared_inbox::Timestamp::parse(time.as_str().expect("a time")).unwrap();
    time.as_millis() as f64 / 1000.0
}

pub(crate) const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

pub(crate) const fn hours(n: u64) -> Duration {
    minutes(n * 60)
}
