//! What a test for `cargo test` has beside its steps.

pub(crate) const HEAD: &str = "// Needs serde, serde_json and tokio beside shared-inbox-mock.
#![allow(dead_code, unused_imports)]
use std::{
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_mock::{Control, MockServer};
";

pub(crate) const HELPERS: &str = r#"fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
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
"#;

pub(crate) const JOB: &str = r#"impl App<'_> {
    async fn run(&self, kills: &[String]) -> Option<i32> {
        let before = self.fired(kills).await;
        let mut app = Command::new(COMMAND[0])
            .args(&COMMAND[1..])
            .env("SHARED_INBOX_BASE_URL", self.mock.base_url())
            .env("SHARED_INBOX_API_KEY", &self.key)
            .env("SHARED_INBOX_STATE_DIR", &self.state)
            .spawn()
            .expect("it starts");
        let end = Instant::now() + Duration::from_millis(TIMEOUT_MS);
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
"#;

pub(crate) const SERVER: &str = r#"struct Server<'m> {
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
        let end = Instant::now() + Duration::from_millis(TIMEOUT_MS);
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
"#;
