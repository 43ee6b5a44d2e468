//! A world of the mock server, driven through its control API.

use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::{ClockMode, Control, MockServer, NewWorld};

/// How long a control call may take: moving the clock waits for webhooks.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// The server that holds the worlds.
pub(super) struct Server {
    mock: MockServer,
    http: Client,
}

impl Server {
    pub(super) async fn start() -> Result<Self, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mock = MockServer::builder().manual_clock().empty().no_console().try_start().await;
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

    /// A new world, with a key of these scopes.
    pub(super) async fn world(&self, scopes: &[String]) -> Result<World, String> {
        let main = self.mock.control().clone();
        let made = main.create_world(NewWorld::empty().clock(ClockMode::Manual)).await;
        let ready = made.map_err(|refused| refused.message)?.ready();
        let mut world = World {
            http: self.http.clone(),
            main,
            id: ready.id.unwrap_or_default(),
            url: ready.control_url,
            base_url: ready.base_url,
            key: String::new(),
            agent: String::new(),
            inbox: String::new(),
            person: String::new(),
        };
        let key = json!({ "name": KEY_NAME, "scopes": scopes, "livemode": true });
        let key = world.post("/keys", &key).await?;
        (world.key, world.agent) = (text(&key["key"]), text(&key["agentId"]));
        world.inbox = text(&world.get("/mailboxes").await?[0]["address"]);
        world.person = text(&world.get("/users").await?[0]["id"]);
        Ok(world)
    }
}

/// The name of the app's key, and so of its notes' author.
pub(super) const KEY_NAME: &str = "app";

/// A world. It ends when it is dropped.
pub(super) struct World {
    http: Client,
    main: Control,
    id: String,
    url: String,
    pub(super) base_url: String,
    pub(super) key: String,
    /// The app's agent.
    pub(super) agent: String,
    /// The address of the team inbox.
    pub(super) inbox: String,
    /// Someone on the team.
    pub(super) person: String,
}

impl World {
    /// A control call; its status and body.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let failed = |error: reqwest::Error| format!("the mock server does not answer: {error}");
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(failed)?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, String> {
        self.done(self.call(Method::GET, path, None).await?)
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.done(self.call(Method::POST, path, Some(body)).await?)
    }

    fn done(&self, (status, body): (u16, Value)) -> Result<Value, String> {
        match status {
            200..300 => Ok(body),
            _ => Err(body["error"].as_str().unwrap_or("a control call failed").to_owned()),
        }
    }

    /// The list behind a path.
    pub(super) async fn list(&self, path: &str) -> Result<Vec<Value>, String> {
        Ok(match self.get(path).await? {
            Value::Array(list) => list,
            _ => Vec::new(),
        })
    }

    pub(super) async fn advance(&self, seconds: u64) -> Result<(), String> {
        self.post("/clock", &json!({ "advanceSeconds": seconds })).await.map(drop)
    }

    /// Ends the world.
    pub(super) async fn end(self) {
        let _ = self.main.delete_world(&self.id).await;
    }
}

/// The text of a JSON value, or none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
