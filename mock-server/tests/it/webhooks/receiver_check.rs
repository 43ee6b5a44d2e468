//! The receiver check: a good receiver passes it, and each kind of careless one fails the cases that show its
//! fault.

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
    kit::{Hook, hours},
    receiver::{ReceivedRequest, Receiver, Reply},
};
use crate::kit::{Kit, text};

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

async fn check(kit: &Kit, hook: &Hook) -> Value {
    let report = kit.act_on(hook, "check").await;
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

async fn listening(kit: &Kit) -> (tokio::net::TcpListener, Hook) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    (listener, kit.hook_with(json!({ "url": url })).await)
}

#[tokio::test]
async fn a_receiver_built_with_the_webhooks_crate_passes_and_handles_each_event_once() {
    let kit = Kit::start().await;
    let (listener, hook) = listening(&kit).await;
    let handled = serve(listener, &[&hook.secret]).await;
    let report = check(&kit, &hook).await;
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
    let kit = Kit::start().await;
    let (listener, hook) = listening(&kit).await;
    serve(listener, &[&hook.secret]).await;
    kit.advance(hours(100)).await;
    let before = kit.look("/state").await;
    assert_eq!(check(&kit, &hook).await["passed"], true, "although the mock's clock is days ahead");
    assert_eq!(kit.look("/state").await, before);
    assert_eq!(kit.deliveries(&hook).await, [] as [Value; 0]);
    assert_eq!(kit.queued().await, 0);
}

#[tokio::test]
async fn in_a_rotation_a_receiver_may_hold_either_secret_or_both_and_must_drop_the_old_one_afterwards() {
    let kit = Kit::start().await;
    for keep in ["new", "old", "both"] {
        let (listener, hook) = listening(&kit).await;
        let new = text(&kit.act_on(&hook, "rotate").await["secret"]);
        let secrets: Vec<&str> = match keep {
            "new" => vec![&new],
            "old" => vec![&hook.secret],
            _ => vec![&new, &hook.secret],
        };
        serve(listener, &secrets).await;
        let report = check(&kit, &hook).await;
        match keep {
            // The webhook's present secret is what everything but the two last cases is signed with.
            "old" => assert!(!failed(&report).contains(&"both secrets"), "{report:#}"),
            _ => assert_eq!(failed(&report), [] as [&str; 0], "{keep}: {report:#}"),
        }
        if keep == "both" {
            kit.advance(hours(25)).await;
            assert_eq!(failed(&check(&kit, &hook).await), ["old secret only"]);
        }
    }
}

/// What a careless receiver does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    ChecksNothing,
    TakesAnEmptySignature,
    IgnoresTime,
    ReadsOneSignature,
    RefusesUnknownTypes,
    RefusesExtraFields,
    RefusesReplays,
    WantsOrder,
    CrashesOnLargeBodies,
}

