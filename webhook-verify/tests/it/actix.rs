//! The extractor for actix-web, through an app.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, FromRequest, HttpResponse, HttpServer, Responder, web};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use shared_inbox_webhooks::replay::{Claim, ClaimStatus, Handlers, MemoryGuard, ReplayGuard};
use shared_inbox_webhooks::{Event, Receiver, Rejection, SignedHeaders, Signer, Webhook};
use tokio::time::timeout;

use crate::fixture::{BODY, EVER, ID, NOW, current, foreign, previous, verifier};
use crate::sockets::ten_bytes_of_a_thousand;

fn receiver() -> Receiver {
    Receiver::new(verifier())
}

async fn handler(Webhook(event): Webhook<Event>) -> String {
    format!("{} by secret {}", event.kind.event_type(), event.matched_signature().secret())
}

fn with_headers(headers: &SignedHeaders) -> TestRequest {
    headers.pairs().into_iter().fold(TestRequest::post(), |request, pair| request.insert_header(pair))
}

fn signed(body: impl Into<Bytes>) -> TestRequest {
    let body = body.into();
    with_headers(&Signer::new([previous()]).sign(ID, NOW, &body)).set_payload(body)
}

async fn answer(receiver: Receiver, request: TestRequest) -> (StatusCode, String) {
    let app = init_service(App::new().app_data(receiver).route("/", web::post().to(handler))).await;
    let response = call_service(&app, request.to_request()).await;
    let status = response.status();
    (status, String::from_utf8(read_body(response).await.to_vec()).unwrap())
}

#[tokio::test]
async fn a_genuine_request_reaches_the_handler() {
    let (status, body) = answer(receiver(), signed(BODY)).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "webhook.test by secret 1"));
}

