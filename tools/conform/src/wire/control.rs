//! The control API of an implementation under test, over HTTP: worlds, time, people, customers, webhooks.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::{
    clock::{BoxFuture, Clock},
    rule_abort::RuleAbort,
    shape::time,
    wire::{http, reply::cut},
};

/// The control API, of the whole server or of one world.
#[derive(Clone)]
pub(crate) struct ControlApi {
    client: Client,
    url: String,
    token: Option<Arc<str>>,
    calls: ControlCalls,
}

impl fmt::Debug for ControlApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlApi").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The calls that were made, each once, with `{id}` for every id.
#[derive(Debug, Clone, Default)]
struct ControlCalls(Arc<Mutex<BTreeSet<String>>>);

/// Returns a call as reports and pages name it.
fn described(method: &Method, path: &str) -> String {
    let is_id = |part: &str| part.split_once('_').is_some_and(|(prefix, _)| prefix.len() == 3);
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').map(|part| if is_id(part) { "{id}" } else { part }).collect();
    format!("{method} {}", parts.join("/"))
}

fn malformed(method: &Method, path: &str, how: &str) -> RuleAbort {
    RuleAbort::failed(format!("the control API's response to {} {how}", described(method, path)))
}

fn unreachable(method: &Method, path: &str, reason: &str) -> RuleAbort {
    RuleAbort::failed(format!("the control API at {}: {reason}", described(method, path)))
}

/// Whether a control API is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    /// It does not take the token, or wants one.
    Refused,
    /// It answers that it has failed, with this status.
    Failing(u16),
    Absent,
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
        Self {
            client,
            url: url.trim_end_matches('/').to_owned(),
            token: token.map(Arc::from),
            calls: ControlCalls::default(),
        }
    }

    /// Looks whether a control API is there, and takes the token.
    pub(crate) async fn look(&self) -> Presence {
        match self.send(Method::GET, "/health", None).await {
            Ok((200, body)) if body["status"] == "ok" => {}
            Ok((status @ 500..=599, _)) => return Presence::Failing(status),
            _ => return Presence::Absent,
        }
        // The call before needs no token. A control API that fails now is there: the rules that need it say
        // what fails.
        match self.send(Method::GET, "/clock", None).await {
            Ok((401 | 403, _)) => Presence::Refused,
            Ok((400..=499, _)) => Presence::Absent,
            _ => Presence::Present,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value), String> {
        self.note_calls(&BTreeSet::from([described(&method, path)]));
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
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, RuleAbort> {
        match self.send(method.clone(), path, body).await {
            Ok((200..=299, body)) => Ok(body),
            Ok((status, body)) => Err(RuleAbort::failed(format!(
                "the control API answered {status} to {}: {}",
                described(&method, path),
                cut(body["error"].as_str().unwrap_or("no reason given"), 200)
            ))),
            Err(reason) => Err(unreachable(&method, path, &reason)),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, RuleAbort> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>, RuleAbort> {
        match self.get(path).await? {
            Value::Array(items) => Ok(items),
            _ => Err(malformed(&Method::GET, path, "is no array")),
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, RuleAbort> {
        self.call(Method::POST, path, Some(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Result<Value, RuleAbort> {
        self.call(Method::PUT, path, Some(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, RuleAbort> {
        self.call(Method::DELETE, path, None).await
    }

    /// Returns a string in the response to a POST.
    pub(crate) async fn post_for(&self, path: &str, body: Value, field: &str) -> Result<String, RuleAbort> {
        let response = self.post(path, body).await?;
        let text = response[field].as_str().map(str::to_owned);
        text.ok_or_else(|| malformed(&Method::POST, path, &format!("has no `{field}`")))
    }

    /// Returns whether a call that may be refused is: a 4xx. Any other failure is one of the control API.
    pub(crate) async fn refuses(&self, path: &str, body: Value) -> Result<bool, RuleAbort> {
        match self.send(Method::POST, path, Some(&body)).await {
            Ok((400..=499, _)) => Ok(true),
            Ok((200..=299, _)) => Ok(false),
            Ok((status, _)) => Err(RuleAbort::failed(format!(
                "the control API answered {status} to {}",
                described(&Method::POST, path)
            ))),
            Err(reason) => Err(unreachable(&Method::POST, path, &reason)),
        }
    }

    /// Returns the time of the world, in seconds since 1970.
    pub(crate) async fn now(&self) -> Result<f64, RuleAbort> {
        let clock = self.get("/clock").await?;
        let now = clock["now"].as_str().and_then(time);
        now.ok_or_else(|| malformed(&Method::GET, "/clock", "has no time in `now`"))
    }

    /// Returns the calls that were made since the last time this was asked.
    pub(crate) fn take_calls(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.calls.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts calls that a fixture made as calls of the rule that looks at it.
    pub(crate) fn note_calls(&self, calls: &BTreeSet<String>) {
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).extend(calls.iter().cloned());
    }

    /// Moves the clock; everything that falls due on the way has happened when this returns.
    pub(crate) async fn advance(&self, seconds: u64) -> Result<(), RuleAbort> {
        self.post("/clock", json!({ "advanceSeconds": seconds })).await.map(drop)
    }

    /// Returns a new world with nothing in it and a clock that stands still.
    pub(crate) async fn new_world(&self) -> Result<TestWorld, RuleAbort> {
        let ready = self.post("/worlds", json!({ "empty": true, "clock": "manual" })).await?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let id = text(&ready["id"]).or_else(|| {
            ready["control_url"].as_str().and_then(|url| url.rsplit('/').next()).map(str::to_owned)
        });
        let made = id.zip(text(&ready["keys"]["live"])).zip(text(&ready["keys"]["test"]));
        let ((id, live_key), test_key) =
            made.ok_or_else(|| malformed(&Method::POST, "/worlds", "has no id or no keys"))?;
        let url = format!("{}/worlds/{id}", self.url);
        let control = Self { url, calls: ControlCalls::default(), ..self.clone() };
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
    failures: Mutex<Vec<RuleAbort>>,
}

impl WorldClock {
    pub(crate) fn new(control: ControlApi) -> Self {
        Self { control, now: Mutex::new(Instant::now()), failures: Mutex::default() }
    }

    /// Returns the waits that failed so far: after one of them the time of the world is not what a check
    /// takes it to be.
    pub(crate) fn failures(&self) -> Vec<RuleAbort> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let body = json!({ "advanceSeconds": wait.as_secs_f64() });
            if let Err(failure) = self.control.post("/clock", body).await {
                self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
            }
            *self.now.lock().unwrap_or_else(PoisonError::into_inner) += wait;
        })
    }
}
