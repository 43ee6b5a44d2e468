//! Secrets that change while a receiver runs, and receivers that accept one mode only.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::FromRef;
use axum::routing::post;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use shared_inbox_tests::until;
use shared_inbox_webhooks::{
    Endpoint, Event, Receiver, Rejection, Secret, SecretSource, SecretSourceError, Signer, Verified,
    Verifier, VerifyLayer, Webhook,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::fixture::{BODY, ID, NOW, builder, current, foreign, previous, receiver, signed_by};

fn request(secret: Secret, body: &str) -> Request<Full<Bytes>> {
    let headers = signed_by(secret, body.as_bytes());
    let request = headers
        .pairs()
        .iter()
        .fold(Request::post("/"), |request, (name, value)| request.header(*name, *value));
    request.body(Full::from(body.to_owned())).unwrap()
}

async fn code<E>(receiver: &Receiver<E>, secret: Secret) -> &'static str {
    let received = receiver.receive::<Event, _>(request(secret, BODY)).await;
    received.map_or_else(|rejection| rejection.code(), |_| "ok")
}

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("webhook-secrets-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn secret_file(&self) -> PathBuf {
        self.0.join("secret")
    }

    /// Replaces the file as a whole, with this time of change.
    fn write(&self, text: &str, changed: SystemTime) {
        let next = self.0.join("next");
        fs::write(&next, text).unwrap();
        fs::File::options().write(true).open(&next).unwrap().set_modified(changed).unwrap();
        fs::rename(next, self.secret_file()).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn new_secrets_hold_for_all_clones_and_keep_the_other_settings() {
    let receiver = receiver();
    let clone = receiver.clone();
    assert_eq!(code(&clone, foreign()).await, "signature_mismatch");
    receiver.set_secrets([foreign()]);
    assert_eq!((code(&clone, foreign()).await, code(&clone, current()).await), ("ok", "signature_mismatch"));
    receiver.set_secrets([]);
    assert_eq!(
        code(&clone, foreign()).await,
        "signature_mismatch",
        "without a secret everything is rejected"
    );
}

/// The verdict is that of the moment at which the whole body is there.
#[tokio::test]
async fn a_request_under_way_is_verified_with_the_secrets_of_its_end() {
    let receiver = Arc::new(receiver());
    for (secret, before, after, expected) in [
        (foreign(), [current()], [foreign()], "ok"),
        (current(), [current()], [foreign()], "signature_mismatch"),
    ] {
        receiver.set_secrets(before);
        let changed = Arc::clone(&receiver);
        let body = futures_util::stream::once(async move {
            changed.set_secrets(after);
            Ok::<_, std::convert::Infallible>(http_body::Frame::data(Bytes::from_static(BODY.as_bytes())))
        });
        let request = request(secret, BODY).map(|_| http_body_util::StreamBody::new(Box::pin(body)));
        let received = receiver.receive::<Event, _>(request).await;
        assert_eq!(received.map_or_else(|rejection| rejection.code(), |_| "ok"), expected);
    }
}

#[tokio::test]
async fn a_file_that_was_replaced_is_read_again() {
    let directory = Directory::new("file");
    let now = SystemTime::now();
    directory.write(&current().reveal(), now);
    let source = SecretSource::file(directory.secret_file()).unwrap().interval(Duration::ZERO);
    let receiver = builder().source(source).build();
    let both = format!("{}\n{}\n", *foreign().reveal(), *current().reveal());
    // A clock of files that ticks slowly gives two changes the same time.
    for (text, changed, codes) in [
        (both, now, ("ok", "ok")),
        (foreign().reveal().to_string(), now + Duration::from_secs(60), ("ok", "signature_mismatch")),
    ] {
        directory.write(&text, changed);
        assert_eq!((code(&receiver, foreign()).await, code(&receiver, current()).await), codes);
    }
}

#[tokio::test]
async fn a_source_that_fails_changes_nothing_and_the_operator_hears_of_it() {
    let directory = Directory::new("fails");
    let written = SystemTime::now() - Duration::from_secs(3600);
    directory.write(&current().reveal(), written);
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&heard);
    let source = SecretSource::file(directory.secret_file()).unwrap().interval(Duration::ZERO);
    let source = source.on_error(move |error| log.lock().unwrap().push(error.to_string()));
    let receiver = builder().source(source).build();
    let text = previous().reveal();
    for (text, said) in [("", "there is no webhook secret"), (" ,\n", "there is no"), (&text[..20], "base64")]
    {
        directory.write(text, written + Duration::from_secs(60));
        assert_eq!(code(&receiver, current()).await, "ok");
        let last = heard.lock().unwrap().pop().expect("the operator hears of it");
        assert!(last.contains(said) && !last.contains("C2FV"), "{last}");
    }
    fs::remove_file(directory.secret_file()).unwrap();
    assert_eq!(code(&receiver, current()).await, "ok");
    assert!(heard.lock().unwrap().pop().unwrap().contains("cannot be read"));
    directory.write(&text, written);
    assert_eq!(code(&receiver, previous()).await, "ok", "and when it is back, it counts");
}

