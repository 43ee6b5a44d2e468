// customer2@customer.example wrote once and got the same text 2 times: "Your order 1043 is on its way."
// Again: shared-inbox-mock explore --scenario FILE --replay 1_1_twice@turn-changed.0 -- COMMAND
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
const WEBHOOK_PATH: &str = "/webhooks";

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

struct Server<'m> {
    app: &'m App<'m>,
    port: u16,
    secret: String,
    process: Child,
    killed: u64,
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

impl<'m> Server<'m> {
    async fn start(app: &'m App<'m>) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let url = format!("http://127.0.0.1:{port}{WEBHOOK_PATH}");
        let new = from(json!({ "url": url, "livemode": true, "scope": "team", "timestamps": "real" }));
        let secret = app.control().create_webhook(new).await.expect("a webhook").secret;
        let process = Self::spawn(app, port, &secret).await;
        Self { app, port, secret, process, killed: 0 }
    }

    async fn spawn(app: &App<'_>, port: u16, secret: &str) -> Child {
        let mut process = Command::new(COMMAND[0])
            .args(&COMMAND[1..])
            .env("SHARED_INBOX_BASE_URL", app.mock.base_url())
            .env("SHARED_INBOX_API_KEY", &app.key)
            .env("SHARED_INBOX_STATE_DIR", &app.state)
            .env("PORT", port.to_string())
            .env("SHARED_INBOX_WEBHOOK_SECRET", secret)
            .spawn()
            .expect("it starts");
        let end = Instant::now() + Duration::from_millis(10000);
        while Instant::now() < end
            && process.try_wait().expect("a status").is_none()
            && TcpStream::connect(("127.0.0.1", port)).is_err()
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        process
    }

    /// Meanwhile the app is killed at its request, and started again.
    async fn watch(&mut self, kills: &[String], moves: impl Future<Output = ()>) {
        let (mut moves, mut moved) = (std::pin::pin!(moves), false);
        loop {
            if self.app.fired(kills).await > self.killed {
                self.killed += 1;
                self.process.kill().expect("killed");
                self.process.wait().expect("a status");
                self.process = Self::spawn(self.app, self.port, &self.secret).await;
            } else if moved {
                return;
            }
            tokio::select! {
                () = &mut moves, if !moved => moved = true,
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    }

    /// Waits until nothing is being delivered and the app makes no request any more.
    async fn settle(&mut self, kills: &[String]) {
        let control = self.app.control();
        let mut requests = usize::MAX;
        while requests != control.requests().await.len() {
            requests = control.requests().await.len();
            self.watch(kills, async { drop(control.advance(Duration::ZERO).await.expect("time")) }).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Time passes. The app comes to rest after each thing that falls due.
    async fn advance(&mut self, kills: &[String], seconds: u64) {
        let control = self.app.control();
        let end = control.clock().await.now + Duration::from_secs(seconds);
        while control.jobs().await.first().is_some_and(|job| job.due_at <= end) {
            self.watch(kills, async { drop(control.run_next_job().await.expect("time")) }).await;
            self.settle(kills).await;
        }
        self.watch(kills, async { drop(control.advance_to(end).await.expect("time")) }).await;
    }
}

// #[tokio::test]
#[allow(unused_variables, unused_mut)]
async fn nobody_gets_the_same_text_twice() {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let inbox = control.mailboxes().await.expect("inboxes")[0].address.clone();
    let key = from(json!({ "name": "app", "scopes": ["read", "write", "draft", "send"], "livemode": true }));
    let key = control.create_key(key).await.expect("a key");
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time").as_nanos();
    let state = std::env::temp_dir().join(format!("app-{}-{now}", std::process::id()));
    std::fs::create_dir_all(&state).expect("a folder");
    let app = App { mock: &mock, key: key.key.clone(), agent: key.agent_id.to_string(), state };
    let mut server = Server::start(&app).await;
    let (mut kills, mut approved) = (Vec::<String>::new(), Vec::new());
    // A webhook turn.changed is delivered twice.
    control.add_fault(from(json!({"effect": {"twice": true}, "event": "turn.changed", "webhook": "*"}))).await.expect("a rule");
    control.inbound(from(json!({"from": "customer2@customer.example", "text": "Order 1043 is broken", "to": inbox}))).await.expect("a mail");
    server.settle(&kills).await;
    server.advance(&kills, 60).await;
    server.settle(&kills).await;
    app.people_approve(&mut approved).await;
    server.settle(&kills).await;
    server.advance(&kills, 660).await;
    // The trouble has ended.
    control.clear_faults().await;
    server.settle(&kills).await;
    app.people_approve(&mut approved).await;
    server.settle(&kills).await;
    server.advance(&kills, 660).await;
    server.settle(&kills).await;
    app.people_approve(&mut approved).await;
    server.settle(&kills).await;
    server.advance(&kills, 660).await;
    server.settle(&kills).await;
    app.people_approve(&mut approved).await;
    server.settle(&kills).await;
    server.advance(&kills, 660).await;
    let said = app.messages("customer2@customer.example").await.iter().filter(|it| it["text"] == "Your order 1043 is on its way.").count();
    assert!(said <= 1, "{said} times");
}
