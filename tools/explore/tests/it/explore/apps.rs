//! What small apps are made of: raw requests, as a program in any language would send them.

use std::{future::Future, path::PathBuf, pin::Pin, time::Duration};

use serde_json::{Value, json};
use shared_inbox_explore::explore::AppContext;

/// The result of an app, or why it failed.
pub(crate) type AppResult<T = ()> = Result<T, String>;
pub(crate) type AppFuture = Pin<Box<dyn Future<Output = AppResult> + Send>>;

/// Why a request failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The service answered so.
    Status(u16),
    /// There was no whole response.
    Lost,
}

impl From<RequestError> for String {
    fn from(error: RequestError) -> Self {
        format!("{error:?}")
    }
}

/// How long an app waits for the service.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn http_client(timeout: Duration) -> reqwest::Client {
    // A program of its own has no provider of cryptography yet.
    _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        // Loading the system's certificates takes longer than all requests.
        .tls_certs_only([])
        .retry(reqwest::retry::never())
        .timeout(timeout);
    client.build().expect("a client")
}

/// The service as the app sees it.
#[derive(Clone)]
pub(crate) struct Api {
    http: reqwest::Client,
    base_url: String,
    key: String,
    state_dir: PathBuf,
}

impl Api {
    pub(crate) fn new(context: AppContext) -> Self {
        Self::with(context.base_url, context.key, context.state_dir)
    }

    pub(crate) fn with(base_url: String, key: String, state_dir: PathBuf) -> Self {
        Self::with_timeout(base_url, key, state_dir, TIMEOUT)
    }

    pub(crate) fn with_timeout(base_url: String, key: String, state_dir: PathBuf, timeout: Duration) -> Self {
        Self { http: http_client(timeout), base_url, key, state_dir }
    }

