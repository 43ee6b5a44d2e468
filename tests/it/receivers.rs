//! A receiver as a company runs it, with the mock as the sender: secrets that are rotated under load, several endpoints in one
//! app, events that always fail, and what is counted of all that.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs, io,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{FromRef, Request, State},
    http::{HeaderMap, HeaderValue},
    middleware::map_request,
    response::IntoResponse,
    routing::post,
};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use shared_inbox::WebhookId;
use shared_inbox_mock::{
    Control, CreateWebhook, MockServer,
    webhooks::{DeliveryFilter, DeliveryOutcome, DeliveryView, TimestampSource},
};
use shared_inbox_webhooks::{
    Endpoint, Event, Receiver, Secret, SecretSource, Verifier, Webhook,
    replay::{Claim, Handled, Handlers, MemoryGuard, OnExhausted, ReplayGuard},
    testing,
};
use tracing_subscriber::util::SubscriberInitExt;

/// Serves a router on a port of its own.
pub(crate) async fn serve(router: Router) -> String {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, router).await });
    url
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::parse(text).unwrap()
}

/// A webhook that goes by the time of day, as the receiver does.
pub(crate) fn webhook(url: &str) -> CreateWebhook {
    CreateWebhook::new(url).timestamps(TimestampSource::Real)
}

/// The log of a webhook, once every delivery in it has ended.
pub(crate) async fn deliveries(control: &Control, webhook: &WebhookId) -> Vec<DeliveryView> {
    control.advance(Duration::ZERO).await.unwrap();
    control.deliveries(webhook.as_str(), DeliveryFilter::default()).await.unwrap()
}

/// Rotates an endpoint's secret three times while events come in; `update` gives the receiver the new secret and the one before.
async fn rotate_under_load(receiver: Receiver, app: &RotatedApp, update: impl Fn([&str; 2])) {
    const ROUNDS: usize = 3;
    const EVENTS: usize = 60;
    async fn hook(Webhook(event): Webhook<Event>) -> &'static str {
        drop(event);
        "taken"
    }
    let url = serve(Router::new().route("/", post(hook)).with_state(receiver)).await;
    let control = app.mock.control();
    let created = control.create_webhook(webhook(&url)).await.unwrap();
    let mut current = created.secret.clone();
    update([&current, &current]);
    for _ in 0..ROUNDS {
        // Each half is under way while the secret is rotated and while the receiver hears of it.
        for _ in 0..EVENTS / 2 {
            control.test_webhook(created.id.as_str()).await.unwrap();
        }
        let next = control.rotate_webhook(created.id.as_str()).await.unwrap().secret.clone();
        for _ in 0..EVENTS / 2 {
            control.test_webhook(created.id.as_str()).await.unwrap();
        }
        update([&next, &current]);
        current = next;
        // A secret signs for a day after its rotation: nothing is under way over two of them.
        deliveries(control, &created.id).await;
    }
    let log = deliveries(control, &created.id).await;
    assert_eq!(log.len(), ROUNDS * EVENTS);
    for delivery in log {
        let attempts = (delivery.outcome, delivery.attempts.len());
        assert_eq!(attempts, (DeliveryOutcome::Delivered, 1), "{}", delivery.event_id);
    }
    assert_eq!(*app.rejections.lock().unwrap(), Vec::<&str>::new());
    // Once the old secrets are gone, they are worth nothing: the rotation has reached the receiver.
    update([&current, &current]);
    control.test_webhook(created.id.as_str()).await.unwrap();
    assert_eq!(deliveries(control, &created.id).await[0].outcome, DeliveryOutcome::Delivered);
}

struct RotatedApp {
    mock: MockServer,
    rejections: Arc<Mutex<Vec<&'static str>>>,
}

impl RotatedApp {
    async fn start() -> Self {
        let mock = MockServer::builder().empty().manual_clock().start().await;
        Self { mock, rejections: Arc::default() }
    }

