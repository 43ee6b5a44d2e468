//! A mock server and the calls that tests make, over HTTP. Every answer of the service is held against the
//! OpenAPI document that the server itself serves.

mod document;

use std::time::Duration;

use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, MockServerBuilder};

pub(crate) use document::Document;

/// A server with a workspace that is empty, a clock that stands still and no limit of requests.
pub(crate) struct Kit {
    pub(crate) mock: MockServer,
    http: reqwest::Client,
    document: Document,
}

/// A client for tests that start no server in this process, which would have provided for TLS.
pub(crate) fn requests() -> reqwest::Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().expect("a client")
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a whole body");
        Self { status, headers, text }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The JSON of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The sentence of an error with this status, whose body has that one field.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> String {
        let body = self.expect(status);
        let fields = body.as_object().expect("an object");
        assert_eq!(fields.len(), 1, "{body}");
        assert_eq!(self.headers["content-type"], "application/json");
        fields["error"].as_str().expect("a sentence").to_owned()
    }
}

/// The service as one key sees it.
#[derive(Clone)]
pub(crate) struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
    document: Document,
}

impl Api {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.document.ask(request).await
    }

    /// Posts to the end of a conversation's path, and expects success.
    pub(crate) async fn act(&self, conversation: &str, what: &str, body: Value) -> Value {
        let reply = self.post(&format!("/conversations/{conversation}/{what}"), body).await;
        assert!((200..300).contains(&reply.status), "{what}: {reply:?}");
        reply.json()
    }

    /// The timeline of a conversation.
    pub(crate) async fn timeline(&self, conversation: &str) -> Vec<Value> {
        self.conversation(conversation).await["timeline"].as_array().expect("a timeline").clone()
    }

    pub(crate) async fn conversation(&self, conversation: &str) -> Value {
        self.get(&format!("/conversations/{conversation}")).await.expect(200)
    }

    /// The ids that a list gives.
    pub(crate) async fn listed(&self, query: &str) -> Vec<String> {
        texts(&self.get(&format!("/conversations{query}")).await.expect(200), "id")
    }
}

impl Kit {
    pub(crate) async fn start() -> Self {
        Self::with(MockServer::builder().manual_clock().empty().no_rate_limit()).await
    }

    pub(crate) async fn with(builder: MockServerBuilder) -> Self {
        Self::over(builder.start().await).await
    }

    /// A kit for a server that runs already, with connections of its own.
    pub(crate) async fn over(mock: MockServer) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // Long enough for the heaviest test on a machine that is busy with other things.
            .timeout(Duration::from_secs(120))
            // A server that is told to be impatient closes what is idle, perhaps just when it would be used
            // again.
            .pool_max_idle_per_host(0)
            .build()
            .expect("a client");
        let document = Document::served(&http, &mock).await;
        Self { mock, http, document }
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    pub(crate) fn live(&self) -> Api {
        self.api(self.mock.live_key())
    }

    pub(crate) fn sandbox(&self) -> Api {
        self.api(self.mock.test_key())
    }

    pub(crate) fn api(&self, key: &str) -> Api {
        Api {
            http: self.http.clone(),
            base: self.mock.base_url().to_owned(),
            key: key.to_owned(),
            document: self.document.clone(),
        }
    }

    /// A live key with these scopes, and its agent.
    pub(crate) async fn key(&self, name: &str, scopes: &[&str]) -> (Api, String) {
        let made =
            self.control("POST", "/keys", json!({ "name": name, "scopes": scopes, "livemode": true })).await;
        let made = made.expect(201);
        (self.api(made["key"].as_str().expect("a key")), text(&made["agentId"]))
    }

    /// A call of the control API.
    pub(crate) async fn control(&self, method: &str, path: &str, body: Value) -> Reply {
        self.control_at(self.mock.control_url(), method, path, body).await
    }

    /// A call of the control API of one of several worlds.
    pub(crate) async fn control_at(&self, control_url: &str, method: &str, path: &str, body: Value) -> Reply {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.http.request(method, format!("{control_url}{path}"));
        if !body.is_null() {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.ask(request).await
    }

    /// Sends a request of any kind, and holds its answer against what is allowed.
    pub(crate) async fn ask(&self, request: reqwest::RequestBuilder) -> Reply {
        self.document.ask(request).await
    }

    /// What the control API shows.
    pub(crate) async fn look(&self, path: &str) -> Value {
        self.control("GET", path, Value::Null).await.expect(200)
    }

    /// A list that the control API shows.
    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        self.look(path).await.as_array().expect("a list").clone()
    }

    /// Does something by the control API.
    pub(crate) async fn act(&self, path: &str, body: Value) -> Value {
        let reply = self.control("POST", path, body).await;
        assert!((200..300).contains(&reply.status), "{path}: {reply:?}");
        reply.expect(reply.status)
    }

    pub(crate) async fn advance(&self, seconds: u64) -> Value {
        self.act("/clock", json!({ "advanceSeconds": seconds })).await
    }

    /// The address of the team inbox.
    pub(crate) async fn inbox(&self) -> String {
        let team = |it: &&Value| it["owner"].is_null() && it["sandbox"] == false;
        text(&self.list("/mailboxes").await.iter().find(team).expect("a team inbox")["address"])
    }

    /// A mail to the team inbox; the id of the conversation that it started.
    pub(crate) async fn mail(&self, from: &str, said: &str) -> String {
        let mail = json!({ "to": self.inbox().await, "from": from, "subject": "Hello", "text": said });
        text(&self.act("/inbound", mail).await["conversationId"])
    }

    /// A simulated mail; the id of the conversation that it started in the sandbox.
    pub(crate) async fn sandbox_mail(&self, from: &str) -> String {
        let mail = json!({ "from": from, "text": "Where is my order?" });
        text(&self.sandbox().post("/sandbox/inbound", mail).await.expect(201)["conversationId"])
    }
}

/// A client that follows the changes of a world as server-sent events.
pub(crate) struct Follower {
    stream: reqwest::Response,
    seen: String,
}

impl Follower {
    /// Follows from here on: the server's opening line has been read.
    pub(crate) async fn start(kit: &Kit, query: &str) -> Self {
        let url = format!("{}/events{query}", kit.mock.control_url());
        Self::of(kit.http.get(url).send().await.expect("an answer")).await
    }

    /// Follows what has been asked for already.
    pub(crate) async fn of(stream: reqwest::Response) -> Self {
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        let mut follower = Self { stream, seen: String::new() };
        follower.until("").await;
        follower
    }

    /// All that comes up to the first event with this in it.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        loop {
            let end = self.seen.find(wanted).and_then(|at| Some(at + self.seen[at..].find("\n\n")? + 2));
            if let Some(end) = end {
                let rest = self.seen.split_off(end);
                return std::mem::replace(&mut self.seen, rest);
            }
            let chunk = self.stream.chunk().await.expect("bytes");
            let chunk = chunk.unwrap_or_else(|| panic!("no {wanted}: {}", self.seen));
            self.seen.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }
}

/// The texts of one field in a list of objects.
#[track_caller]
pub(crate) fn texts(list: &Value, field: &str) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|it| text(&it[field])).collect()
}

/// The text of a JSON string.
#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}
