//! Functions of another process: called by a line, answered by a line.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, mpsc};

use crate::explore::{json::text, under_test::context::AppContext, under_test::gateway::Gateway};

/// How long a function may go on when its requests fail, since it cannot be killed.
const GRACE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long requests are passed on for which a function did not wait.
const LINGER_INTERVAL: Duration = Duration::from_secs(1);

/// The functions of the other process.
pub struct Functions {
    link: Mutex<Link>,
    pub(crate) has_check: bool,
    /// The name of the function.
    pub(crate) function: Option<String>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions").finish_non_exhaustive()
    }
}

/// Sends a line to the other process.
type SendLine = fn(&Value) -> Result<(), String>;

/// The two streams.
struct Link {
    send: SendLine,
    answers: mpsc::UnboundedReceiver<Value>,
    /// The number of the last call.
    number: u64,
    under_way: bool,
}

impl Link {
    fn call(&mut self, kind: &str, world: &Value) -> Result<(), String> {
        self.number += 1;
        self.under_way = true;
        (self.send)(&json!({ kind: self.number, "world": world }))
    }

    /// Returns how the call ended that is under way.
    async fn ended(&mut self) -> Result<Result<(), String>, String> {
        let answer = self.answers.recv().await.ok_or("the process that has the function has ended")?;
        self.under_way = false;
        if answer["done"] == self.number {
            return Ok(Ok(()));
        }
        if answer["failed"] == self.number {
            return Ok(Err(text(&answer["error"])));
        }
        Err(format!("stdin: neither \"done\" nor \"failed\" of call {}", self.number))
    }

    /// Waits for the end of a run that was cut off from the service.
    async fn wait_for_end(&mut self) -> Result<(), String> {
        if !self.under_way {
            return Ok(());
        }
        let ended = tokio::time::timeout(GRACE_TIMEOUT, self.ended()).await;
        ended.map_err(|_| "the function goes on and on, though each of its requests fails")?.map(drop)
    }
}

impl Functions {
    /// Functions that are called with `send` and answer in `answers`.
    pub fn new(
        send: SendLine,
        answers: mpsc::UnboundedReceiver<Value>,
        has_check: bool,
        function: Option<String>,
    ) -> Self {
        Self { link: Mutex::new(Link { send, answers, number: 0, under_way: false }), has_check, function }
    }

    /// Begins a run of the function.
    pub(crate) async fn begin(&self, context: &AppContext) -> Result<Run<'_>, String> {
        let mut link = self.link.lock().await;
        link.wait_for_end().await?;
        let origin = context.ready.base_url.trim_end_matches("/api/v1");
        let service = origin.trim_start_matches("http://").parse();
        let service = service.map_err(|_| format!("{origin}: is no address"))?;
        let gateway = Gateway::open(service).await.map_err(|error| format!("cannot listen: {error}"))?;
        let mut world = world(context);
        for url in ["base_url", "mcp_url"] {
            world[url] = json!(text(&world[url]).replace(origin, &gateway.origin));
        }
        link.call("run", &world)?;
        Ok(Run { link, gateway })
    }

    /// Why the user's own check does not hold.
    pub(crate) async fn check(&self, context: &AppContext) -> Result<Option<String>, String> {
        let mut link = self.link.lock().await;
        link.wait_for_end().await?;
        link.call("check", &world(context))?;
        let ended = tokio::time::timeout(GRACE_TIMEOUT, link.ended()).await;
        Ok(ended.map_err(|_| "check: does not end")??.err())
    }
}

/// A run of the function. It cannot be killed: when this value is gone, all that it asks for fails.
pub(crate) struct Run<'f> {
    link: MutexGuard<'f, Link>,
    gateway: Gateway,
}

impl Run<'_> {
    /// Returns how it ended.
    pub(crate) async fn ended(&mut self) -> Result<Result<(), String>, String> {
        self.link.ended().await
    }

    /// Passes on what a function that has ended did not wait for.
    pub(crate) fn linger(self) {
        let gateway = self.gateway;
        tokio::spawn(async move {
            tokio::time::sleep(LINGER_INTERVAL).await;
            drop(gateway);
        });
    }

    /// Cuts it off from the service, and waits for its end.
    pub(crate) async fn cut_off(mut self) -> Result<(), String> {
        drop(self.gateway);
        self.link.wait_for_end().await
    }
}

fn world(context: &AppContext) -> Value {
    let mut world = serde_json::to_value(&context.ready).unwrap_or_default();
    world["state_dir"] = json!(context.state_dir);
    world["time"] = json!(context.time);
    world
}
