//! Many events on their way to receivers that hang up, fail and die, with every event's effect counted.
//!
//! What a receiver does with an attempt is decided by a hash of the event and the number of the attempt, so a run can be repeated:
//! `SOAK_EVENTS=50000 cargo test -p shared-inbox-tests soak` plays a longer one. A receiver that dies takes everything with it
//! that was at work in it; its store lives on, as a database would.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Extension, Router,
    extract::{FromRef, State},
    response::{IntoResponse, Response},
    routing::post,
};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use shared_inbox::event::Event;
use shared_inbox_mock::{
    CreateWebhook, MockServer,
    webhooks::{DeliveryFilter, DeliveryOutcome, TimestampSource},
};
use shared_inbox_webhooks::{
    Receiver, Secret, Verifier, Webhook,
    replay::{Delivery, GuardFuture, Handlers, Mark, MemoryGuard, TransactionalInbox},
};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{Mutex as Lock, Notify, OwnedMutexGuard, mpsc},
};

/// What goes wrong with one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum InjectedFault {
    None,
    Fails,
    /// The connection is cut while the handler is at work.
    HangsUp,
    /// The program dies before the effect.
    DiesBefore,
    /// It dies after the effect, before anything can note it.
    DiesAfter,
}

impl InjectedFault {
    fn of_attempt(event: &str, attempt: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        (event, attempt).hash(&mut hasher);
        match hasher.finish() % 1000 {
            _ if attempt > 3 => InjectedFault::None, // or an event could run out of attempts
            0..80 => InjectedFault::Fails,
            80..160 => InjectedFault::HangsUp,
            160..166 => InjectedFault::DiesBefore,
            166..172 => InjectedFault::DiesAfter,
            _ => InjectedFault::None,
        }
    }
}

/// What outlives a receiver: its store, and what we count.
#[derive(Default)]
struct SharedState {
    database: Database,
    /// By event, in which process of the receiver its effect took place.
    effects: Mutex<BTreeMap<String, Vec<usize>>>,
    attempts: Mutex<BTreeMap<String, usize>>,
    faults: Mutex<BTreeMap<InjectedFault, usize>>,
    processes: AtomicUsize,
}

/// A database of one table and the marks: one transaction at a time, which is gone with whoever made it.
#[derive(Clone, Default)]
struct Database(Arc<Lock<Tables>>);

#[derive(Default)]
struct Tables {
    marks: BTreeSet<Delivery>,
    rows: Vec<String>,
}

struct Transaction {
    tables: OwnedMutexGuard<Tables>,
    mark: Option<Delivery>,
    row: Option<String>,
}

impl TransactionalInbox for Database {
    type Transaction = Transaction;

    fn begin(&self) -> GuardFuture<'_, Transaction> {
        Box::pin(async {
            Ok(Transaction { tables: self.0.clone().lock_owned().await, mark: None, row: None })
        })
    }

    fn mark<'a>(&'a self, transaction: &'a mut Transaction, delivery: &'a Delivery) -> GuardFuture<'a, Mark> {
        Box::pin(async {
            if transaction.tables.marks.contains(delivery) {
                return Ok(Mark::Done);
            }
            transaction.mark = Some(delivery.clone());
            Ok(Mark::New)
        })
    }

    fn commit(&self, mut transaction: Transaction) -> GuardFuture<'_, ()> {
        Box::pin(async move {
            transaction.tables.marks.extend(transaction.mark);
            transaction.tables.rows.extend(transaction.row);
            Ok(())
        })
    }
}

/// One process of a receiver.
#[derive(Clone)]
struct ReceiverProcess {
    number: usize,
    receiver: Receiver,
    guarded: Handlers<Arc<MemoryGuard>>,
    transactional: Option<Handlers<Database>>,
    shared: Arc<SharedState>,
    deaths: mpsc::UnboundedSender<usize>,
}

impl FromRef<ReceiverProcess> for Receiver {
    fn from_ref(process: &ReceiverProcess) -> Self {
        process.receiver.clone()
    }
}

impl ReceiverProcess {
    async fn die(&self) {
        _ = self.deaths.send(self.number);
        std::future::pending::<()>().await;
    }

    /// What happens on the way to the effect, and after it.
    async fn before(&self, fault: InjectedFault, cut: &Notify) -> Result<(), std::fmt::Error> {
        match fault {
            InjectedFault::Fails => return Err(std::fmt::Error),
            InjectedFault::DiesBefore => self.die().await,
            InjectedFault::HangsUp => {
                cut.notify_one();
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
            }
            InjectedFault::None | InjectedFault::DiesAfter => {}
        }
        Ok(())
    }
}

async fn hook(
    State(process): State<ReceiverProcess>,
    Extension(cut): Extension<Arc<Notify>>,
    Webhook(event): Webhook<Event>,
) -> Response {
    let delivery = event.delivery("soak");
    let id = delivery.event().to_owned();
    let attempt = {
        let mut attempts = process.shared.attempts.lock().unwrap();
        let attempt = attempts.entry(id.clone()).or_default();
        *attempt += 1;
        *attempt
    };
    let fault = InjectedFault::of_attempt(&id, attempt);
    *process.shared.faults.lock().unwrap().entry(fault).or_default() += 1;
    if let Some(handlers) = process.transactional.clone() {
        let outcome = handlers.once_in_transaction(delivery, move |transaction| {
            Box::pin(async move {
                process.before(fault, &cut).await?;
                transaction.row = Some(id);
                if fault == InjectedFault::DiesAfter {
                    process.die().await;
                }
                Ok::<_, std::fmt::Error>(())
            })
        });
        return outcome.await.into_response();
    }
    let handlers = process.guarded.clone();
    let handler = async move |_| {
        process.before(fault, &cut).await?;
        process.shared.effects.lock().unwrap().entry(id).or_default().push(process.number);
        if fault == InjectedFault::DiesAfter {
            process.die().await;
        }
        Ok::<_, std::fmt::Error>(())
    };
    handlers.once(delivery, handler).await.into_response()
}

