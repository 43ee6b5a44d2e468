//! The control API of an implementation under test, over HTTP: worlds, time, people, customers, webhooks.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::{
    clock::{BoxFuture, Clock},
    early_end::EarlyEnd,
    wire::http,
};

/// The control API, of the whole server or of one world.
#[derive(Clone)]
pub(crate) struct ControlApi {
    client: Client,
    url: String,
    token: Option<Arc<str>>,
}

impl fmt::Debug for ControlApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlApi").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A world of its own for one part of the run.
#[derive(Debug)]
pub(crate) struct TestWorld {
    pub(crate) control: ControlApi,
    pub(crate) live_key: String,
    pub(crate) test_key: String,
    id: String,
}

impl ControlApi {
    pub(crate) fn new(client: Client, url: &str, token: Option<&str>) -> Self {
        Self { client, url: url.trim_end_matches('/').to_owned(), token: token.map(Arc::from) }
    }

    /// Returns whether a control API is there, and takes the token.
    pub(crate) async fn answers(&self) -> bool {
        let health = self.send(Method::GET, "/health", None).await;
        // That call needs no token.
        health.is_ok_and(|(status, body)| status == 200 && body["status"] == "ok")
            && self.get("/clock").await.is_ok()
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value), String> {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        // A call that moves the clock by a day is answered once every webhook attempt on the way has ended.
        request = request.timeout(Duration::from_secs(60));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| http::reason(&error))?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| http::reason(&error))?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// A call that must succeed, or the rule cannot be tried.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, EarlyEnd> {
        match self.send(method.clone(), path, body).await {
            Ok((200..=299, body)) => Ok(body),
            Ok((status, body)) => Err(EarlyEnd::not_tried(format!(
                "the control API answered {status} to {method} {path}: {}",
                body["error"].as_str().unwrap_or("no reason given")
            ))),
            Err(reason) => Err(EarlyEnd::not_tried(format!("the control API: {reason}"))),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, EarlyEnd> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>, EarlyEnd> {
        Ok(self.get(path).await?.as_array().cloned().unwrap_or_default())
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, EarlyEnd> {
        self.call(Method::POST, path, Some(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Result<Value, EarlyEnd> {
        self.call(Method::PUT, path, Some(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, EarlyEnd> {
        self.call(Method::DELETE, path, None).await
    }

    /// Returns the status of a call that may be refused.
    pub(crate) async fn status_of(&self, path: &str, body: Value) -> Result<u16, EarlyEnd> {
        let sent = self.send(Method::POST, path, Some(&body)).await;
        sent.map(|(status, _)| status)
            .map_err(|reason| EarlyEnd::not_tried(format!("the control API: {reason}")))
    }

    /// Moves the clock; everything that falls due on the way has happened when this returns.
    pub(crate) async fn advance(&self, seconds: u64) -> Result<(), EarlyEnd> {
        self.post("/clock", json!({ "advanceSeconds": seconds })).await.map(drop)
    }

    /// Returns a new world with nothing in it and a clock that stands still.
    pub(crate) async fn new_world(&self) -> Result<TestWorld, EarlyEnd> {
        let ready = self.post("/worlds", json!({ "empty": true, "clock": "manual" })).await?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let id = text(&ready["id"]).or_else(|| {
            ready["control_url"].as_str().and_then(|url| url.rsplit('/').next()).map(str::to_owned)
        });
        let made = id.zip(text(&ready["keys"]["live"])).zip(text(&ready["keys"]["test"]));
        let ((id, live_key), test_key) =
            made.ok_or_else(|| EarlyEnd::not_tried("the control API's new world has no id or no keys"))?;
        let control = Self { url: format!("{}/worlds/{id}", self.url), ..self.clone() };
        Ok(TestWorld { control, live_key, test_key, id })
    }

    /// Ends a world; whether that worked changes nothing any more.
    pub(crate) async fn end_world(&self, world: &TestWorld) {
        let _ = self.delete(&format!("/worlds/{}", world.id)).await;
    }
}

/// The clock of a world: it waits by moving the world's clock.
#[derive(Debug)]
pub(crate) struct WorldClock {
    control: ControlApi,
    now: Mutex<Instant>,
}

impl WorldClock {
    pub(crate) fn new(control: ControlApi) -> Self {
        Self { control, now: Mutex::new(Instant::now()) }
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let body = json!({ "advanceSeconds": wait.as_secs_f64() });
            if self.control.post("/clock", body).await.is_err() {
                tokio::time::sleep(wait).await;
            }
            *self.now.lock().unwrap_or_else(PoisonError::into_inner) += wait;
        })
    }
}