    async fn ask(&self, request: reqwest::RequestBuilder) -> Result<Value, RequestError> {
        let response = request.bearer_auth(&self.key).send().await.map_err(|_| RequestError::Lost)?;
        let status = response.status();
        let body = response.bytes().await.map_err(|_| RequestError::Lost)?;
        if !status.is_success() {
            return Err(RequestError::Status(status.as_u16()));
        }
        serde_json::from_slice(&body).map_err(|_| RequestError::Lost)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, RequestError> {
        self.ask(self.http.get(format!("{}{path}", self.base_url))).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, RequestError> {
        self.ask(self.http.post(format!("{}{path}", self.base_url)).json(&body)).await
    }

    /// Open conversations.
    pub(crate) async fn open(&self) -> Result<Vec<Value>, RequestError> {
        Ok(items(&self.get("/conversations?limit=100").await?).to_vec())
    }

    /// Open and waiting conversations, each once.
    pub(crate) async fn open_and_waiting(&self) -> Result<Vec<Value>, RequestError> {
        let mut all = self.open().await?;
        for entry in items(&self.get("/conversations?limit=100&view=waiting").await?) {
            // One that has left meanwhile is in both lists.
            if !all.iter().any(|known| id(known) == id(entry)) {
                all.push(entry.clone());
            }
        }
        Ok(all)
    }

    pub(crate) async fn read(&self, id: &str) -> Result<Value, RequestError> {
        self.get(&format!("/conversations/{id}")).await
    }

    /// Conversations, open and waiting, as they are when they are read, without those that are for people.
    pub(crate) async fn conversations(&self) -> AppResult<Vec<Value>> {
        let mut conversations = Vec::new();
        for entry in self.open_and_waiting().await? {
            conversations.push(self.read(id(&entry)).await?);
        }
        conversations.retain(|conversation| !is_for_people(conversation));
        Ok(conversations)
    }

    pub(crate) async fn draft(&self, id: &str, text: &str) -> Result<Value, RequestError> {
        self.post(&format!("/conversations/{id}/replies"), json!({ "body": text })).await
    }

    pub(crate) async fn send(&self, id: &str, text: &str) -> Result<Value, RequestError> {
        self.post(&format!("/conversations/{id}/replies"), json!({ "body": text, "send": true })).await
    }

    pub(crate) async fn set_status(&self, id: &str, status: &str) -> Result<Value, RequestError> {
        self.post(&format!("/conversations/{id}/status"), json!({ "status": status })).await
    }

    pub(crate) async fn note(&self, id: &str, text: &str) -> Result<Value, RequestError> {
        self.post(&format!("/conversations/{id}/notes"), json!({ "body": text })).await
    }

    pub(crate) async fn tag(&self, id: &str, tag: &str) -> Result<Value, RequestError> {
        self.post(&format!("/conversations/{id}/tags"), json!({ "add": [tag] })).await
    }

    /// Drafts an answer to whatever the list shows, and sets the status last.
    pub(crate) async fn answer_what_the_list_shows(&self) -> AppResult {
        for entry in self.open().await? {
            if let Some(order) = order(&entry["snippet"]) {
                self.draft(id(&entry), &answer(order)).await?;
                self.set_status(id(&entry), "waiting").await?;
            }
        }
        Ok(())
    }

    /// A file of the app's state.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.state_dir.join(name)
    }
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn id(of: &Value) -> &str {
    of["id"].as_str().expect("an id")
}

/// The order that a mail names.
pub(crate) fn order(text: &Value) -> Option<&str> {
    let mut words = text.as_str()?.split(|c: char| !c.is_ascii_digit());
    words.find(|word| word.len() == 4 && word.starts_with("10"))
}

pub(crate) fn answer(order: &str) -> String {
    format!("Your order {order} is on its way.")
}

/// Whether the team should leave it to a person.
pub(crate) fn is_for_people(conversation: &Value) -> bool {
    conversation["assignee"]["type"] == "user" || !conversation["risk"].is_null()
}

/// What happened after the customer's last mail, and that mail.
pub(crate) fn since_last_mail(conversation: &Value) -> (Option<&Value>, &[Value]) {
    let timeline = items(&conversation["timeline"]);
    let last = timeline.iter().rposition(|item| item["direction"] == "inbound");
    last.map_or((None, timeline), |last| (Some(&timeline[last]), &timeline[last + 1..]))
}

/// What happened after the customer's last mail that names an order, and that mail.
pub(crate) fn since_last_order(conversation: &Value) -> (Option<&Value>, &[Value]) {
    let timeline = items(&conversation["timeline"]);
    let asks = |item: &Value| item["direction"] == "inbound" && order(&item["text"]).is_some();
    let last = timeline.iter().rposition(asks);
    last.map_or((None, timeline), |last| (Some(&timeline[last]), &timeline[last + 1..]))
}

/// The orders that the customer asked for.
pub(crate) fn asked_orders(conversation: &Value) -> Vec<&str> {
    let mails = items(&conversation["timeline"]).iter().filter(|item| item["direction"] == "inbound");
    let mut orders: Vec<&str> = mails.filter_map(|mail| order(&mail["text"])).collect();
    orders.dedup();
    orders
}

/// The orders that the customer asked for without an answer: no message behind the mail names the order, and
/// no person has written or discarded since.
pub(crate) fn open_orders(conversation: &Value) -> Vec<&str> {
    let timeline = items(&conversation["timeline"]);
    let mut open = Vec::new();
    for (n, mail) in timeline.iter().enumerate().filter(|(_, item)| item["direction"] == "inbound") {
        let Some(wanted) = order(&mail["text"]) else { continue };
        let deals = |item: &Value| {
            let named = order(&item["text"]);
            item["event"] == "draft-discarded"
                || (item["direction"] == "outbound" && named.is_none_or(|named| named == wanted))
        };
        if !open.contains(&wanted) && !timeline[n + 1..].iter().any(deals) {
            open.push(wanted);
        }
    }
    open
}

/// Whether somebody has answered, or a person did not want the app's answer.
pub(crate) fn is_dealt_with(since: &[Value]) -> bool {
    since.iter().any(|item| item["direction"] == "outbound" || item["event"] == "draft-discarded")
}
