//! The receiver check: a good receiver passes it, and each kind of careless one fails the cases that show its fault.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::FromRef, extract::State, response::IntoResponse, routing::post};
use serde_json::{Value, json};
use shared_inbox_webhooks::{
    Event, Receiver as Verifying, Secret, Verifier, Webhook,
    replay::{Handlers, MemoryGuard},
};

use super::{
    kit::{Hook, Mock, hours},
    receiver::{Got, Receiver, Reply},
};

const CASES: [&str; 11] = [
    "good",
    "wrong signature",
    "stale",
    "future",
    "replayed id",
    "reordered",
    "unknown event type",
    "unknown extra fields",
    "both secrets",
    "old secret only",
    "large body",
];

async fn check(mock: &Mock, hook: &Hook) -> Value {
    let report = mock.act(hook, "check").await;
    let names: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(names, CASES);
    for case in report["cases"].as_array().unwrap() {
        assert!(!case["sent"].as_str().unwrap().is_empty() && !case["expected"].as_str().unwrap().is_empty());
        assert_eq!(case["hint"].is_null(), case["passed"] == true, "a hint for what failed: {case}");
    }
    report
}

fn failed(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().unwrap();
    let failed: Vec<&str> = cases
        .iter()
        .filter(|case| case["passed"] == false)
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    assert_eq!(report["passed"] == true, failed.is_empty());
    failed
}

/// The receiver of the guide: extractor and replay guard of `shared-inbox-webhooks`, served by axum.
#[derive(Clone)]
struct App {
    receiver: Verifying,
    handlers: Handlers<MemoryGuard>,
    handled: Arc<Mutex<Vec<String>>>,
}

impl FromRef<App> for Verifying {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let delivery = event.delivery("/hook");
    let handler = async move |_| {
        app.handled.lock().unwrap().push(event.id.to_string());
        Ok::<_, std::io::Error>(())
    };
    app.handlers.once(delivery, handler).await
}

/// Serves the good receiver at an address that was taken before the secret was known.
async fn serve(listener: tokio::net::TcpListener, secrets: &[&str]) -> Arc<Mutex<Vec<String>>> {
    let verifier = Verifier::new(secrets.iter().map(|secret| Secret::parse(secret).unwrap()));
    let handled = Arc::new(Mutex::new(Vec::new()));
    let app = App {
        receiver: Verifying::new(verifier),
        handlers: Handlers::new(MemoryGuard::new()),
        handled: handled.clone(),
    };
    let router = Router::new().route("/hook", post(hook)).with_state(app);
    tokio::spawn(async move { axum::serve(listener, router).await });
    handled
}

async fn listening(mock: &Mock) -> (tokio::net::TcpListener, Hook) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let made = mock.post("/webhooks", json!({ "url": url, "livemode": true, "scope": "team" })).await;
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (listener, Hook { id: text("id"), secret: text("secret") })
}

#[tokio::test]
async fn a_receiver_built_with_the_webhooks_crate_passes_and_handles_each_event_once() {
    let mock = Mock::start().await;
    let (listener, hook) = listening(&mock).await;
    let handled = serve(listener, &[&hook.secret]).await;
    let report = check(&mock, &hook).await;
    assert_eq!(failed(&report), [] as [&str; 0], "{report:#}");
    let handled = handled.lock().unwrap();
    let distinct: HashSet<&String> = handled.iter().collect();
    assert_eq!(distinct.len(), handled.len(), "the replayed one was handled once");
    assert_eq!(
        handled.len(),
        8,
        "good, replayed, two reordered, two unknown, both secrets, the one after the large"
    );
}

#[tokio::test]
async fn the_check_is_dated_by_this_machine_and_leaves_no_trace() {
    let mock = Mock::start().await;
    let (listener, hook) = listening(&mock).await;
    serve(listener, &[&hook.secret]).await;
    mock.advance(hours(100)).await;
    let before = mock.get("/state").await;
    assert_eq!(check(&mock, &hook).await["passed"], true, "although the mock's clock is days ahead");
    assert_eq!(mock.get("/state").await, before);
    assert_eq!(mock.deliveries(&hook).await, [] as [Value; 0]);
    assert_eq!(mock.queued().await, 0);
}

#[tokio::test]
async fn in_a_rotation_a_receiver_may_hold_either_secret_or_both_and_must_drop_the_old_one_afterwards() {
    let mock = Mock::start().await;
    for keep in ["new", "old", "both"] {
        let (listener, hook) = listening(&mock).await;
        let new = mock.act(&hook, "rotate").await["secret"].as_str().unwrap().to_owned();
        let secrets: Vec<&str> = match keep {
            "new" => vec![&new],
            "old" => vec![&hook.secret],
            _ => vec![&new, &hook.secret],
        };
        serve(listener, &secrets).await;
        let report = check(&mock, &hook).await;
        match keep {
            // The webhook's present secret is what everything but the two last cases is signed with.
            "old" => assert!(!failed(&report).contains(&"both secrets"), "{report:#}"),
            _ => assert_eq!(failed(&report), [] as [&str; 0], "{keep}: {report:#}"),
        }
        if keep == "both" {
            mock.advance(hours(25)).await;
            assert_eq!(failed(&check(&mock, &hook).await), ["old secret only"]);
        }
    }
}

/// What a careless receiver leaves out.
#[derive(Clone, Copy, Default)]
struct Careless {
    signature: bool,
    empty_signature: bool,
    time: bool,
    all_signatures: bool,
    unknown_types: bool,
    extra_fields: bool,
    replays: bool,
    order: bool,
    large: bool,
}