/// The report on a receiver that does everything else right.
async fn check_careless(fault: Fault) -> Value {
    let kit = Kit::start().await;
    let secret = Arc::new(Mutex::new(String::new()));
    let known = secret.clone();
    let (mut seen, mut latest) = (HashSet::new(), String::new());
    let receiver = Receiver::scripted(move |request: &ReceivedRequest| {
        let secret = known.lock().unwrap().clone();
        let refuse = |status: u16| Reply::Status(status);
        if request.body.len() > 1 << 20 {
            return refuse(if fault == Fault::CrashesOnLargeBodies { 500 } else { 413 });
        }
        let header =
            |name: &str| request.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        if fault != Fault::ChecksNothing {
            let webhook = standardwebhooks::Webhook::new(&secret).unwrap();
            let own = [Fault::IgnoresTime, Fault::ReadsOneSignature, Fault::TakesAnEmptySignature];
            let verified = if own.contains(&fault) {
                let Ok(timestamp) = header("webhook-timestamp").parse() else { return refuse(400) };
                let expected = webhook.sign(header("webhook-id"), timestamp, &request.body).unwrap();
                let now = shared_inbox::Timestamp::now().as_secs();
                let in_time = fault == Fault::IgnoresTime || (now - timestamp).abs() <= 300;
                let given = header("webhook-signature");
                let signed = match fault {
                    Fault::ReadsOneSignature => given.split(' ').next() == Some(&*expected),
                    Fault::TakesAnEmptySignature => {
                        given.split(' ').any(|it| expected.starts_with(it)) && !given.is_empty()
                    }
                    _ => given.split(' ').any(|it| it == expected),
                };
                signed && in_time
            } else {
                webhook.verify(&request.body, &request.headers).is_ok()
            };
            if !verified {
                return refuse(401);
            }
        }
        let event = request.json();
        let kind = event["type"].as_str().unwrap();
        if fault == Fault::RefusesUnknownTypes && !shared_inbox_webhooks::EventKind::TYPES.contains(&kind) {
            return refuse(422);
        }
        if fault == Fault::RefusesExtraFields && event.get("check").is_some() {
            return refuse(400);
        }
        if fault == Fault::RefusesReplays && !seen.insert(request.id().to_owned()) {
            return refuse(409);
        }
        let created = event["created_at"].as_str().unwrap().to_owned();
        if fault == Fault::WantsOrder && created < latest {
            return refuse(409);
        }
        latest = latest.clone().max(created);
        Reply::Status(200)
    })
    .await;
    let hook = kit.hook(&receiver).await;
    *secret.lock().unwrap() = hook.secret.clone();
    check(&kit, &hook).await
}

#[tokio::test]
async fn a_receiver_that_checks_nothing_fails_what_it_must_refuse() {
    let report = check_careless(Fault::ChecksNothing).await;
    assert_eq!(failed(&report), ["wrong signature", "stale", "future", "old secret only"]);
    let case = &report["cases"][1];
    assert_eq!(case["status"], 200);
    assert!(case["hint"].as_str().unwrap().contains("401"), "{case}");
}

#[tokio::test]
async fn each_fault_shows_in_its_own_case() {
    for (fault, expected) in [
        (Fault::IgnoresTime, &["stale", "future"][..]),
        (Fault::TakesAnEmptySignature, &["wrong signature"]),
        (Fault::ReadsOneSignature, &["both secrets"]),
        (Fault::RefusesUnknownTypes, &["unknown event type"]),
        (Fault::RefusesExtraFields, &["unknown extra fields"]),
        (Fault::RefusesReplays, &["replayed id"]),
        (Fault::CrashesOnLargeBodies, &["large body"]),
        (Fault::WantsOrder, &["reordered"]),
    ] {
        let report = check_careless(fault).await;
        assert_eq!(failed(&report), expected, "{report:#}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_said_at_once() {
    let kit = Kit::start().await;
    let (listener, hook) = listening(&kit).await;
    drop(listener);
    let report = check(&kit, &hook).await;
    assert_eq!(failed(&report), CASES);
    let hint = |n: usize| report["cases"][n]["hint"].as_str().unwrap().to_owned();
    assert!(hint(0).contains("refused"), "{}", hint(0));
    assert!(hint(10).starts_with("Not sent"), "{}", hint(10));
    assert!(report["cases"].as_array().unwrap().iter().all(|case| case["status"].is_null()));
}

#[tokio::test]
async fn a_redirect_and_a_crash_are_named() {
    let kit = Kit::start().await;
    let receiver = Receiver::scripted(|_| Reply::Redirect("https://elsewhere.example/".to_owned())).await;
    let hook = kit.hook(&receiver).await;
    let report = check(&kit, &hook).await;
    assert_eq!(failed(&report), CASES);
    assert!(report["cases"][0]["hint"].as_str().unwrap().contains("Redirects"));
    receiver.answer(500);
    let report = check(&kit, &hook).await;
    assert_eq!(failed(&report), CASES);
    assert!(report["cases"][1]["hint"].as_str().unwrap().contains("crash"));
}
