//! A receiver of webhooks on this machine: it keeps what came in, and answers as the check says.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sha2::Sha256;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::rule_abort::RuleAbort;

/// One request that came in.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedWebhook {
    pub(crate) method: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ReceivedWebhook {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the event; null when the body is not JSON.
    pub(crate) fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn kind(&self) -> String {
        self.event()["type"].as_str().unwrap_or_default().to_owned()
    }

    /// As a report shows it.
    pub(crate) fn described(&self) -> String {
        format!("webhook {}", self.kind())
    }

    pub(crate) fn signatures(&self) -> Vec<&str> {
        self.header("webhook-signature").split(' ').collect()
    }

    /// Returns whether one of the signatures is this secret's.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let expected =
            signature(secret, self.header("webhook-id"), self.header("webhook-timestamp"), &self.body);
        expected.is_some_and(|expected| self.signatures().contains(&expected.as_str()))
    }
}

/// Returns the signature by the rule of the document: HMAC-SHA256 over id, timestamp and body.
fn signature(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix("whsec_")?).ok()?;
    let mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// How a receiver answers.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16),
    Redirect(String),
    /// 200, but only after this time.
    Late(Duration),
}

#[derive(Debug)]
struct Shared {
    got: Vec<ReceivedWebhook>,
    answer: Answer,
}

/// A receiver; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    task: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn start(answer: Answer) -> Result<Self, RuleAbort> {
        let failed = |error: std::io::Error| RuleAbort::failed(format!("cannot listen on loopback: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Mutex::new(Shared { got: Vec::new(), answer }));
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/conform", self.address)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it answers so.
    pub(crate) fn answer(&self, status: u16) {
        self.shared().answer = Answer::Status(status);
    }

    pub(crate) fn got(&self) -> Vec<ReceivedWebhook> {
        self.shared().got.clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Mutex<Shared>>) {
    // Ends with the receiver, and its connections with it.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(|request| take(request, Arc::clone(&shared)));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn take(
    request: Request<Incoming>,
    shared: Arc<Mutex<Shared>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let delivery = ReceivedWebhook { method: head.method.to_string(), headers: head.headers, body };
    let answer = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.got.push(delivery);
        shared.answer.clone()
    };
    let mut response = Response::new(Full::default());
    match answer {
        Answer::Status(status) => *response.status_mut() = status.try_into().unwrap_or_default(),
        Answer::Redirect(to) => {
            *response.status_mut() = http::StatusCode::TEMPORARY_REDIRECT;
            if let Ok(to) = to.parse() {
                response.headers_mut().insert("location", to);
            }
        }
        Answer::Late(wait) => tokio::time::sleep(wait).await,
    }
    Ok(response)
}
