//! A receiver with the mock as the sender and a store, whose process is killed: secrets are rotated meanwhile, and an event that
//! always fails becomes a dead letter.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::{FromRef, State},
    response::IntoResponse,
    routing::post,
};
use redis::AsyncCommands;
use shared_inbox_mock::{
    CreateWebhook, MockServer,
    webhooks::{DeliveryFilter, DeliveryOutcome, TimestampSource},
};
use shared_inbox_tests::stores::{self, Store};
use shared_inbox_webhooks::{
    Event, Receiver, SecretSource, Webhook,
    replay::{DeadLetterGuard, Delivery, HandleError, Handled, Handlers, PostgresGuard, RedisGuard},
};
use tokio::net::{TcpListener, TcpStream};

/// A lease that does not end while a test runs.
const LEASE: Duration = Duration::from_secs(3600);
/// How long a store on a busy machine may take.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);
const ERROR: &str = "the database is down";

#[derive(Clone, FromRef)]
struct App {
    receiver: Receiver,
    handlers: Handlers<Arc<dyn DeadLetterGuard>>,
}

async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let handler = async |_| {
        println!("RUN");
        if env::var_os("RECEIVER_HANGS").is_some() {
            std::future::pending::<()>().await;
        }
        Err::<(), _>(ERROR)
    };
    app.handlers.once(event.delivery("team"), handler).await
}

async fn handlers(store: &str) -> Handlers<Arc<dyn DeadLetterGuard>> {
    let guard: Arc<dyn DeadLetterGuard> = if store.starts_with("redis") {
        Arc::new(RedisGuard::connect(store).await.expect("a store").lease(LEASE).timeout(STORE_TIMEOUT))
    } else {
        let guard = PostgresGuard::connect(store).await.expect("a store").lease(LEASE).timeout(STORE_TIMEOUT);
        guard.create_table().await.expect("a table");
        Arc::new(guard)
    };
    Handlers::new(guard).max_attempts(2)
}

/// A receiver in a process of its own, which is killed with this value.
struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Process {
    fn start(store: &Store, secrets: &Path, hangs: bool) -> Self {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--exact", "receivers::a_receiver", "--ignored", "--nocapture"]);
        command.env("RECEIVER_STORE", store.url()).env("RECEIVER_SECRETS", secrets);
        command.envs(hangs.then_some(("RECEIVER_HANGS", "1"))).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a receiver");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut process = Self { child, output, port: 0 };
        process.port = process.wait_for("PORT ").parse().expect("a port");
        process
    }

    /// Waits until it prints a line with this text, and returns what follows.
    fn wait_for(&mut self, text: &str) -> String {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| Some(line.split_once(text)?.1.to_owned())).expect("it says so before it ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[tokio::test]
#[ignore = "the process that the other test starts"]
async fn a_receiver() {
    let (Ok(store), Some(secrets)) = (env::var("RECEIVER_STORE"), env::var_os("RECEIVER_SECRETS")) else {
        return;
    };
    // Whoever started it is gone.
    std::thread::spawn(|| {
        std::io::stdin().lines().for_each(drop);
        std::process::exit(0);
    });
    let source = SecretSource::file(secrets).expect("secrets").interval(Duration::ZERO);
    let receiver = Receiver::builder().source(source).require_live().build();
    let app = App { receiver, handlers: handlers(&store).await };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("PORT {}", listener.local_addr().expect("an address").port());
    axum::serve(listener, Router::new().route("/", post(hook)).with_state(app)).await.expect("it serves");
}

/// Listens on one address and leads to whichever receiver there is.
async fn balancer() -> (String, Arc<AtomicU16>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (url, port) = (format!("http://{}/", listener.local_addr().unwrap()), Arc::<AtomicU16>::default());
    let target = Arc::clone(&port);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let port = target.load(Ordering::SeqCst);
            tokio::spawn(async move {
                let mut far = TcpStream::connect(("127.0.0.1", port)).await?;
                tokio::io::copy_bidirectional(&mut near, &mut far).await
            });
        }
    });
    (url, port)
}

