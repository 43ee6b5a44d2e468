//! The extractor for actix-web, through an app.

#[path = "it/extractors.rs"]
#[macro_use]
mod extractors;
#[path = "it/fixture.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod fixture;

use std::time::{Duration, SystemTime};

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, Responder, web};
use futures_util::stream::{StreamExt, TryStreamExt};
use shared_inbox_webhooks::event::ClientReplied;
use shared_inbox_webhooks::replay::{Claim, ClaimStatus, Handlers, MemoryGuard, ReplayGuard};
use shared_inbox_webhooks::testing::{signed as signed_event, signed_at};
use shared_inbox_webhooks::{Event, EventKind, Receiver, Webhook};

use extractors::Post;
use fixture::{BODY, current, foreign, previous, receiver, signed_by};

extractor_rules!(answer);

async fn handler(Webhook(event): Webhook<Event>) -> String {
    format!("{} by secret {}", event.kind.event_type(), event.matched_signature().secret())
}

fn signed() -> TestRequest {
    let headers = signed_by(previous(), BODY.as_bytes());
    let request = headers.pairs().into_iter().fold(TestRequest::post(), TestRequest::insert_header);
    request.set_payload(BODY)
}

pub(crate) async fn answer(receiver: Receiver, post: Post) -> (u16, String) {
    let app = init_service(App::new().app_data(receiver).route("/", web::post().to(handler))).await;
    let headers = post.headers.iter().map(|(name, value)| (*name, value.as_str()));
    let request = headers.fold(TestRequest::post(), TestRequest::append_header).to_request();
    let body = Payload::from(post.body.map_err(PayloadError::Io).boxed_local());
    let response = call_service(&app, request.replace_payload(body).0).await;
    let status = response.status().as_u16();
    (status, String::from_utf8(read_body(response).await.to_vec()).unwrap())
}

#[tokio::test]
async fn the_receiver_may_be_wrapped_as_data() {
    let app = App::new().app_data(web::Data::new(receiver())).route("/", web::post().to(handler));
    let response = call_service(&init_service(app).await, signed().to_request()).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn an_event_that_a_test_has_signed_reaches_the_handler_of_an_app() {
    let receiver = Receiver::builder().secrets([current()]).require_test().build();
    let app = init_service(App::new().app_data(receiver).route("/hook", web::post().to(handler))).await;
    let reply =
        ClientReplied::new("cnv_1".parse().unwrap(), "msg_1".parse().unwrap(), "mbx_1".parse().unwrap());
    let mut event = Event::new("evt_1".parse().unwrap(), EventKind::ClientReplied(reply));
    let response = call_service(&app, signed_event(&current(), &event).to_actix("/hook").to_request()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(read_body(response).await, "client.replied by secret 0");
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let rejected = [signed_event(&foreign(), &event), signed_at(&current(), &event, an_hour_ago)];
    event.livemode = Some(true);
    let live = signed_event(&current(), &event);
    for (request, status) in rejected.into_iter().zip([401, 401]).chain([(live, 403)]) {
        let response = call_service(&app, request.to_actix("/hook").to_request()).await;
        assert_eq!(response.status().as_u16(), status);
    }
}

#[tokio::test]
async fn an_app_without_a_receiver_answers_with_500() {
    let app = init_service(App::new().route("/", web::post().to(handler))).await;
    let response = call_service(&app, signed().to_request()).await;
    assert_eq!(response.status(), 500);
    assert!(read_body(response).await.is_empty());
}

#[tokio::test]
async fn a_length_announced_over_the_limit_is_rejected_unread() {
    let mut post = Post::signed(BODY.as_bytes());
    post.headers.push(("content-length", "1048577".to_owned()));
    assert_eq!(answer(receiver(), post).await.0, 413);
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
        let response = call_service(&app, signed().uri(path).to_request()).await;
        assert_eq!(response.status().as_u16(), status, "{path}");
        assert!(read_body(response).await.is_empty());
    }
}
