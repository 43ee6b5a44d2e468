//! One receiver of the fleet: a process of its own, which is this test program started again with a task in its environment.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{FromRef, State},
    response::{IntoResponse, Response},
    routing::post,
};
use shared_inbox_webhooks::{
    Event, Receiver, Secret, SecretSource, Webhook,
    replay::{ClaimHandle, DeadLetterGuard, Delivery, FencingToken, Handlers, PostgresGuard, RedisGuard},
};

use super::{SECRET, STORE_TIMEOUT, postgres_at, redis_at};

/// How long a process may take to say or to do something: the machine may have much else to do.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(120);

/// What a receiver is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Handles events with a claim, and counts what it did in the same store.
    Claims,
    /// The same, but with each event it says `begun` and waits for a line.
    Waits,
    /// Handles events with a claim, and counts every run, also one whose claim was overtaken.
    CountsRuns,
    /// Handles events inside transactions.
    Transactions,
    /// Counts every run, and fails with every third event; after three runs it is a dead letter.
    Fails,
    /// Retries the dead letter of the first event, says `begun` and waits.
    Retries,
}

/// Whether this event fails whoever handles it.
pub(crate) fn always_fails(event: &str) -> bool {
    event.trim_start_matches("evt_").parse::<usize>().is_ok_and(|number| number % 3 == 0)
}

/// How many runs an event has before it is a dead letter.
pub(crate) const MAX_ATTEMPTS: u32 = 3;

/// What the receivers on each store said through `tracing`.
static TRACED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// The lines that the receivers on this store have said about an event. Whole when they have ended.
pub(crate) fn traced(store: &str, event: &str) -> Vec<String> {
    let traced = TRACED.lock().expect("nobody panicked");
    let about = |line: &&String| line.contains(&format!("event=\"{event}\""));
    traced.iter().filter(|(own, _)| own == store).map(|(_, line)| line).filter(about).cloned().collect()
}

/// A process under way. It ends with this value.
pub(crate) struct Process {
    child: Child,
    reading: Option<JoinHandle<()>>,
    lines: Mutex<mpsc::Receiver<String>>,
    input: Mutex<ChildStdin>,
    pub(crate) url: String,
}

impl Process {
    pub(crate) fn start(role: Role, store: &str, lease: Duration) -> Self {
        Self::start_with(role, store, lease, None)
    }

