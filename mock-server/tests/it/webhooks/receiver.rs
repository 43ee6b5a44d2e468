//! A real HTTP server that takes webhooks, remembers them, and answers as the test says.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
    task::JoinHandle,
};
use tokio_rustls::{TlsAcceptor, rustls};

/// One request that came in.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What it was answered with; `None` for no answer.
    pub(crate) status: Option<u16>,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} header")).to_str().unwrap()
    }

    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub(crate) fn timestamp(&self) -> i64 {
        self.header("webhook-timestamp").parse().unwrap()
    }

    pub(crate) fn signatures(&self) -> Vec<&str> {
        self.header("webhook-signature").split(' ').collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    /// Whether one of the signatures is the one that the public library makes with this secret, whatever the
    /// time.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let webhook = standardwebhooks::Webhook::new(secret).unwrap();
        let signature = webhook.sign(self.id(), self.timestamp(), &self.body).unwrap();
        self.signatures().contains(&signature.as_str())
    }

    /// The public library's own verdict, which includes the time on this machine's clock.
    pub(crate) fn verifies_with(&self, secret: &str) -> Result<(), standardwebhooks::WebhookError> {
        standardwebhooks::Webhook::new(secret).unwrap().verify(&self.body, &self.headers)
    }
}

/// How a receiver answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16),
    Redirect(String),
    /// A status with a body that never ends.
    Endless(u16),
    /// A status, and then a body that begins and never goes on.
    Unfinished(u16),
    /// 200, once this turns true.
    Held(watch::Receiver<bool>),
    /// Closes the connection without an answer.
    Drop,
    /// Says nothing, ever.
    Hang,
}

type Answer = BoxBody<Bytes, Infallible>;
type Script = Box<dyn FnMut(&ReceivedRequest) -> Reply + Send>;

struct Shared {
    received: Vec<ReceivedRequest>,
    connections: usize,
    script: Script,
}

pub(crate) struct Receiver {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Mutex<Shared>>,
    task: JoinHandle<()>,
}

impl Receiver {
    /// One that answers 200.
    pub(crate) async fn start() -> Self {
        Self::answering(200).await
    }

    /// One that always answers so.
    pub(crate) async fn answering(status: u16) -> Self {
        Self::scripted(move |_| Reply::Status(status)).await
    }

    /// One that answers 200 over TLS, with a certificate that nobody has signed.
    pub(crate) async fn secure() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.into()], made.signing_key.into())
            .unwrap();
        Self::serving(|_| Reply::Status(200), Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    pub(crate) async fn scripted(script: impl FnMut(&ReceivedRequest) -> Reply + Send + 'static) -> Self {
        Self::serving(script, None).await
    }

    async fn serving(
        script: impl FnMut(&ReceivedRequest) -> Reply + Send + 'static,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Arc::new(Mutex::new(Shared { received: Vec::new(), connections: 0, script: Box::new(script) }));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let task = tokio::spawn(serve(listener, tls, shared.clone()));
        Self { address, scheme, shared, task }
    }

    /// Ends it; nothing listens at its address when this returns.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}/hook", self.scheme, self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it answers this.
    pub(crate) fn answer(&self, status: u16) {
        self.shared.lock().unwrap().script = Box::new(move |_| Reply::Status(status));
    }

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.lock().unwrap().received.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.lock().unwrap().received.len()
    }

    /// How many connections were made to it, whatever came over them.
    pub(crate) fn connections(&self) -> usize {
        self.shared.lock().unwrap().connections
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.received().iter().map(ReceivedRequest::kind).collect()
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn ids(&self) -> Vec<String> {
        self.received().iter().map(|request| request.id().to_owned()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Mutex<Shared>>) {
    // Ends with the receiver, and its connections with it.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        shared.lock().unwrap().connections += 1;
        let (shared, tls) = (shared.clone(), tls.clone());
        connections.spawn(async move {
            match tls {
                None => converse(stream, shared).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream, shared).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Mutex<Shared>>) {
    let service = service_fn(|request| answer(request, shared.clone()));
    // A dropped answer ends the connection with an error, which is what the test wants.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Mutex<Shared>>,
) -> Result<Response<Answer>, &'static str> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "the body broke off")?.to_bytes();
    let mut received = ReceivedRequest { headers: head.headers, body, status: None };
    let reply = {
        let mut shared = shared.lock().unwrap();
        let reply = (shared.script)(&received);
        received.status = match &reply {
            Reply::Status(status) | Reply::Endless(status) | Reply::Unfinished(status) => Some(*status),
            Reply::Redirect(_) => Some(307),
            Reply::Held(_) => Some(200),
            Reply::Drop | Reply::Hang => None,
        };
        shared.received.push(received);
        reply
    };
    let response = |status: u16, body: Answer| {
        let mut response = Response::new(body);
        *response.status_mut() = status.try_into().unwrap();
        response
    };
    match reply {
        Reply::Status(status) => Ok(response(status, Full::default().boxed())),
        Reply::Endless(status) => {
            let more = Bytes::from(vec![b'x'; 64 << 10]);
            let body = stream::repeat_with(move || Ok(Frame::data(more.clone())));
            Ok(response(status, BodyExt::boxed(StreamBody::new(body))))
        }
        Reply::Unfinished(status) => {
            let start = stream::once(async { Ok(Frame::data(Bytes::from_static(b"..."))) });
            Ok(response(status, BodyExt::boxed(StreamBody::new(start.chain(stream::pending())))))
        }
        Reply::Held(mut released) => {
            let _ = released.wait_for(|released| *released).await;
            Ok(response(200, Full::default().boxed()))
        }
        Reply::Redirect(to) => {
            let mut response = response(307, Full::default().boxed());
            response.headers_mut().insert("location", to.parse().unwrap());
            Ok(response)
        }
        Reply::Drop => Err("dropped, as the test says"),
        Reply::Hang => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
    }
}
