//! The extractor for axum, through a router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::FromRef;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, StatusCode};
use shared_inbox_webhooks::replay::{MemoryGuard, once};
use shared_inbox_webhooks::{Event, Receiver, Rejection, Signer, Verifier, Webhook};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::fixture::{BODY, EVER, ID, NOW, current, foreign, previous, verifier};

fn receiver() -> Receiver {
    Receiver::new(verifier())
}

fn app(receiver: Receiver) -> Router {
    async fn handler(Webhook(event): Webhook<Event>) -> String {
        format!("{} by secret {}", event.kind.event_type(), event.matched_signature().secret())
    }
    Router::new().route("/", post(handler)).with_state(receiver)
}

fn signed(body: impl Into<Bytes>) -> Request<Body> {
    let body = body.into();
    let headers = Signer::new([previous()]).sign(ID, NOW, &body);
    let mut request = Request::post("/");
    for (name, value) in headers.pairs() {
        request = request.header(name, value);
    }
    request.body(Body::from(body)).unwrap()
}

async fn answer(app: Router, request: Request<Body>) -> (StatusCode, String) {
    let response = app.oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_genuine_request_reaches_the_handler() {
    let (status, body) = answer(app(receiver()), signed(BODY)).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "webhook.test by secret 1"));
}

#[tokio::test]
async fn the_receiver_can_be_a_part_of_the_state() {
    #[derive(Clone)]
    struct State {
        receiver: Receiver,
        name: &'static str,
    }
    impl FromRef<State> for Receiver {
        fn from_ref(state: &State) -> Self {
            state.receiver.clone()
        }
    }
    async fn handler(
        axum::extract::State(state): axum::extract::State<State>,
        Webhook(event): Webhook<serde_json::Value>,
    ) -> String {
        format!("{} {}", state.name, event["type"])
    }
    let app = Router::new().route("/", post(handler)).with_state(State { receiver: receiver(), name: "app" });
    assert_eq!(answer(app, signed(BODY)).await, (StatusCode::OK, "app \"webhook.test\"".to_owned()));
}

