//! A proxy between the suite and the mock that changes one thing at a time: a request, a response, or a
//! webhook.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

/// A request on its way to the mock.
#[derive(Debug, Clone)]
pub(crate) struct ProxyRequest {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ProxyRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn set_json(&mut self, value: &Value) {
        self.body = value.to_string().into();
    }

    /// Whether this is such a request: `POST /conversations/*/notes`, `GET /me`, `POST /mcp`.
    pub(crate) fn is(&self, what: &str) -> bool {
        let Some((method, pattern)) = what.split_once(' ') else { return false };
        let path = self.path.split('?').next().unwrap_or_default();
        let path = path.strip_prefix("/api/v1").unwrap_or(path);
        let same = |(one, other): (&str, &str)| one == "*" || one == other;
        self.method.as_str() == method
            && pattern.split('/').count() == path.split('/').count()
            && pattern.split('/').zip(path.split('/')).all(same)
    }

    /// The path without this parameter.
    pub(crate) fn drop_parameter(&mut self, name: &str) {
        if let Some((path, query)) = self.path.clone().split_once('?') {
            let kept: Vec<&str> =
                query.split('&').filter(|it| !it.starts_with(&format!("{name}="))).collect();
            self.path = format!("{path}?{}", kept.join("&"));
        }
    }
}

/// A response on its way back.
#[derive(Debug, Clone)]
pub(crate) struct ProxyResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ProxyResponse {
    pub(crate) fn new(status: u16, body: &Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { status, headers, body: body.to_string().into() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn set_json(&mut self, value: &Value) {
        self.body = value.to_string().into();
    }
}

/// What becomes of a request.
pub(crate) enum Route {
    /// It goes on to the mock.
    Forward,
    /// It goes on twice; the second response counts.
    ForwardTwice,
    /// It never arrives; the connection closes.
    Close,
    /// It never arrives; the proxy responds itself.
    Respond(ProxyResponse),
}

impl Route {
    pub(crate) fn respond(status: u16, body: &Value) -> Self {
        Self::Respond(ProxyResponse::new(status, body))
    }
}

type Before = dyn Fn(&mut ProxyRequest) -> Route + Send + Sync;
type After = dyn Fn(&ProxyRequest, &mut ProxyResponse) + Send + Sync;
/// A webhook on its way to the receiver; how often it arrives.
type Relay = dyn Fn(&mut ProxyRequest) -> usize + Send + Sync;
/// The receiver's status, as the mock sees it.
type ReceiverStatus = dyn Fn(u16) -> u16 + Send + Sync;

/// What a proxy changes.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    pub(crate) before: Option<Arc<Before>>,
    pub(crate) after: Option<Arc<After>>,
    pub(crate) relay: Option<Arc<Relay>>,
    pub(crate) receiver_status: Option<Arc<ReceiverStatus>>,
}

struct Shared {
    target: String,
    own: String,
    client: reqwest::Client,
    changes: Mutex<Changes>,
    seen: Mutex<Vec<(Method, String)>>,
}

/// A proxy in front of a server.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// In front of the server whose REST API is at this address.
    pub(crate) async fn start(base_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own: SocketAddr = listener.local_addr().expect("an address");
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .build()
            .expect("a client");
        let shared = Arc::new(Shared {
            target: base_url.trim_end_matches("/api/v1").to_owned(),
            own: format!("http://{own}"),
            client,
            changes: Mutex::default(),
            seen: Mutex::default(),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { shared, task }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("{}/api/v1", self.shared.own)
    }

    pub(crate) fn change(&self, changes: Changes) {
        *self.shared.changes.lock().unwrap() = changes;
    }

    /// The methods and paths of what came through.
    pub(crate) fn seen(&self) -> Vec<(Method, String)> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(|request| handle(request, Arc::clone(&shared)));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn handle(request: Request<Incoming>, shared: Arc<Shared>) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path_and_query().map(|it| it.as_str().to_owned()).unwrap_or_default();
    let mut request = ProxyRequest { method: head.method, path, headers: head.headers, body };
    let changes = shared.changes.lock().unwrap().clone();
    let sent_back = match request.path.strip_prefix("/relay/").map(str::to_owned) {
        Some(to) => Some(relay(&shared, &changes, request, &to).await),
        None => {
            shared.seen.lock().unwrap().push((request.method.clone(), request.path.clone()));
            // Webhooks come by here too.
            if request.is("POST /_mock/worlds/*/webhooks") {
                let mut hook = request.json();
                let url = hook["url"].as_str().unwrap_or_default().to_owned();
                if let Some(at) = url.strip_prefix("http://127.0.0.1:") {
                    hook["url"] = format!("{}/relay/{at}", shared.own).into();
                    request.set_json(&hook);
                }
            }
            forward(&shared, &changes, request).await
        }
    };
    let sent_back = sent_back.ok_or(io::ErrorKind::ConnectionAborted)?;
    let mut response = Response::new(Full::new(sent_back.body));
    *response.status_mut() = sent_back.status.try_into().expect("a status");
    *response.headers_mut() = sent_back.headers;
    Ok(response)
}

async fn forward(shared: &Shared, changes: &Changes, mut request: ProxyRequest) -> Option<ProxyResponse> {
    let route = changes.before.as_ref().map_or(Route::Forward, |before| before(&mut request));
    let url = format!("{}{}", shared.target, request.path);
    let mut response = match route {
        Route::Close => return None,
        Route::Respond(response) => return Some(response),
        Route::Forward => send(&shared.client, &url, &request).await,
        Route::ForwardTwice => {
            send(&shared.client, &url, &request).await;
            send(&shared.client, &url, &request).await
        }
    };
    if let Some(after) = &changes.after {
        after(&request, &mut response);
    }
    Some(response)
}

async fn relay(shared: &Shared, changes: &Changes, mut request: ProxyRequest, to: &str) -> ProxyResponse {
    let times = changes.relay.as_ref().map_or(1, |relay| relay(&mut request));
    let mut response = ProxyResponse::new(200, &Value::Null);
    for _ in 0..times {
        response = send(&shared.client, &format!("http://127.0.0.1:{to}"), &request).await;
    }
    if let Some(change) = &changes.receiver_status {
        response.status = change(response.status);
    }
    response
}

async fn send(client: &reqwest::Client, url: &str, request: &ProxyRequest) -> ProxyResponse {
    let mut headers = request.headers.clone();
    for name in [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION] {
        headers.remove(name);
    }
    let request = client.request(request.method.clone(), url).headers(headers).body(request.body.clone());
    let Ok(response) = request.send().await else { return ProxyResponse::new(502, &Value::Null) };
    let (status, mut headers) = (response.status().as_u16(), response.headers().clone());
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION] {
        headers.remove(name);
    }
    ProxyResponse { status, headers, body: response.bytes().await.unwrap_or_default() }
}
