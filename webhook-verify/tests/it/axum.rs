//! The extractor for axum, through a router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http::Request;
use shared_inbox_webhooks::replay::{MemoryGuard, once};
use shared_inbox_webhooks::{Event, Receiver, Rejection, Webhook};
use tower::ServiceExt;

use crate::extractors::Post;
use crate::fixture::{BODY, receiver};

extractor_rules!(answer);

fn app(receiver: Receiver) -> Router {
    async fn handler(Webhook(event): Webhook<Event>) -> String {
        format!("{} by secret {}", event.kind.event_type(), event.matched_signature().secret())
    }
    Router::new().route("/", post(handler)).with_state(receiver)
}

fn request(path: &str, post: Post) -> Request<Body> {
    let headers = post.headers.iter();
    let request = headers.fold(Request::post(path), |request, (name, value)| request.header(*name, value));
    request.body(Body::from_stream(post.body)).unwrap()
}

fn signed() -> Request<Body> {
    request("/", Post::signed(BODY.as_bytes()))
}

async fn send(app: Router, request: Request<Body>) -> (u16, String) {
    let response = app.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

pub(crate) async fn answer(receiver: Receiver, post: Post) -> (u16, String) {
    send(app(receiver), request("/", post)).await
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
    let request = signed().map(|_| Body::new(Announced));
    assert_eq!(send(app(receiver()), request).await, (413, String::new()));
}

#[tokio::test]
async fn what_became_of_a_guarded_event_is_its_answer() {
    async fn once_with(webhook: Webhook<Event>, fails: bool) -> Response {
        static SEEN: LazyLock<MemoryGuard> = LazyLock::new(MemoryGuard::new);
        let delivery = webhook.0.delivery("axum");
        let handler = async |_| if fails { Err("no words of this") } else { Ok("nor of this") };
        let during = once(&*SEEN, &delivery, async |claim| {
            let second = once(&*SEEN, &delivery, handler).await.into_response();
            assert_eq!(second.status(), 409, "while the first is at work");
            handler(claim).await
        });
        during.await.into_response()
    }
    let app = Router::new()
        .route("/fails", post(|webhook| once_with(webhook, true)))
        .route("/", post(|webhook| once_with(webhook, false)))
        .with_state(receiver());
    for (path, status) in [("/fails", 500), ("/", 200), ("/", 200), ("/fails", 200)] {
        let request = request(path, Post::signed(BODY.as_bytes()));
        assert_eq!(send(app.clone(), request).await, (status, String::new()), "{path}");
    }
}

#[tokio::test]
async fn a_handler_can_ask_for_the_rejection() {
    async fn handler(webhook: Result<Webhook<Event>, Rejection>) -> String {
        webhook.map_or_else(|rejection| rejection.code().to_owned(), |_| "ok".to_owned())
    }
    let app = Router::new().route("/", post(handler)).with_state(receiver());
    let request = Request::post("/").body(Body::empty()).unwrap();
    assert_eq!(send(app, request).await, (200, "id_missing".to_owned()));
}
