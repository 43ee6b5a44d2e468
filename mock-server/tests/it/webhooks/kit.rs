//! A mock server, its control API over HTTP, and what the tests do with it again and again.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, MockServerBuilder};

use super::receiver::Receiver;

pub(crate) struct Mock {
    pub(crate) server: MockServer,
    http: reqwest::Client,
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
        let server = builder.no_rate_limit().start().await;
        Self { server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    async fn call(&self, method: &str, url: String, key: Option<&str>, body: Option<Value>) -> (u16, Value) {
        let mut request = self.http.request(method.parse().unwrap(), url);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.bytes().await.unwrap();
        let answer = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("not JSON, with {status}"))
        };
        (status, answer)
    }

    /// Calls the control API.
    pub(crate) async fn control(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.call(method, format!("{}{path}", self.server.control_url()), None, body).await
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
        self.service(self.server.live_key(), method, path, body).await
    }

    /// Calls the service with the test key.
    pub(crate) async fn test(&self, method: &str, path: &str, body: Value) -> Value {
        self.service(self.server.test_key(), method, path, body).await
    }

    async fn service(&self, key: &str, method: &str, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.server.base_url());
        let body = (!body.is_null()).then_some(body);
        let (status, answer) = self.call(method, url, Some(key), body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
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
        jobs.as_array().unwrap().iter().filter(|job| job["job"] == "webhook-try").count()
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