#[tokio::test]
async fn the_receiver_may_be_wrapped_as_data() {
    let app = App::new().app_data(web::Data::new(receiver())).route("/", web::post().to(handler));
    let response = call_service(&init_service(app).await, signed(BODY).to_request()).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_app_without_a_receiver_answers_with_500() {
    let app = init_service(App::new().route("/", web::post().to(handler))).await;
    let response = call_service(&app, signed(BODY).to_request()).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(read_body(response).await.is_empty());
}

#[tokio::test]
async fn a_rejected_sender_gets_a_bare_status() {
    let body = Bytes::from(BODY);
    let missing = TestRequest::post().set_payload(body.clone());
    let old = with_headers(&Signer::new([current()]).sign(ID, NOW - 301, &body)).set_payload(body.clone());
    let forged = with_headers(&Signer::new([foreign()]).sign(ID, NOW, &body)).set_payload(body.clone());
    let doubled = signed(body).append_header(("webhook-id", "evt_other"));
    for (request, status) in [
        (missing, 400),
        (doubled, 400),
        (old, 401),
        (forged, 401),
        (signed("no JSON"), 400),
        (signed(r#"{"id":"evt_other"}"#), 400),
    ] {
        assert_eq!(answer(receiver(), request).await, (StatusCode::from_u16(status).unwrap(), String::new()));
    }
}

async fn extract(request: TestRequest, mut payload: Payload) -> Result<Webhook<Event>, Rejection> {
    Webhook::from_request(&request.app_data(receiver()).to_http_request(), &mut payload).await
}

#[tokio::test]
async fn bad_headers_are_rejected_before_the_body_is_read() {
    let polled = Rc::new(Cell::new(false));
    let flag = Rc::clone(&polled);
    let body: Pin<Box<dyn Stream<Item = _>>> = Box::pin(stream::poll_fn(move |_| {
        flag.set(true);
        Poll::Ready(None::<Result<Bytes, PayloadError>>)
    }));
    let request = with_headers(&Signer::new([current()]).sign(ID, NOW - 301, b""));
    assert_eq!(extract(request, Payload::from(body)).await.unwrap_err().code(), "timestamp_too_old");
    assert!(!polled.get());
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_with_413() {
    const MIB: usize = 1 << 20;
    let padded = |size: usize| format!("{}{}", BODY, " ".repeat(size - BODY.len()));
    assert_eq!(answer(receiver(), signed(padded(MIB))).await.0, StatusCode::OK, "exactly the limit");
    for size in [MIB + 1, 3 * MIB] {
        assert_eq!(
            answer(receiver(), signed(padded(size))).await,
            (StatusCode::PAYLOAD_TOO_LARGE, String::new())
        );
    }
    let small = receiver().body_limit(BODY.len());
    assert_eq!(answer(small.clone(), signed(BODY)).await.0, StatusCode::OK);
    assert_eq!(answer(small, signed(padded(BODY.len() + 1))).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer(receiver().body_limit(4 * MIB), signed(padded(3 * MIB))).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_length_announced_over_the_limit_is_rejected_unread() {
    let request = signed(BODY).insert_header(("content-length", "1048577"));
    assert_eq!(answer(receiver(), request).await.0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn what_became_of_a_guarded_event_is_its_answer() {
    type Guarded = web::Data<Handlers<MemoryGuard>>;
    async fn guarded(
        path: web::Path<String>,
        handlers: Guarded,
        Webhook(event): Webhook<Event>,
    ) -> impl Responder {
        let delivery = event.delivery("actix");
        if *path == "busy" {
            let claim = handlers.guard().claim(&delivery).await.unwrap();
            let second = handlers.once(delivery.clone(), async |_| Ok::<_, &str>("not now")).await;
            let Claim::Granted(fence) = claim else { panic!("{claim:?}") };
            assert_eq!(handlers.guard().release(&delivery, fence).await.unwrap(), ClaimStatus::Held);
            return second;
        }
        let handler = async move |_| {
            if *path == "fails" { Err("no words of this") } else { Ok("nor of this") }
        };
        handlers.once(delivery, handler).await
    }
    let handlers = web::Data::new(Handlers::new(MemoryGuard::new()));
    let app = App::new().app_data(receiver()).app_data(handlers).route("/{path}", web::post().to(guarded));
    let app = init_service(app).await;
    for (path, status) in [("/fails", 500), ("/busy", 409), ("/works", 200), ("/fails", 200)] {
        let response = call_service(&app, signed(BODY).uri(path).to_request()).await;
        assert_eq!(response.status().as_u16(), status, "{path}");
        assert!(read_body(response).await.is_empty());
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let pieces = [Ok(Bytes::from_static(b"{")), Err(PayloadError::Incomplete(None))];
    let body: Pin<Box<dyn Stream<Item = _>>> = Box::pin(stream::iter(pieces));
    let request = with_headers(&Signer::new([current()]).sign(ID, NOW, BODY.as_bytes()));
    let rejection = extract(request, Payload::from(body)).await.unwrap_err();
    assert_eq!((rejection.code(), rejection.status()), ("body_unreadable", 400));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_answered_with_408() {
    tokio::time::pause();
    let body: Pin<Box<dyn Stream<Item = _>>> = Box::pin(stream::pending::<Result<Bytes, PayloadError>>());
    let request = with_headers(&Signer::new([current()]).sign(ID, NOW, BODY.as_bytes()));
    let start = tokio::time::Instant::now();
    let extracted = timeout(EVER, extract(request, Payload::from(body))).await.expect("an answer");
    let rejection = extracted.unwrap_err();
    assert_eq!((rejection.code(), rejection.status()), ("body_too_slow", 408));
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn actix_answers_a_body_that_stops_short_when_its_time_is_over_and_hangs_up() {
    async fn ok(_: Webhook<Event>) -> HttpResponse {
        HttpResponse::Ok().finish()
    }
    // Its workers have runtimes of their own, whose time goes by itself.
    let receiver = Receiver::new(verifier()).body_timeout(Duration::from_millis(20));
    let app = move || App::new().app_data(receiver.clone()).route("/", web::post().to(ok));
    let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let stop = server.handle();
    let served = tokio::spawn(server);
    let answer = timeout(EVER, ten_bytes_of_a_thousand(address)).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    stop.stop(false).await;
    served.await.unwrap().unwrap();
}
