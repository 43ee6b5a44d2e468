// customer2@customer.example wrote, and the app never answered.
// Again: shared-inbox-mock explore --scenario FILE --replay 1_1_lost-before@reply.0 -- COMMAND
// Needs serde, serde_json and tokio beside shared-inbox-mock.
// #![allow(dead_code, unused_imports)]
use std::{
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_mock::{Control, MockServer};

const COMMAND: &[&str] = &["python3", APP, NAME];

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("what the control API takes")
}

struct App<'m> {
    mock: &'m MockServer,
    key: String,
    agent: String,
    state: PathBuf,
}

impl App<'_> {
    fn control(&self) -> &Control {
        self.mock.control()
    }

    async fn fired(&self, kills: &[String]) -> u64 {
        self.control().faults().await.iter().filter(|it| kills.contains(&it.id)).map(|it| it.fired).sum()
    }

    async fn view(&self, customer: &str) -> Value {
        let all = self.control().conversations(Default::default(), Default::default()).await.expect("a list");
        let of = |it: &&_| serde_json::to_value(it).expect("JSON")["contact"]["email"] == customer;
        let Some(found) = all.items.iter().find(of) else { return Value::Null };
        let view = self.control().conversation(found.summary.id.as_str()).await.expect("a conversation");
        serde_json::to_value(view).expect("JSON")
    }

    async fn timeline(&self, customer: &str) -> Vec<Value> {
        self.view(customer).await["timeline"].as_array().cloned().unwrap_or_default()
    }

    async fn messages(&self, customer: &str) -> Vec<Value> {
        let mut items = self.timeline(customer).await;
        items.retain(|it| it["type"] == "message" && it["author"] == self.agent.as_str());
        items
    }

    async fn people_approve(&self, approved: &mut Vec<String>) {
        for draft in self.control().approvals().await {
            let view = self.control().conversation(draft.conversation_id.as_str()).await.expect("a conversation");
            let view = serde_json::to_value(view).expect("JSON");
            let by_hand = view["timeline"].as_array().expect("a timeline").iter().any(|it| {
                it["type"] == "message" && it["author"].as_str().is_some_and(|author| author.starts_with("usr_"))
            });
            if !by_hand && !approved.contains(&draft.message_id.to_string()) {
                approved.push(draft.message_id.to_string());
                self.control().approve(&draft.message_id, from(json!({}))).await.expect("approved");
            }
        }
    }
}

impl App<'_> {
    async fn run(&self, kills: &[String]) -> Option<i32> {
        let before = self.fired(kills).await;
        let mut app = Command::new(COMMAND[0])
            .args(&COMMAND[1..])
            .env("SHARED_INBOX_BASE_URL", self.mock.base_url())
            .env("SHARED_INBOX_API_KEY", &self.key)
            .env("SHARED_INBOX_STATE_DIR", &self.state)
            .spawn()
            .expect("it starts");
        let end = Instant::now() + Duration::from_millis(10000);
        loop {
            if let Some(status) = app.try_wait().expect("a status") {
                return status.code();
            }
            if Instant::now() > end || self.fired(kills).await > before {
                app.kill().expect("killed");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

// #[tokio::test]
#[allow(unused_variables, unused_mut)]
async fn every_customer_is_answered() {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let inbox = control.mailboxes().await.expect("inboxes")[0].address.clone();
    let key = from(json!({ "name": "app", "scopes": ["read", "write", "draft", "send"], "livemode": true }));
    let key = control.create_key(key).await.expect("a key");
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time").as_nanos();
    let state = std::env::temp_dir().join(format!("app-{}-{now}", std::process::id()));
    std::fs::create_dir_all(&state).expect("a folder");
    let app = App { mock: &mock, key: key.key.clone(), agent: key.agent_id.to_string(), state };
    let (mut kills, mut approved) = (Vec::<String>::new(), Vec::new());
    let conversation_2 = control.inbound(from(json!({"from": "customer2@customer.example", "text": "Order 1043 is broken", "to": inbox}))).await.expect("a mail").conversation_id;
    control.advance(Duration::from_secs(60)).await.expect("time passes");
    // POST /conversations/*/replies was lost on its way; nothing happened.
    control.add_fault(from(json!({"effect": {"drop": "before"}, "method": "POST", "path": "/conversations/*/replies"}))).await.expect("a rule");
    let status = app.run(&kills).await;
    control.advance(Duration::from_secs(60)).await.expect("time passes");
    // The trouble has ended.
    control.clear_faults().await;
    let status = app.run(&kills).await;
    app.people_approve(&mut approved).await;
    control.advance(Duration::from_secs(660)).await.expect("time passes");
    let status = app.run(&kills).await;
    app.people_approve(&mut approved).await;
    control.advance(Duration::from_secs(660)).await.expect("time passes");
    let status = app.run(&kills).await;
    app.people_approve(&mut approved).await;
    control.advance(Duration::from_secs(660)).await.expect("time passes");
    let items = app.timeline("customer2@customer.example").await;
    let last = items.iter().rposition(|it| it["direction"] == "inbound").expect("a mail");
    assert!(items[last..].iter().any(|it| it["author"] == app.agent.as_str()));
}
