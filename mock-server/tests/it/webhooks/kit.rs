//! What the tests of webhooks do with a mock server and its receivers again and again.

use serde_json::{Value, json};

use super::receiver::Receiver;
use crate::kit::{Kit, text};

/// A webhook that was added.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// A server, a receiver with this status for everything, and a webhook for the live events of team inboxes.
pub(crate) async fn start_with_hook(status: u16) -> (Kit, Receiver, Hook) {
    start_with_hook_in(true, status).await
}

/// The same for live events, or for those of the sandbox.
pub(crate) async fn start_with_hook_in(livemode: bool, status: u16) -> (Kit, Receiver, Hook) {
    let (kit, receiver) = (Kit::start().await, Receiver::answering(status).await);
    let hook = kit.hook_in(livemode, &receiver).await;
    (kit, receiver, hook)
}

impl Kit {
    /// Waits until every try that is due or under way has been answered.
    pub(crate) async fn settle(&self) {
        self.advance(0).await;
    }

    /// The time on the mock's clock, in seconds.
    pub(crate) async fn now(&self) -> f64 {
        seconds(&self.look("/clock").await["now"])
    }

    /// Adds a webhook for live events of team inboxes.
    pub(crate) async fn hook(&self, receiver: &Receiver) -> Hook {
        self.hook_in(true, receiver).await
    }

    /// Adds a webhook for live events, or for those of the sandbox.
    pub(crate) async fn hook_in(&self, livemode: bool, receiver: &Receiver) -> Hook {
        self.hook_with(json!({ "url": receiver.url(), "livemode": livemode })).await
    }

    pub(crate) async fn hook_with(&self, more: Value) -> Hook {
        let made = self.act("/webhooks", extended(json!({ "livemode": true, "scope": "team" }), more)).await;
        Hook { id: text(&made["id"]), secret: text(&made["secret"]) }
    }

    /// Sends a test event and waits for its first try; the event's id.
    pub(crate) async fn send_test(&self, hook: &Hook) -> String {
        let sent = self.act_on(hook, "test").await;
        self.settle().await;
        text(&sent["eventId"])
    }

    pub(crate) async fn deliveries(&self, hook: &Hook) -> Vec<Value> {
        self.list(&format!("/webhooks/{}/deliveries", hook.id)).await
    }

    pub(crate) async fn state_of(&self, hook: &Hook) -> String {
        let hooks = self.list("/webhooks").await;
        text(&hooks.iter().find(|it| it["id"] == hook.id.as_str()).expect("the webhook is listed")["state"])
    }

    pub(crate) async fn act_on(&self, hook: &Hook, what: &str) -> Value {
        self.act(&format!("/webhooks/{}/{what}", hook.id), Value::Null).await
    }

    /// The jobs in the queue that are webhook tries.
    pub(crate) async fn queued(&self) -> usize {
        self.list("/jobs").await.iter().filter(|job| job["job"] == "webhook-attempt").count()
    }

    /// The person that the empty workspace has.
    pub(crate) async fn person(&self) -> String {
        text(&self.look("/users").await[0]["id"])
    }

    /// A mail to the team inbox, or to the sandbox, on this conversation or a new one; gives the
    /// conversation.
    pub(crate) async fn mail_in(&self, livemode: bool, conversation: Option<&str>) -> String {
        let mut mail = json!({ "from": "vera@customer.test", "text": "Where is my order?" });
        if let Some(id) = conversation {
            mail["conversationId"] = json!(id);
        }
        let received = match livemode {
            true => self.act("/inbound", extended(mail, json!({ "to": self.inbox().await }))).await,
            false => self.sandbox().post("/sandbox/inbound", mail).await.expect(201),
        };
        text(&received["conversationId"])
    }
}

/// An object with the fields of another.
pub(crate) fn extended(mut object: Value, more: Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// The number of tries of a delivery.
pub(crate) fn tries(delivery: &Value) -> usize {
    delivery["attempts"].as_array().unwrap().len()
}

/// A time as the API writes it, in seconds since 1970.
pub(crate) fn seconds(time: &Value) -> f64 {
    let time = shared_inbox::Timestamp::parse(time.as_str().expect("a time")).unwrap();
    time.as_millis() as f64 / 1000.0
}

/// Minutes in seconds.
pub(crate) const fn minutes(n: u64) -> u64 {
    n * 60
}

/// Hours in seconds.
pub(crate) const fn hours(n: u64) -> u64 {
    minutes(n * 60)
}
