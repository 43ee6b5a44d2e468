//! Requests of any server: bodies of any kind, and a layer in front of any service.

use std::convert::Infallible;
use std::time::{Duration, SystemTime};

use axum::{Extension, Router, routing::post};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use shared_inbox_webhooks::event::ClientReplied;
use shared_inbox_webhooks::replay::Delivery;
use shared_inbox_webhooks::{Event, EventKind, Receiver, Verified, Verifier, VerifyLayer, testing};
use tower::{Layer, ServiceExt, service_fn};

use crate::fixture::{BODY, ID, current, foreign, previous, receiver, signed_by};

fn full() -> Full<Bytes> {
    Full::from(BODY)
}

fn signed<B>(by: shared_inbox_webhooks::Secret, body: B) -> Request<B> {
    let mut request = Request::post("/").body(body).unwrap();
    for (name, value) in signed_by(by, BODY.as_bytes()).pairs() {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn a_request_with_any_body_is_received() {
    let event: Verified<Event> = receiver().receive(signed(current(), full())).await.unwrap();
    assert!(matches!(event.kind, EventKind::WebhookTest(_)));
    assert_eq!(event.delivery("/hook"), Delivery::new("/hook", ID));
    let boxed = full().map_err(|never| -> std::io::Error { match never {} }).boxed_unsync();
    let (head, body) = signed(current(), boxed).into_parts();
    let bytes = receiver().receive_bytes(&head.headers, body).await.unwrap();
    assert_eq!((&bytes[..], bytes.matched_signature().secret()), (BODY.as_bytes(), 0));
    assert_eq!(bytes.parse::<Event>().unwrap().id.as_str(), ID);
    let lost = receiver().receive::<Event, _>(signed(current(), Empty::<Bytes>::new())).await.unwrap_err();
    assert_eq!(lost.code(), "signature_mismatch");
}

#[tokio::test]
async fn an_event_that_a_test_has_signed_is_what_the_service_would_send() {
    let reply =
        ClientReplied::new("cnv_1".parse().unwrap(), "msg_1".parse().unwrap(), "mbx_1".parse().unwrap());
    let event = Event::new("evt_1".parse().unwrap(), EventKind::ClientReplied(reply));
    let receiver = Receiver::builder().secrets([current()]).require_test().build();
    let request = testing::signed(&current(), &event).to_http::<Full<Bytes>>("/hook");
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/hook"));
    let received: Verified<Event> = receiver.receive(request).await.unwrap();
    assert_eq!((&received.id, &received.kind), (&event.id, &event.kind));
    assert!(
        received.created_at.is_some() && received.workspace.is_some() && received.livemode == Some(false)
    );
    // With plain values, for a server of any other kind.
    let by_hand = testing::signed(&previous(), &event);
    let verifier = Verifier::new([current(), previous()]);
    let verified = verifier.verify(by_hand.headers(), by_hand.body()).unwrap();
    assert_eq!((verified.matched_signature().id(), verified.matched_signature().secret()), ("evt_1", 1));

    let mut live = event.clone();
    live.livemode = Some(true);
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    for (signed, code) in [
        (testing::signed(&foreign(), &event), "signature_mismatch"),
        (testing::signed_at(&current(), &event, an_hour_ago), "timestamp_too_old"),
        (testing::signed(&current(), live), "wrong_mode"),
    ] {
        let rejected = receiver.receive::<Event, _>(signed.to_http::<Full<Bytes>>("/hook")).await;
        assert_eq!(rejected.unwrap_err().code(), code);
    }
}

#[test]
fn a_request_is_received_without_a_runtime() {
    use std::task::{Context, Poll, Waker};
    let receiver = receiver();
    let mut receiving = std::pin::pin!(receiver.receive::<Event, _>(signed(current(), full())));
    let Poll::Ready(event) = receiving.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("there is nothing to wait for")
    };
    assert_eq!(event.unwrap().id.as_str(), ID);
}

#[tokio::test]
async fn a_layer_hands_on_what_is_genuine_with_its_proof_and_answers_the_rest() {
    let inner = service_fn(async |request: Request<Full<Bytes>>| {
        let verified = request.extensions().get::<Verified<Bytes>>().unwrap().clone();
        assert_eq!(verified.matched_signature().id(), ID);
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, *verified);
        Ok::<_, Infallible>(Response::new(body))
    });
    let service = VerifyLayer::new(receiver()).layer(inner);
    let answer = service.clone().oneshot(signed(current(), full())).await.unwrap();
    assert_eq!((answer.status(), answer.body().as_ref()), (StatusCode::OK, BODY.as_bytes()));
    let forged = service.clone().oneshot(signed(foreign(), full())).await.unwrap();
    assert_eq!((forged.status(), forged.body().len()), (StatusCode::UNAUTHORIZED, 0));
    let bare = Request::post("/").body(full()).unwrap();
    assert_eq!(service.oneshot(bare).await.unwrap().status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_layer_stands_in_front_of_a_router() {
    async fn hook(Extension(verified): Extension<Verified<Bytes>>, body: Bytes) -> String {
        format!("{} {}", verified.parse::<Event>().unwrap().kind.event_type(), body.len())
    }
    let app = Router::new().route("/", post(hook)).layer(VerifyLayer::new(receiver()));
    let answer = app.clone().oneshot(signed(current(), axum::body::Body::from(BODY))).await.unwrap();
    let said = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(said, format!("webhook.test {}", BODY.len()));
    let forged = app.oneshot(signed(foreign(), axum::body::Body::from(BODY))).await.unwrap();
    assert_eq!(forged.status(), StatusCode::UNAUTHORIZED);
}