    /// Starts a receiver that takes its secrets from this file.
    pub(crate) fn start_with(role: Role, store: &str, lease: Duration, secrets: Option<&Path>) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "receiver::a_receiver_of_the_fleet", "--ignored", "--nocapture"])
            .env("RECEIVER_ROLE", format!("{role:?}"))
            .env("RECEIVER_STORE", store)
            .env("RECEIVER_LEASE_MS", lease.as_millis().to_string())
            .envs(secrets.map(|file| ("RECEIVER_SECRETS", file)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let (send, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its words"));
        let own_store = store.to_owned();
        let reading = std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if line.contains(" WARN ") || line.contains(" ERROR ") {
                    TRACED.lock().expect("nobody panicked").push((own_store.clone(), line));
                } else if send.send(line).is_err() {
                    return;
                }
            }
        });
        let (lines, input) = (Mutex::new(lines), Mutex::new(child.stdin.take().expect("its ear")));
        let mut process = Self { child, reading: Some(reading), lines, input, url: String::new() };
        process.url = process.hears("listening on ");
        process
    }

    /// What it says after this word; everything else that the test program prints is passed over.
    pub(crate) fn hears(&self, word: &str) -> String {
        loop {
            let lines = self.lines.lock().expect("nobody panicked");
            let line = lines.recv_timeout(PROCESS_TIMEOUT).expect("it says so in time");
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].to_owned();
            }
        }
    }

    pub(crate) fn go_on(&self) {
        let mut input = self.input.lock().expect("nobody panicked");
        input.write_all(b"go on\n").expect("it listens");
    }

    /// Lets it stand still. The signal is sent when `kill` returns, and has arrived when every thread says so.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
        let begun = Instant::now();
        while !self.stands_still() {
            assert!(begun.elapsed() < PROCESS_TIMEOUT, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn stands_still(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("its threads");
        // `id (name) state …`, where a name may have anything in it.
        let state = |thread: fs::DirEntry| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        threads.map(|thread| state(thread.expect("a thread"))).all(|state| state == Some('T'))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().expect("kill").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill(); // SIGKILL: it gets no time for a last word
        _ = self.child.wait();
        if let Some(reading) = self.reading.take() {
            _ = reading.join();
        }
    }
}

#[derive(Clone)]
struct App {
    receiver: Receiver,
    role: Role,
    claims: Option<Handlers<Arc<dyn DeadLetterGuard>>>,
    transactions: Option<Handlers<PostgresGuard>>,
    effects: Effects,
    gate: Arc<tokio::sync::Mutex<tokio::sync::mpsc::UnboundedReceiver<()>>>,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

/// Where effects are counted: a number for each event. With a fence, it only grows for one that is larger than the last.
#[derive(Clone)]
enum Effects {
    Redis(redis::aio::MultiplexedConnection),
    Postgres(sqlx::PgPool),
}

impl Effects {
    async fn count(
        &self,
        event: &str,
        fence: Option<FencingToken>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match self {
            Self::Redis(connection) => {
                let script = redis::Script::new(
                    "local fence = tonumber(ARGV[1])
                     if fence then
                         if fence <= tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') then return 0 end
                         redis.call('HSET', KEYS[1], 'fence', ARGV[1])
                     end
                     return redis.call('HINCRBY', KEYS[1], 'count', 1)",
                );
                let mut call = script.key(format!("effect:{event}"));
                let fence = fence.map_or_else(|| "none".to_owned(), |fence| fence.number().to_string());
                let _: i64 = call.arg(fence).invoke_async(&mut connection.clone()).await?;
            }
            Self::Postgres(pool) => {
                let count = "insert into effects as e values ($1, $2, 1) on conflict (event) do update
                    set fence = excluded.fence, count = e.count + 1 where e.fence < excluded.fence or $2 is null";
                let fence = fence.map(|fence| i64::try_from(fence.number())).transpose()?;
                sqlx::query(count).bind(event).bind(fence).execute(pool).await?;
            }
        }
        Ok(())
    }
}

async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> Response {
    let delivery = event.delivery("fleet");
    let id = delivery.event().to_owned();
    if let Some(handlers) = app.transactions {
        let handling = handlers.once_in_transaction(delivery, move |transaction| {
            Box::pin(async move {
                let order = sqlx::query("insert into orders values ($1)").bind(id);
                order.execute(&mut **transaction).await.map(drop)
            })
        });
        return handling.await.into_response();
    }
    let Some(handlers) = app.claims.clone() else { return ().into_response() };
    let handler = async move |claim: ClaimHandle| {
        if app.role == Role::Waits {
            println!("begun {id}");
            app.gate.lock().await.recv().await;
        }
        let counts_runs = matches!(app.role, Role::CountsRuns | Role::Fails);
        let fence = (!counts_runs).then(|| claim.fencing_token());
        app.effects.count(&id, fence).await?;
        if counts_runs {
            // So that some are killed or stopped between the effect and its mark.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if app.role == Role::Fails && always_fails(&id) {
            return Err(format!("{id} always fails").into());
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    handlers.once(delivery, handler).await.into_response()
}

#[test]
#[ignore = "a process of the fleet, which the tests start"]
fn a_receiver_of_the_fleet() {
    let (Ok(role), Ok(store)) = (std::env::var("RECEIVER_ROLE"), std::env::var("RECEIVER_STORE")) else {
        return;
    };
    tracing_subscriber::fmt().with_ansi(false).init();
    let lease = std::env::var("RECEIVER_LEASE_MS").ok().and_then(|lease| lease.parse().ok());
    let lease = Duration::from_millis(lease.expect("a lease"));
    let roles = [Role::Claims, Role::Waits, Role::CountsRuns, Role::Transactions, Role::Fails, Role::Retries];
    let role = roles.into_iter().find(|known| format!("{known:?}") == role).expect("a role");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (go, gate) = tokio::sync::mpsc::unbounded_channel();
        // Its end of life: whoever started it is gone.
        std::thread::spawn(move || {
            std::io::stdin().lines().map_while(Result::ok).for_each(|_| _ = go.send(()));
            std::process::exit(0);
        });
        let (guard, effects, postgres): (Arc<dyn DeadLetterGuard>, _, _) = if store.starts_with("redis") {
            let guard = RedisGuard::new(redis_at(&store).await).lease(lease).timeout(STORE_TIMEOUT);
            (Arc::new(guard), Effects::Redis(redis_at(&store).await), None)
        } else {
            let guard = PostgresGuard::new(postgres_at(&store).await).lease(lease).timeout(STORE_TIMEOUT);
            (Arc::new(guard.clone()), Effects::Postgres(guard.pool().clone()), Some(guard))
        };
        let receiver = match std::env::var_os("RECEIVER_SECRETS") {
            Some(file) => {
                let source = SecretSource::file(file).expect("secrets").interval(Duration::ZERO);
                Receiver::builder().source(source)
            }
            None => Receiver::builder().secrets([Secret::parse(SECRET).expect("a secret")]),
        };
        let handlers = Handlers::new(guard);
        let handlers = if role == Role::Fails { handlers.max_attempts(MAX_ATTEMPTS) } else { handlers };
        if role == Role::Retries {
            let handlers = handlers.clone();
            tokio::spawn(async move {
                let first = Delivery::new("fleet", "evt_0");
                let retry = handlers.retry(&first, async |letter, _| {
                    println!("begun {}", letter.delivery().event());
                    std::future::pending::<Result<(), std::fmt::Error>>().await
                });
                _ = retry.await;
            });
        }
        let app = App {
            receiver: receiver.build(),
            role,
            claims: (role != Role::Transactions).then_some(handlers),
            transactions: postgres.filter(|_| role == Role::Transactions).map(Handlers::new),
            effects,
            gate: Arc::new(tokio::sync::Mutex::new(gate)),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("listening on http://{}/", listener.local_addr().expect("an address"));
        let router = Router::new().route("/", post(hook)).with_state(app);
        axum::serve(listener, router).await.expect("it serves");
    });
}