#[tokio::test]
async fn a_source_without_a_secret_at_the_start_is_an_error() {
    let missing = SecretSource::file("/there/is/no/such/file").unwrap_err();
    assert!(matches!(missing, SecretSourceError::File(std::io::ErrorKind::NotFound)), "{missing:?}");
    let empty = SecretSource::from_fn(|| Ok::<_, std::io::Error>(Vec::new())).unwrap_err();
    assert!(matches!(empty, SecretSourceError::Empty), "{empty:?}");
    let failed = SecretSource::from_fn(|| Err::<Vec<Secret>, _>("the vault is sealed")).unwrap_err();
    assert!(failed.to_string().contains("the vault is sealed"));
}

#[tokio::test]
async fn a_closure_is_asked_once_in_its_interval() {
    let seconds = Arc::new(AtomicU64::new(NOW));
    let (clock, calls) = (Arc::clone(&seconds), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&calls);
    let source = SecretSource::from_fn(move || {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        Ok::<_, std::io::Error>(vec![if call < 2 { current() } else { previous() }])
    });
    let verifier =
        Verifier::new([]).clock(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst)));
    let source = source.unwrap().interval(Duration::from_secs(10));
    let receiver = Receiver::builder().verifier(verifier).source(source).build();
    for (time, secret, asked) in [
        (NOW, current(), 2),
        (NOW + 9, current(), 2),
        (NOW + 10, previous(), 3),
        (NOW + 19, previous(), 3),
        // A clock that was put back does not keep it from being asked.
        (NOW - 100, previous(), 4),
    ] {
        seconds.store(time, Ordering::SeqCst);
        assert_eq!(code(&receiver, secret).await, "ok", "at {time}");
        assert_eq!(calls.load(Ordering::SeqCst), asked, "at {time}");
    }
}

#[tokio::test]
async fn a_source_that_panicked_is_asked_again() {
    let mut asked = 0;
    let source = SecretSource::from_fn(move || {
        asked += 1;
        assert_ne!(asked, 2, "by mistake");
        Ok::<_, std::io::Error>(vec![if asked == 1 { previous() } else { current() }])
    });
    let receiver = builder().source(source.unwrap().interval(Duration::ZERO)).build();
    let panicking = receiver.clone();
    tokio::spawn(async move { code(&panicking, previous()).await }).await.unwrap_err();
    assert_eq!(code(&receiver, current()).await, "ok");
}

#[tokio::test]
async fn a_receiver_of_one_mode_rejects_genuine_events_of_the_other_and_those_that_do_not_say() {
    let event = |livemode: &str| BODY.replace("\"livemode\":false", livemode);
    let code = async |receiver: &Receiver, body: &str| {
        let parsed = receiver.receive::<Event, _>(request(current(), body)).await.map(drop);
        let (head, whole) = request(current(), body).into_parts();
        let bytes = receiver.receive_bytes(&head.headers, whole).await.map(drop);
        assert_eq!(parsed, bytes, "{body}");
        parsed.map_or_else(
            |rejection: Rejection| format!("{} {}", rejection.status(), rejection.code()),
            |()| "ok".to_owned(),
        )
    };
    let (live, test) = (builder().require_live().build(), builder().require_test().build());
    for (livemode, on_live, on_test) in [
        ("\"livemode\":true", "ok", "403 wrong_mode"),
        ("\"livemode\":false", "403 wrong_mode", "ok"),
        ("\"livemode\":\"true\"", "403 wrong_mode", "403 wrong_mode"),
        ("\"livemode\":null", "403 wrong_mode", "403 wrong_mode"),
        ("\"mode\":true", "403 wrong_mode", "403 wrong_mode"),
    ] {
        let body = event(livemode);
        assert_eq!(
            (&*code(&live, &body).await, &*code(&test, &body).await),
            (on_live, on_test),
            "{livemode}"
        );
        assert_eq!(code(&receiver(), &body).await, "ok", "without a mode all are accepted");
    }
    // Whatever JSON can say is no reason to be rejected, also before the mode.
    let odd = event("\"livemode\":true").replacen(
        '{',
        &format!("{{\"x\":{}1{},\"y\":\"\\ud83d\",", "[".repeat(200), "]".repeat(200)),
        1,
    );
    assert_eq!(code(&live, &odd).await, "ok");
    assert_eq!(
        live.receive::<Event, _>(request(current(), "no JSON")).await.unwrap_err().code(),
        "body_not_json"
    );
}

struct Live;
struct Sandbox;
impl Endpoint for Live {}
impl Endpoint for Sandbox {}

#[derive(Clone, FromRef)]
struct Endpoints {
    live: Receiver<Live>,
    sandbox: Receiver<Sandbox>,
}