#[tokio::test]
async fn a_rejected_sender_gets_a_bare_status() {
    let missing = Request::post("/").body(Body::from(BODY)).unwrap();
    let mut old = signed(BODY);
    *old.headers_mut() = header_map(&Signer::new([current()]).sign(ID, NOW - 301, BODY.as_bytes()));
    let mut forged = signed(BODY);
    *forged.headers_mut() = header_map(&Signer::new([foreign()]).sign(ID, NOW, BODY.as_bytes()));
    for (request, status) in [
        (missing, 400),
        (old, 401),
        (forged, 401),
        (signed("no JSON"), 400),
        (signed(r#"{"id":"evt_other"}"#), 400),
    ] {
        assert_eq!(
            answer(app(receiver()), request).await,
            (StatusCode::from_u16(status).unwrap(), String::new())
        );
    }
}

fn header_map(headers: &shared_inbox_webhooks::SignedHeaders) -> http::HeaderMap {
    headers.pairs().into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[tokio::test]
async fn bad_headers_are_rejected_before_the_body_is_read() {
    let polled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&polled);
    let body = Body::from_stream(stream::poll_fn(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::task::Poll::Ready(None::<Result<Bytes, Infallible>>)
    }));
    let mut request = Request::post("/").body(body).unwrap();
    *request.headers_mut() = header_map(&Signer::new([current()]).sign(ID, NOW - 301, b""));
    assert_eq!(answer(app(receiver()), request).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(polled.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_with_413() {
    const MIB: usize = 1 << 20;
    let padded = |size: usize| {
        let filler = size - BODY.len();
        format!("{}{}", BODY, " ".repeat(filler))
    };
    assert_eq!(answer(app(receiver()), signed(padded(MIB))).await.0, StatusCode::OK, "exactly the limit");
    for size in [MIB + 1, 3 * MIB] {
        assert_eq!(
            answer(app(receiver()), signed(padded(size))).await,
            (StatusCode::PAYLOAD_TOO_LARGE, String::new())
        );
    }
    let small = || app(receiver().body_limit(BODY.len()));
    assert_eq!(answer(small(), signed(BODY)).await.0, StatusCode::OK);
    assert_eq!(answer(small(), signed(padded(BODY.len() + 1))).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let large = app(receiver().body_limit(4 * MIB));
    assert_eq!(
        answer(large, signed(padded(3 * MIB))).await.0,
        StatusCode::OK,
        "axum's own limit does not get in the way"
    );
}

/// A body whose length is not announced.
fn in_pieces(request: Request<Body>, pieces: Vec<Result<Bytes, std::io::Error>>) -> Request<Body> {
    request.map(|_| Body::from_stream(stream::iter(pieces)))
}

#[tokio::test]
async fn a_body_in_pieces_is_read_up_to_the_limit_and_no_further() {
    let pieces =
        || BODY.as_bytes().chunks(10).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>();
    assert_eq!(answer(app(receiver()), in_pieces(signed(BODY), pieces())).await.0, StatusCode::OK);
    let mut endless = pieces();
    endless.extend((0..3).map(|_| Ok(Bytes::from(vec![b' '; 1 << 20]))));
    assert_eq!(
        answer(app(receiver()), in_pieces(signed(BODY), endless)).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}

#[tokio::test]
async fn a_length_announced_over_the_limit_is_rejected_unread() {
    struct Announced;
    impl http_body::Body for Announced {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            panic!("the body was read")
        }
        fn size_hint(&self) -> http_body::SizeHint {
            http_body::SizeHint::with_exact((1 << 20) + 1)
        }
    }
    let request = signed(BODY).map(|_| Body::new(Announced));
    assert_eq!(answer(app(receiver()), request).await, (StatusCode::PAYLOAD_TOO_LARGE, String::new()));
}

#[tokio::test]
async fn what_became_of_a_guarded_event_is_its_answer() {
    async fn once_with(webhook: Webhook<Event>, fails: bool) -> Response {
        static SEEN: LazyLock<MemoryGuard> = LazyLock::new(MemoryGuard::new);
        let delivery = webhook.0.delivery("axum");
        let handler = async |_| if fails { Err("no words of this") } else { Ok("nor of this") };
        let during = once(&*SEEN, &delivery, async |claim| {
            let second = once(&*SEEN, &delivery, handler).await.into_response();
            assert_eq!(second.status(), StatusCode::CONFLICT, "while the first is at work");
            handler(claim).await
        });
        during.await.into_response()
    }
    let app = Router::new()
        .route("/fails", post(|webhook| once_with(webhook, true)))
        .route("/", post(|webhook| once_with(webhook, false)))
        .with_state(receiver());
    for (path, status) in [("/fails", 500), ("/", 200), ("/", 200), ("/fails", 200)] {
        let mut request = signed(BODY);
        *request.uri_mut() = path.parse().unwrap();
        let expected = (StatusCode::from_u16(status).unwrap(), String::new());
        assert_eq!(answer(app.clone(), request).await, expected, "{path}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let broken = vec![Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("reset"))];
    assert_eq!(
        answer(app(receiver()), in_pieces(signed(BODY), broken)).await,
        (StatusCode::BAD_REQUEST, String::new())
    );
}

#[tokio::test]
async fn a_handler_can_ask_for_the_rejection() {
    async fn handler(webhook: Result<Webhook<Event>, Rejection>) -> String {
        webhook.map_or_else(|rejection| rejection.code().to_owned(), |_| "ok".to_owned())
    }
    let app = Router::new().route("/", post(handler)).with_state(receiver());
    let request = Request::post("/").body(Body::empty()).unwrap();
    assert_eq!(answer(app, request).await, (StatusCode::OK, "id_missing".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_answered_with_408() {
    let stalled = || {
        let start = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"id\":\"ev"))]);
        signed(BODY).map(|_| Body::from_stream(start.chain(stream::pending())))
    };
    for (receiver, seconds) in [(receiver(), 10), (receiver().body_timeout(Duration::from_secs(3)), 3)] {
        let start = tokio::time::Instant::now();
        let answered = timeout(EVER, answer(app(receiver), stalled())).await.expect("an answer");
        assert_eq!(answered, (StatusCode::REQUEST_TIMEOUT, String::new()));
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test]
async fn the_operator_hears_of_every_rejection() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let receiver = receiver().on_rejected(move |rejection| log.lock().unwrap().push(rejection.code()));
    let mut hour_off = signed(BODY);
    *hour_off.headers_mut() = header_map(&Signer::new([current()]).sign(ID, NOW - 3600, BODY.as_bytes()));
    let mut rewritten = signed(BODY);
    *rewritten.body_mut() = Body::from(BODY.replace("\":", "\": "));
    assert!(format!("{receiver:?}").contains("body_limit: 1048576, body_timeout: 10s"));
    let requests = [
        Request::post("/").body(Body::empty()).unwrap(),
        hour_off,
        rewritten,
        signed("no JSON"),
        signed(vec![b' '; 2 << 20]),
        in_pieces(signed(BODY), vec![Err(std::io::Error::other("reset"))]),
        signed(BODY),
    ];
    for request in requests {
        answer(app(receiver.clone()), request).await;
    }
    let expected = [
        "id_missing",
        "timestamp_too_old",
        "signature_mismatch",
        "body_not_json",
        "body_too_large",
        "body_unreadable",
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn few_rejections_are_looked_into_and_never_on_the_thread_that_serves() {
    let seconds = Arc::new(AtomicU64::new(NOW));
    let clock = Arc::clone(&seconds);
    let verifier = Verifier::new([current()])
        .clock(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst)));
    let (send, mut diagnoses) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::new(verifier).diagnose_rejected(Duration::from_secs(60), move |diagnosis| {
        let codes: Vec<_> = diagnosis.hints().iter().map(|hint| hint.code()).collect();
        send.send((codes, std::thread::current().id())).unwrap();
    });
    let rewritten = || {
        let mut request = signed(BODY);
        let body = BODY.replace("\":", "\": ");
        *request.headers_mut() = header_map(&Signer::new([current()]).sign(ID, NOW, BODY.as_bytes()));
        *request.body_mut() = Body::from(body);
        request
    };
    for _ in 0..5 {
        assert_eq!(answer(app(receiver.clone()), rewritten()).await.0, StatusCode::UNAUTHORIZED);
    }
    seconds.fetch_add(60, Ordering::SeqCst);
    assert_eq!(answer(app(receiver.clone()), Request::post("/").body(Body::empty()).unwrap()).await.0, 400);
    seconds.fetch_add(60, Ordering::SeqCst);
    let large = signed(vec![b'{'; 1 << 20]);
    assert_eq!(answer(app(receiver), large).await.0, StatusCode::UNAUTHORIZED);
    let mut heard = Vec::new();
    while let Some((codes, thread)) = diagnoses.recv().await {
        assert_ne!(thread, std::thread::current().id());
        heard.push(codes);
    }
    heard.sort();
    assert_eq!(heard, [vec![], vec!["body_rewritten"], vec!["id_missing"]]);
}