/// A receiver that comes back to life at the same address, whenever it has died.
struct Program {
    socket: std::net::TcpListener,
    secret: String,
    transactional: bool,
    guard: Arc<MemoryGuard>,
    shared: Arc<SharedState>,
}

impl Program {
    fn live(&self, deaths: mpsc::UnboundedSender<usize>) -> Runtime {
        let number = self.shared.processes.fetch_add(1, Ordering::SeqCst);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let inside = runtime.enter();
        let process = ReceiverProcess {
            number,
            receiver: Receiver::new(Verifier::new([Secret::parse(&self.secret).unwrap()])),
            guarded: Handlers::new(self.guard.clone()),
            transactional: self.transactional.then(|| Handlers::new(self.shared.database.clone())),
            shared: self.shared.clone(),
            deaths,
        };
        let router = Router::new().route("/", post(hook)).with_state(process);
        let socket = self.socket.try_clone().expect("a second handle");
        runtime.spawn(async move {
            let listener = TcpListener::from_std(socket).expect("it does not block");
            while let Ok((stream, _)) = listener.accept().await {
                let cut = Arc::new(Notify::new());
                let service = TowerToHyperService::new(router.clone().layer(Extension(cut.clone())));
                tokio::spawn(async move {
                    tokio::select! {
                        _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service) => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        drop(inside);
        runtime
    }

    /// Lives until nobody wants it any more.
    async fn run(self, stop: Arc<Notify>) {
        let (send, mut deaths) = mpsc::unbounded_channel();
        let mut runtime = self.live(send.clone());
        loop {
            tokio::select! {
                Some(_) = deaths.recv() => {
                    runtime.shutdown_background();
                    runtime = self.live(send.clone());
                }
                () = stop.notified() => break,
            }
        }
        runtime.shutdown_background();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_takes_effect_whoever_hangs_up_fails_or_dies() {
    let events: usize = std::env::var("SOAK_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    tokio::time::timeout(Duration::from_secs(300), soak(events)).await.expect("it ends");
}

async fn soak(events: usize) {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let hand = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(Notify::new());
    let mut receivers = Vec::new();
    for transactional in [false, true, false, true] {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        // The receiver goes by the time of day; its store by the mock's.
        let new = CreateWebhook::new(format!("http://{address}/")).timestamps(TimestampSource::Real);
        let webhook = control.create_webhook(new).await.unwrap();
        let clock = hand.clone();
        let guard = MemoryGuard::new().clock(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
        let shared = Arc::new(SharedState::default());
        let (guard, secret) = (Arc::new(guard), webhook.secret.clone());
        let program = Program { socket, secret, transactional, guard, shared: shared.clone() };
        tokio::spawn(program.run(stop.clone()));
        receivers.push((webhook.id, transactional, shared));
    }
    for n in 0..events {
        control.test_webhook(receivers[n % receivers.len()].0.as_str()).await.unwrap();
    }
    // The service's own schedule, each pause with its fifth on top.
    for pause in [0, 36, 144, 720, 2_160, 4_320, 12_960, 25_920, 51_840] {
        hand.fetch_add(pause, Ordering::SeqCst);
        control.advance(Duration::from_secs(pause)).await.unwrap();
    }
    stop.notify_waiters();

    let mut faults = BTreeMap::new();
    let (mut processes, mut twice) = (0, 0);
    for (webhook, transactional, shared) in &receivers {
        let log = control.deliveries(webhook.as_str(), DeliveryFilter::default()).await.unwrap();
        let share = events / receivers.len();
        assert_eq!(log.len(), share);
        let undelivered: Vec<_> = log.iter().filter(|d| d.outcome != DeliveryOutcome::Delivered).collect();
        assert!(undelivered.is_empty(), "{} of {share} were lost: {:?}", undelivered.len(), undelivered[0]);
        let sent: BTreeSet<&str> = log.iter().map(|delivery| delivery.event_id.as_str()).collect();
        if *transactional {
            let tables = shared.database.0.lock().await;
            let distinct: BTreeSet<&str> = tables.rows.iter().map(String::as_str).collect();
            assert_eq!((tables.rows.len(), tables.marks.len()), (share, share), "exactly once, whoever died");
            assert_eq!(distinct, sent);
        } else {
            let effects = shared.effects.lock().unwrap();
            assert_eq!(effects.keys().map(String::as_str).collect::<BTreeSet<_>>(), sent, "at least once");
            for (event, processes) in effects.iter().filter(|(_, processes)| processes.len() > 1) {
                let distinct: BTreeSet<_> = processes.iter().collect();
                assert_eq!(distinct.len(), processes.len(), "{event} twice in one process");
                twice += 1;
            }
        }
        for (fault, count) in shared.faults.lock().unwrap().iter() {
            *faults.entry(*fault).or_insert(0) += count;
        }
        processes += shared.processes.load(Ordering::SeqCst);
    }
    println!(
        "{events} events, {faults:?}, {processes} processes, {twice} effects twice because of a death before the note"
    );
    assert!(
        faults.len() == 5 && twice > 0 && processes > receivers.len(),
        "a run in which nothing went wrong proves nothing"
    );
    let deaths = faults[&InjectedFault::DiesAfter];
    assert!(twice <= deaths, "{twice} effects twice, {deaths} deaths between an effect and its note");
}