async fn check_careless(careless: Careless) -> Value {
    let mock = Mock::start().await;
    let secret = Arc::new(Mutex::new(String::new()));
    let known = secret.clone();
    let (mut seen, mut latest) = (HashSet::new(), String::new());
    let receiver = Receiver::scripted(move |got: &Got| {
        let secret = known.lock().unwrap().clone();
        let refuse = |status: u16| Reply::Status(status);
        let header = |name: &str| got.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        if !careless.signature {
            let webhook = standardwebhooks::Webhook::new(&secret).unwrap();
            let verified = if careless.time || careless.all_signatures || careless.empty_signature {
                let Ok(timestamp) = header("webhook-timestamp").parse() else { return refuse(400) };
                let expected = webhook.sign(header("webhook-id"), timestamp, &got.body).unwrap();
                let now = shared_inbox::Timestamp::now().as_secs();
                let in_time = careless.time || (now - timestamp).abs() <= 300;
                let given = header("webhook-signature");
                let signed = match (careless.all_signatures, careless.empty_signature) {
                    (true, _) => given.split(' ').next() == Some(&*expected),
                    (_, true) => given.split(' ').any(|it| expected.starts_with(it)) && !given.is_empty(),
                    _ => given.split(' ').any(|it| it == expected),
                };
                signed && in_time
            } else {
                webhook.verify(&got.body, &got.headers).is_ok()
            };
            if !verified {
                return refuse(401);
            }
        }
        if careless.large && got.body.len() > 1 << 20 {
            return Reply::Status(500);
        }
        let event = got.json();
        let kind = event["type"].as_str().unwrap();
        if careless.unknown_types && !shared_inbox::event::EventKind::TYPES.contains(&kind) {
            return refuse(422);
        }
        if careless.extra_fields && event.get("check").is_some() {
            return refuse(400);
        }
        if careless.replays && !seen.insert(got.id().to_owned()) {
            return refuse(409);
        }
        let created = event["created_at"].as_str().unwrap().to_owned();
        if careless.order && created < latest {
            return refuse(409);
        }
        latest = latest.clone().max(created);
        Reply::Status(200)
    })
    .await;
    let hook = mock.hook(&receiver).await;
    *secret.lock().unwrap() = hook.secret.clone();
    check(&mock, &hook).await
}

#[tokio::test]
async fn a_receiver_that_checks_nothing_fails_what_it_must_refuse() {
    let report = check_careless(Careless { signature: true, ..Careless::default() }).await;
    assert_eq!(failed(&report), ["wrong signature", "stale", "future", "old secret only"]);
    let case = &report["cases"][1];
    assert_eq!(case["status"], 200);
    assert!(case["hint"].as_str().unwrap().contains("401"), "{case}");
}

#[tokio::test]
async fn a_receiver_that_checks_everything_passes() {
    let report = check_careless(Careless::default()).await;
    assert_eq!(failed(&report), [] as [&str; 0], "{report:#}");
}

#[tokio::test]
async fn each_fault_shows_in_its_own_case() {
    let faults: [(Careless, &[&str]); 8] = [
        (Careless { time: true, ..Careless::default() }, &["stale", "future"]),
        (Careless { empty_signature: true, ..Careless::default() }, &["wrong signature"]),
        (Careless { all_signatures: true, ..Careless::default() }, &["both secrets"]),
        (Careless { unknown_types: true, ..Careless::default() }, &["unknown event type"]),
        (Careless { extra_fields: true, ..Careless::default() }, &["unknown extra fields"]),
        (Careless { replays: true, ..Careless::default() }, &["replayed id"]),
        (Careless { large: true, ..Careless::default() }, &["large body"]),
        (Careless { order: true, ..Careless::default() }, &["reordered"]),
    ];
    for (careless, expected) in faults {
        let report = check_careless(careless).await;
        let failed = failed(&report);
        // Once an event of now was taken, a receiver that wants order refuses the older ones of the series.
        assert!(expected.iter().all(|name| failed.contains(name)), "{expected:?} in {failed:?}");
        assert_eq!(failed, expected, "{report:#}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_said_at_once() {
    let mock = Mock::start().await;
    let (listener, hook) = listening(&mock).await;
    drop(listener);
    let report = check(&mock, &hook).await;
    assert_eq!(failed(&report), CASES);
    let hint = |n: usize| report["cases"][n]["hint"].as_str().unwrap().to_owned();
    assert!(hint(0).contains("refused"), "{}", hint(0));
    assert!(hint(10).starts_with("Not sent"), "{}", hint(10));
    assert!(report["cases"].as_array().unwrap().iter().all(|case| case["status"].is_null()));
}

#[tokio::test]
async fn a_redirect_and_a_crash_are_named() {
    let mock = Mock::start().await;
    let receiver = Receiver::scripted(|_| Reply::Redirect("https://elsewhere.example/".to_owned())).await;
    let hook = mock.hook(&receiver).await;
    let report = check(&mock, &hook).await;
    assert_eq!(failed(&report), CASES);
    assert!(report["cases"][0]["hint"].as_str().unwrap().contains("Redirects"));
    receiver.answer(500);
    let report = check(&mock, &hook).await;
    assert_eq!(failed(&report), CASES);
    assert!(report["cases"][1]["hint"].as_str().unwrap().contains("crash"));
}