fn endpoints() -> Endpoints {
    let at = |secret| builder().secrets([secret]);
    Endpoints {
        live: at(current()).endpoint("whk_live").require_live().build(),
        sandbox: at(previous()).endpoint("whk_test").require_test().build(),
    }
}

#[tokio::test]
async fn several_receivers_in_one_router_accept_their_own_requests_and_name_their_endpoint() {
    async fn live(Webhook(event): Webhook<Event, Live>) -> String {
        format!("{:?}", event.delivery())
    }
    async fn sandbox(Webhook(event): Webhook<Event, Sandbox>) -> String {
        format!("{:?}", event.delivery())
    }
    let app = Router::new().route("/live", post(live)).route("/test", post(sandbox)).with_state(endpoints());
    let live = BODY.replace("\"livemode\":false", "\"livemode\":true");
    for (path, secret, body, status, endpoint) in [
        ("/live", current(), live.as_str(), 200, "whk_live"),
        ("/test", previous(), BODY, 200, "whk_test"),
        ("/live", previous(), BODY, 401, ""),
        ("/test", current(), live.as_str(), 401, ""),
        // The secrets were mixed up: the mode finds it.
        ("/live", current(), BODY, 403, ""),
    ] {
        let mut request = request(secret, body).map(axum::body::Body::new);
        *request.uri_mut() = path.parse().unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let said = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.contains(&format!("endpoint: {endpoint:?}")), status == 200, "{said}");
    }
}

#[tokio::test]
async fn a_layer_hands_on_the_endpoint_and_the_trace() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let inner = service_fn(async |request: Request<Full<Bytes>>| {
        let verified = request.extensions().get::<Verified<Bytes, Sandbox>>().unwrap();
        let event = verified.parse::<Event>().unwrap();
        let delivery = event.delivery();
        assert_eq!(
            (delivery.endpoint(), delivery.event(), delivery.body()),
            ("whk_test", ID, Some(BODY.as_bytes()))
        );
        assert_eq!(delivery.trace_context().map(|trace| trace.to_string()).as_deref(), Some(TRACE));
        Ok::<_, std::convert::Infallible>(http::Response::new(Bytes::new()))
    });
    let mut request = request(previous(), BODY);
    request.headers_mut().insert("traceparent", TRACE.parse().unwrap());
    let service = VerifyLayer::new(endpoints().sandbox).layer(inner);
    assert_eq!(service.oneshot(request).await.unwrap().status(), 200);
}

#[test]
fn only_a_valid_trace_context_counts() {
    use shared_inbox_webhooks::TraceContext;
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    assert_eq!(TraceContext::parse(good).unwrap().to_string(), good);
    assert!(TraceContext::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later").is_some());
    for bad in [
        "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
    ] {
        assert_eq!(TraceContext::parse(bad), None, "{bad}");
    }
}

/// As with the service: from a rotation on both secrets sign, and receivers hear of it later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_genuine_request_is_rejected_while_secrets_are_rotated_under_load() {
    let directory = Directory::new("load");
    let secrets = |newest: u8| [newest, newest - 1].map(|n| Secret::from_bytes(&[n; 32]).unwrap());
    let write = |newest| {
        let text = secrets(newest).map(|secret| secret.reveal().to_string()).join("\n");
        directory.write(&text, SystemTime::now());
    };
    write(1);
    let source = SecretSource::file(directory.secret_file()).unwrap().interval(Duration::ZERO);
    let (asks, told) = (builder().source(source).build(), builder().build());
    told.set_secrets(secrets(1));
    let newest = Arc::new(AtomicU64::new(1));
    let received = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    let mut senders = tokio::task::JoinSet::new();
    for (receiver, received) in [asks, told.clone()].into_iter().zip(received.clone()) {
        let newest = Arc::clone(&newest);
        senders.spawn(async move {
            loop {
                let number = newest.load(Ordering::SeqCst) as u8;
                if number == 0 {
                    return;
                }
                let headers = Signer::new(secrets(number)).sign(ID, NOW, BODY.as_bytes());
                let request = headers
                    .pairs()
                    .iter()
                    .fold(Request::post("/"), |r, (name, value)| r.header(*name, *value));
                let request = request.body(Full::<Bytes>::from(BODY)).unwrap();
                receiver.receive::<Event, _>(request).await.unwrap();
                received.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        });
    }
    let two_more = async || {
        let before: Vec<_> = received.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        let are_there = async || {
            received.iter().zip(&before).all(|(count, before)| count.load(Ordering::SeqCst) >= before + 2)
        };
        until("two more requests", are_there).await;
    };
    for next in 2..20 {
        newest.store(next, Ordering::SeqCst);
        two_more().await;
        write(next as u8);
        told.set_secrets(secrets(next as u8));
        two_more().await;
    }
    newest.store(0, Ordering::SeqCst);
    while let Some(ended) = senders.join_next().await {
        ended.unwrap();
    }
}