/// Puts the times in a store back by a lease, so that every claim in it has run out.
async fn end_leases(store: &str) {
    if !store.starts_with("redis") {
        let guard = PostgresGuard::connect(store).await.expect("a store");
        let back = "update shared_inbox_webhooks set until = until - $1 * interval '1 second'";
        sqlx::query(back).bind(LEASE.as_secs_f64()).execute(guard.pool()).await.expect("times put back");
        return;
    }
    let client = redis::Client::open(store).expect("an address");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let keys: Vec<String> = connection.keys("shared-inbox:webhook:*").await.expect("keys");
    for key in keys {
        let left: i64 = connection.pttl(&key).await.expect("its life");
        let _: bool = connection.pexpire(&key, left - LEASE.as_millis() as i64).await.expect("put back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_whose_receiver_was_killed_is_a_dead_letter_in_the_end_and_no_rotation_rejects_it() {
    for store in [stores::valkey(), stores::postgres()].into_iter().flatten() {
        let mock = MockServer::builder().empty().manual_clock().start().await;
        let control = mock.control();
        let (url, port) = balancer().await;
        let webhook = CreateWebhook::new(&url).timestamps(TimestampSource::Real);
        let webhook = control.create_webhook(webhook).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let secrets = folder.path().join("secrets");
        fs::write(&secrets, &webhook.secret).unwrap();

        let mut victim = Process::start(&store, &secrets, true);
        port.store(victim.port, Ordering::SeqCst);
        let event = control.test_webhook(webhook.id.as_str()).await.unwrap().event_id;
        let delivering = control.clone();
        let first = tokio::spawn(async move { delivering.advance(Duration::ZERO).await });
        tokio::task::block_in_place(|| victim.wait_for("RUN"));
        drop(victim);
        first.await.unwrap().unwrap();

        // The next receiver is there when the secret changes, and hears of it after the service.
        let mut heir = Process::start(&store, &secrets, false);
        port.store(heir.port, Ordering::SeqCst);
        let next = control.rotate_webhook(webhook.id.as_str()).await.unwrap().secret;
        end_leases(&store.url()).await;
        control.advance(Duration::from_secs(36)).await.unwrap();
        tokio::task::block_in_place(|| heir.wait_for("RUN"));
        let log = control.deliveries(webhook.id.as_str(), DeliveryFilter::default()).await.unwrap();
        let statuses: Vec<_> = log[0].attempts.iter().map(|attempt| attempt.status).collect();
        assert_eq!((statuses, log[0].outcome), (vec![None, Some(200)], DeliveryOutcome::Delivered));

        let operator = handlers(&store.url()).await;
        let [letter] = &operator.dead_letters(10).await.unwrap()[..] else { panic!("one dead letter") };
        assert_eq!((letter.attempts(), letter.error()), (2, ERROR));
        assert_eq!(letter.parse::<Event>().unwrap().id, event);
        // Nobody has the old secret any more.
        fs::write(&secrets, &next).unwrap();
        drop(heir);
        let heir = Process::start(&store, &secrets, false);
        port.store(heir.port, Ordering::SeqCst);
        let delivery = Delivery::new("team", event.as_str());
        for is_first in [true, false] {
            let retried =
                operator.retry(&delivery, async |letter, _| letter.parse::<Event>().map(drop)).await;
            match retried {
                Ok(Handled::Ran(())) => assert!(is_first, "it ran twice"),
                Err(HandleError::NoDeadLetter) => assert!(!is_first, "it was lost"),
                other => panic!("{other:?}"),
            }
            control.redeliver(webhook.id.as_str(), event.as_str()).await.unwrap();
            control.advance(Duration::ZERO).await.unwrap();
            let log = control.deliveries(webhook.id.as_str(), DeliveryFilter::default()).await.unwrap();
            assert_eq!(log[0].attempts.last().unwrap().status, Some(200), "it was handled");
        }
        assert!(operator.dead_letters(10).await.unwrap().is_empty());
    }
}