    fn log(&self) -> impl Fn(&shared_inbox_webhooks::Rejection) + Send + Sync + 'static {
        let rejections = Arc::clone(&self.rejections);
        move |rejection| rejections.lock().unwrap().push(rejection.code())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_set_anew_under_load_rejects_no_genuine_request() {
    let app = RotatedApp::start().await;
    let receiver = Receiver::builder().on_rejected(app.log()).build();
    let set = receiver.clone();
    rotate_under_load(receiver, &app, move |secrets| set.set_secrets(secrets.map(secret))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_secrets_that_is_replaced_under_load_rejects_no_genuine_request() {
    let directory = tempfile::tempdir().unwrap();
    let (path, next) = (directory.path().join("secret"), directory.path().join("next"));
    let write = {
        let path = path.clone();
        move |secrets: [&str; 2]| {
            fs::write(&next, secrets.join("\n")).unwrap();
            fs::rename(&next, &path).unwrap();
        }
    };
    write(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"; 2]);
    let app = RotatedApp::start().await;
    let source = SecretSource::file(&path).unwrap().interval(Duration::ZERO);
    let receiver = Receiver::builder().source(source).on_rejected(app.log()).build();
    rotate_under_load(receiver, &app, write).await;
}

struct Live;
struct Sandbox;
impl Endpoint for Live {}
impl Endpoint for Sandbox {}

#[derive(Clone)]
struct Endpoints {
    live: Receiver<Live>,
    sandbox: Receiver<Sandbox>,
}

impl FromRef<Endpoints> for Receiver<Live> {
    fn from_ref(endpoints: &Endpoints) -> Self {
        endpoints.live.clone()
    }
}

impl FromRef<Endpoints> for Receiver<Sandbox> {
    fn from_ref(endpoints: &Endpoints) -> Self {
        endpoints.sandbox.clone()
    }
}

#[tokio::test]
async fn each_of_several_endpoints_takes_its_own_events_and_no_sandbox_event_comes_to_a_live_route() {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    // The port is known before the secrets are, as in life: the receivers get them afterwards.
    let app = Endpoints {
        live: Receiver::builder().endpoint("live").require_live().build(),
        sandbox: Receiver::builder().endpoint("sandbox").require_test().build(),
    };
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    static SANDBOX: AtomicUsize = AtomicUsize::new(0);
    async fn live(Webhook(event): Webhook<Event, Live>) {
        assert_eq!((event.livemode, event.delivery().endpoint()), (Some(true), "live"));
        LIVE.fetch_add(1, Ordering::SeqCst);
    }
    async fn sandbox(Webhook(event): Webhook<Event, Sandbox>) {
        assert_eq!((event.livemode, event.delivery().endpoint()), (Some(false), "sandbox"));
        SANDBOX.fetch_add(1, Ordering::SeqCst);
    }
    let routes = Router::new().route("/live", post(live)).route("/sandbox", post(sandbox));
    let url = serve(routes.with_state(app.clone())).await;
    let of_live = control.create_webhook(webhook(&format!("{url}/live"))).await.unwrap();
    let of_sandbox = control.create_webhook(webhook(&format!("{url}/sandbox")).test()).await.unwrap();
    let misled = control.create_webhook(webhook(&format!("{url}/live")).test()).await.unwrap();
    // Somebody put the secret of a test endpoint where that of the live one belongs.
    app.live.set_secrets([secret(&of_live.secret), secret(&misled.secret)]);
    app.sandbox.set_secrets([secret(&of_sandbox.secret)]);
    for (created, status) in [(&of_live, 200), (&of_sandbox, 200), (&misled, 403)] {
        control.test_webhook(created.id.as_str()).await.unwrap();
        let log = deliveries(control, &created.id).await;
        assert_eq!(log[0].attempts[0].status, Some(status), "{}", created.id);
    }
    assert_eq!((LIVE.load(Ordering::SeqCst), SANDBOX.load(Ordering::SeqCst)), (1, 1));
}

#[derive(Clone)]
struct FailingApp {
    receiver: Receiver,
    handlers: Handlers<MemoryGuard>,
    runs: Arc<AtomicUsize>,
    is_broken: Arc<AtomicBool>,
}

impl FromRef<FailingApp> for Receiver {
    fn from_ref(app: &FailingApp) -> Self {
        app.receiver.clone()
    }
}

async fn failing(State(app): State<FailingApp>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let delivery = event.delivery("team");
    let handler = async move |_| {
        app.runs.fetch_add(1, Ordering::SeqCst);
        if app.is_broken.load(Ordering::SeqCst) { Err("the database is down") } else { Ok(()) }
    };
    app.handlers.once(delivery, handler).await
}

impl FailingApp {
    fn new(handlers: Handlers<MemoryGuard>) -> Self {
        let is_broken = Arc::new(AtomicBool::new(true));
        Self {
            receiver: Receiver::builder().require_live().build(),
            handlers,
            runs: Arc::default(),
            is_broken,
        }
    }

    /// Serves it and adds it to the workspace.
    async fn start(&self, control: &Control) -> WebhookId {
        let url = serve(Router::new().route("/", post(failing)).with_state(self.clone())).await;
        let created = control.create_webhook(webhook(&url)).await.unwrap();
        self.receiver.set_secrets([secret(&created.secret)]);
        created.id
    }
}

/// The pauses of the service, each with its fifth on top.
const PAUSES: [u64; 8] = [36, 144, 720, 2_160, 4_320, 12_960, 25_920, 51_840];

#[tokio::test]
async fn an_event_that_always_fails_is_kept_and_a_retry_handles_it_once_the_app_works_again() {
    for (on_exhausted, attempts, outcome) in [
        (OnExhausted::Acknowledge, 3, DeliveryOutcome::Delivered),
        (OnExhausted::Fail, 9, DeliveryOutcome::Failed),
    ] {
        let mock = MockServer::builder().empty().manual_clock().start().await;
        let control = mock.control();
        let handlers = Handlers::new(MemoryGuard::new()).max_attempts(3).on_exhausted(on_exhausted);
        let app = FailingApp::new(handlers);
        let webhook = app.start(control).await;
        let event = control.test_webhook(webhook.as_str()).await.unwrap().event_id.clone();
        for pause in PAUSES {
            control.advance(Duration::from_secs(pause)).await.unwrap();
        }
        let log = deliveries(control, &webhook).await;
        assert_eq!((log[0].attempts.len(), log[0].outcome), (attempts, outcome), "{on_exhausted:?}");
        assert_eq!(app.runs.load(Ordering::SeqCst), 3, "{on_exhausted:?}");
        let [letter] = &app.handlers.dead_letters(10).await.unwrap()[..] else { panic!("one dead letter") };
        assert_eq!((letter.attempts(), letter.error()), (3, "the database is down"));
        assert_eq!(letter.parse::<Event>().unwrap().id, event);
        let retried = app.handlers.retry(letter.delivery(), async move |letter, _| {
            letter.parse::<Event>().map(|event| event.kind.event_type().to_owned())
        });
        assert!(matches!(retried.await, Ok(Handled::Ran(kind)) if kind == "webhook.test"));
        assert!(app.handlers.dead_letters(10).await.unwrap().is_empty());
        control.redeliver(webhook.as_str(), event.as_str()).await.unwrap();
        let log = deliveries(control, &webhook).await;
        assert_eq!(log[0].attempts.last().unwrap().status, Some(200), "it was handled");
        assert_eq!(app.runs.load(Ordering::SeqCst), 3, "and not again");
    }
}

/// Returns each metric with its labels, and how often it was counted or measured.
fn counted(recorder: &DebuggingRecorder) -> BTreeMap<String, u64> {
    let entries = recorder.snapshotter().snapshot().into_vec().into_iter();
    let entry = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let labels = key.key().labels().map(|label| format!(" {}={}", label.key(), label.value()));
        let name = key.key().name().trim_start_matches("shared_inbox_webhooks_");
        let count = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Histogram(seconds) => {
                assert!(seconds.iter().all(|seconds| (0.0..60.0).contains(&seconds.0)), "{seconds:?}");
                seconds.len() as u64
            }
            DebugValue::Gauge(value) => panic!("{value}"),
        };
        (format!("{name}{}", labels.collect::<String>()), count)
    };
    entries.map(entry).collect()
}

#[tokio::test]
async fn what_is_received_rejected_repeated_and_lost_is_counted() {
    let recorder = DebuggingRecorder::new();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let app = FailingApp::new(Handlers::new(MemoryGuard::new()).max_attempts(2));
    let webhook = app.start(control).await;
    let dead = control.test_webhook(webhook.as_str()).await.unwrap().event_id.clone();
    control.advance(Duration::from_secs(PAUSES[0])).await.unwrap();
    app.is_broken.store(false, Ordering::SeqCst);
    let handled = control.test_webhook(webhook.as_str()).await.unwrap().event_id.clone();
    for event in [&dead, &handled] {
        control.redeliver(webhook.as_str(), event.as_str()).await.unwrap();
    }
    assert!(deliveries(control, &webhook).await.iter().all(|d| d.outcome == DeliveryOutcome::Delivered));
    app.receiver.set_secrets([secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]);
    control.test_webhook(webhook.as_str()).await.unwrap();
    deliveries(control, &webhook).await;
    // Somebody put the secret of a test endpoint where that of the live one belongs.
    let url = serve(Router::new().route("/", post(failing)).with_state(app.clone())).await;
    let misled = control.create_webhook(self::webhook(&url).test()).await.unwrap();
    app.receiver.set_secrets([secret(&misled.secret)]);
    control.test_webhook(misled.id.as_str()).await.unwrap();
    deliveries(control, &misled.id).await;
    let expected = [
        ("dead_letters_total endpoint=team", 1),
        ("duplicates_total endpoint=team", 2),
        ("handler_failures_total endpoint=team reason=error", 2),
        ("handler_seconds endpoint=team event_type=webhook.test", 3),
        ("received_total endpoint=", 7),
        ("rejected_total endpoint= code=signature_mismatch", 1),
        ("rejected_total endpoint= code=wrong_mode", 1),
        ("verified_total endpoint=", 6),
    ];
    assert_eq!(counted(&recorder), expected.map(|(name, count)| (name.to_owned(), count)).into());
}

/// As long as there is but one subscriber, `tracing` asks that of the thread which comes to a line first, for all threads.
static OTHER_SUBSCRIBERS: LazyLock<[tracing::Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| tracing::Dispatch::new(tracing_subscriber::registry())));

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The service sends no trace of its own; a gateway in front of the app adds one.
#[tokio::test]
async fn a_failure_is_logged_in_a_span_with_the_endpoint_and_the_trace_of_the_request_and_no_text_of_the_event()
 {
    LazyLock::force(&OTHER_SUBSCRIBERS);
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _logging = subscriber.set_default();
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let summary = Arc::<Mutex<String>>::default();
    let (seen, handlers) = (Arc::clone(&summary), Handlers::new(MemoryGuard::new()));
    let hook = async move |Webhook(event): Webhook<Event, Live>| {
        seen.lock().unwrap().clone_from(&event.summary);
        handlers.once(event.delivery(), async |_| Err::<(), _>("the database is down")).await
    };
    let gateway = map_request(async |mut request: Request| {
        let parent = HeaderValue::from_static("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        request.headers_mut().insert("traceparent", parent);
        request
    });
    let receiver = Receiver::builder().endpoint::<Live>("whk_live").require_live().build();
    let app = Router::new().route("/", post(hook)).layer(gateway).with_state(receiver.clone());
    let created = control.create_webhook(webhook(&serve(app).await)).await.unwrap();
    receiver.set_secrets([secret(&created.secret)]);
    let event = control.test_webhook(created.id.as_str()).await.unwrap().event_id.clone();
    assert_eq!(deliveries(control, &created.id).await[0].attempts[0].status, Some(500));
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let span = format!(
        "webhook{{endpoint=\"whk_live\" event={:?} event_type=\"webhook.test\" \
         trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\" parent_span_id=\"00f067aa0ba902b7\"}}",
        event.as_str()
    );
    let failure = log.lines().find(|line| line.contains("the database is down"));
    assert!(failure.is_some_and(|line| line.contains(&span)), "{log}");
    let summary = summary.lock().unwrap();
    assert!(!summary.is_empty() && !log.contains(&*summary), "{log}");
}

#[tokio::test]
async fn a_handler_is_tested_with_what_the_service_sends_in_one_line() {
    use tower::ServiceExt;
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let seen = Arc::<Mutex<Vec<Event>>>::default();
    let receiver = Receiver::builder().build();
    let app = {
        let seen = Arc::clone(&seen);
        let hook = async move |Webhook(event): Webhook<Event>| seen.lock().unwrap().push(event.into_inner());
        Router::new().route("/", post(hook)).with_state(receiver.clone())
    };
    let created = control.create_webhook(webhook(&serve(app.clone()).await)).await.unwrap();
    receiver.set_secrets([secret(&created.secret)]);
    control.test_webhook(created.id.as_str()).await.unwrap();
    deliveries(control, &created.id).await;
    // What was sent, once more and made by hand: the handler cannot tell the difference.
    let sent = seen.lock().unwrap()[0].clone();
    let response = app.oneshot(testing::signed(&secret(&created.secret), &sent).to_http::<Body>("/")).await;
    assert_eq!(response.unwrap().status(), 200);
    assert_eq!(*seen.lock().unwrap(), [sent.clone(), sent]);
}

#[tokio::test]
async fn a_claim_that_another_attempt_took_is_counted() {
    let recorder = DebuggingRecorder::new();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let hand = Arc::<AtomicU64>::default();
    let clock = Arc::clone(&hand);
    let guard = MemoryGuard::new().lease(Duration::from_millis(30));
    let guard = Arc::new(guard.clock(move || Duration::from_millis(clock.load(Ordering::SeqCst))));
    let handlers = Handlers::new(Arc::clone(&guard));
    let receiver = Receiver::builder().build();
    let hook = async move |Webhook(event): Webhook<Event>| {
        let delivery = event.delivery("team");
        let overtaken = handlers.once(delivery.clone(), async move |claim| {
            hand.store(30, Ordering::SeqCst);
            assert!(matches!(guard.claim(&delivery).await, Ok(Claim::Granted(_))));
            while !claim.is_lost() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, Infallible>(())
        });
        overtaken.await
    };
    let app = Router::new().route("/", post(hook)).with_state(receiver.clone());
    let created = control.create_webhook(webhook(&serve(app).await)).await.unwrap();
    receiver.set_secrets([secret(&created.secret)]);
    control.test_webhook(created.id.as_str()).await.unwrap();
    control.advance(Duration::ZERO).await.unwrap();
    let counted = counted(&recorder);
    assert_eq!(counted.get("claims_lost_total endpoint=team"), Some(&1), "{counted:?}");
}

#[tokio::test]
async fn a_route_that_verifies_nothing_is_told_why() {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let (told, secrets) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<Secret>>>::default());
    let (telling, known) = (Arc::clone(&told), Arc::clone(&secrets));
    let hook = async move |headers: HeaderMap, body: Bytes| {
        let respaced = std::str::from_utf8(&body).unwrap().replace("\":", "\": ");
        for secret in known.lock().unwrap().iter() {
            let verifier = Verifier::new([secret.clone()]);
            for body in [&body[..], respaced.as_bytes()] {
                let diagnosis = verifier.diagnose(&headers, body);
                let codes = diagnosis.hints().iter().map(|hint| hint.code());
                telling.lock().unwrap().push(codes.collect::<Vec<_>>().join(" "));
            }
        }
    };
    let url = serve(Router::new().route("/", post(hook))).await;
    let created = control.create_webhook(webhook(&url)).await.unwrap();
    let other = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    *secrets.lock().unwrap() = vec![secret(&created.secret), other];
    control.test_webhook(created.id.as_str()).await.unwrap();
    deliveries(control, &created.id).await;
    assert_eq!(*told.lock().unwrap(), ["", "body_rewritten", "secret_or_body", "secret_or_body"]);
}
