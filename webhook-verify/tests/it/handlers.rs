//! A handler that has begun ends: whoever hangs up, however long it takes, and also when the program is to
//! end.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::post;
use futures_util::FutureExt;
use shared_inbox_webhooks::replay::{
    Claim, ClaimHandle, Delivery, GuardError, GuardFuture, HandleError, Handled, Handlers, Mark, MemoryGuard,
    ReplayGuard, StillRunning, TransactionalInbox, once_in_transaction,
};
use shared_inbox_webhooks::{Event, Receiver, Webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as Lock, Notify, OwnedMutexGuard, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::faulty_guard::{FaultyGuard, StoreDown, guard};
use crate::fixture::{BODY, ID, current, receiver, signed_by};
use crate::replay::one;

/// Handles the event in a request of its own.
pub(crate) fn spawn_once<G, T, E, F>(
    handlers: &Handlers<G>,
    delivery: Delivery,
    handler: impl FnOnce(ClaimHandle) -> F + Send + 'static,
) -> JoinHandle<Result<Handled<T>, HandleError<E>>>
where
    G: ReplayGuard + 'static,
    T: Send + 'static,
    E: Display + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let handlers = handlers.clone();
    tokio::spawn(async move { handlers.once(delivery, handler).await })
}

pub(crate) async fn until_running<G>(handlers: &Handlers<G>, count: usize) {
    while handlers.running() != count {
        tokio::task::yield_now().await;
    }
}

#[derive(Clone, FromRef)]
struct App {
    receiver: Receiver,
    handlers: Handlers<Arc<dyn ReplayGuard>>,
    work: Arc<Work>,
}

/// A handler that waits until it may go on.
#[derive(Default)]
struct Work {
    go_on: Notify,
    has_started: Notify,
    hung_up: Notify,
}

/// Tells when the framework drops the request's future.
struct Dropped(Arc<Work>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.hung_up.notify_one();
    }
}

async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
    let _dropped = Dropped(Arc::clone(&app.work));
    let work = app.work;
    let handler = async move |_| {
        work.has_started.notify_one();
        work.go_on.notified().await;
        Ok::<_, Infallible>(())
    };
    app.handlers.once(event.delivery("/"), handler).await
}

fn request() -> String {
    let headers = signed_by(current(), BODY.as_bytes());
    let lines: String = headers.pairs().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = BODY.len();
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n{lines}\r\n{BODY}"
    )
}

async fn status(address: std::net::SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request().as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_sender_that_hangs_up_changes_nothing() {
    let handlers = Handlers::new(Arc::new(MemoryGuard::new()) as Arc<dyn ReplayGuard>);
    let app = App { receiver: receiver(), handlers: handlers.clone(), work: Arc::default() };
    let work = Arc::clone(&app.work);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", post(hook)).with_state(app);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let mut impatient = TcpStream::connect(address).await.unwrap();
    impatient.write_all(request().as_bytes()).await.unwrap();
    work.has_started.notified().await;
    drop(impatient);
    work.hung_up.notified().await;
    assert_eq!(handlers.running(), 1, "the request is gone, the handler is not");
    assert_eq!(status(address).await, "409", "a retry that comes meanwhile");
    work.go_on.notify_one();
    until_running(&handlers, 0).await;
    work.go_on.notify_one();
    assert_eq!(status(address).await, "200", "a retry that comes after the end");
    assert!(work.has_started.notified().now_or_never().is_none(), "the handler ran twice");
    assert_eq!(handlers.guard().claim(&Delivery::new("/", ID)).await.unwrap(), Claim::Done);
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_hangs_up_during_the_commit_changes_nothing_also_when_the_commit_fails_first() {
    for failures in [0, 1] {
        let store =
            FaultyGuard { commit_time: Duration::from_secs(1), ..FaultyGuard::failing("commit", failures) };
        let handlers = Handlers::new(store);
        let request = spawn_once(&handlers, one(), async |_| Ok::<_, Infallible>(()));
        sleep(Duration::from_millis(500)).await;
        assert_eq!(handlers.guard().calls(), ["claim", "commit"]);
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        handlers.shutdown(Duration::from_secs(60)).await.unwrap();
        assert_eq!(handlers.guard().claim(&one()).await.unwrap(), Claim::Done);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_slower_than_its_lease_keeps_its_claim() {
    let handlers = Handlers::new(guard().lease(Duration::from_millis(300)));
    let slow = spawn_once(&handlers, one(), async |_| {
        sleep(Duration::from_millis(700)).await;
        Ok::<_, Infallible>(())
    });
    for _ in 0..6 {
        sleep(Duration::from_millis(100)).await;
        let second = handlers.once(one(), async |_| panic!("side by side") as Result<(), Infallible>).await;
        assert!(matches!(second, Ok(Handled::InProgress)), "{second:?}");
    }
    assert!(matches!(slow.await.unwrap(), Ok(Handled::Ran(()))));
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_claim_was_lost_all_the_same_is_told() {
    let guard = Arc::new(guard());
    let handlers = Handlers::new(Arc::clone(&guard));
    let outcome = handlers.once(one(), async move |claim| {
        // As if the machine had slept: the claim is given to another try.
        guard.abandon(&one(), claim.fencing_token());
        let Ok(Claim::Granted(second)) = guard.claim(&one()).await else { panic!("it is free") };
        assert!(second > claim.fencing_token() && !claim.is_lost());
        sleep(Duration::from_secs(30)).await;
        assert!(claim.is_lost(), "a renewal has found out");
        Ok::<_, Infallible>(())
    });
    assert!(matches!(outcome.await, Ok(Handled::Overtaken(()))));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_at_a_renewal_is_asked_again_soon() {
    let handlers = Handlers::new(FaultyGuard::failing("renew", usize::MAX));
    let outcome = handlers.once(one(), async |_| {
        sleep(Duration::from_secs(59)).await;
        Ok::<_, Infallible>(())
    });
    assert!(matches!(outcome.await, Ok(Handled::Ran(()))));
    assert_eq!(handlers.guard().renewals(), 8, "after 20 seconds, and then every 5");
}

#[tokio::test]
async fn a_handler_that_panics_is_a_failure_and_its_event_is_tried_again() {
    let handlers = Handlers::new(MemoryGuard::new());
    for panics in [true, false] {
        let handler = move |_| {
            assert!(!panics, "before it gave a future");
            async { panic!("in its midst") as Result<(), Infallible> }
        };
        let outcome = handlers.once(one(), handler).await.unwrap_err();
        assert!(matches!(outcome, HandleError::Panicked), "{outcome:?}");
        assert_eq!(outcome.status(), 500);
    }
    assert!(matches!(handlers.once(one(), async |_| Ok::<_, Infallible>(())).await, Ok(Handled::Ran(()))));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_what_has_begun_and_begins_nothing_new() {
    let handlers = Handlers::new(guard());
    let begun = spawn_once(&handlers, one(), async |_| {
        sleep(Duration::from_secs(20)).await;
        Ok::<_, Infallible>(())
    });
    until_running(&handlers, 1).await;
    let start = Instant::now();
    let early = handlers.shutdown(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((early.handlers, start.elapsed()), (1, Duration::from_secs(5)));
    let _: StillRunning = early;
    let late = handlers.once(one(), async |_| panic!("begun") as Result<(), Infallible>).await.unwrap_err();
    assert_eq!((late.status(), matches!(late, HandleError::ShuttingDown)), (503, true));
    handlers.shutdown(Duration::from_secs(60)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(20), "no longer than needed");
    assert!(matches!(begun.await.unwrap(), Ok(Handled::Ran(()))));
    handlers.shutdown(Duration::ZERO).await.unwrap();
}

#[test]
fn handlers_live_on_the_runtime_in_which_they_were_made() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let main = runtime();
    let handlers = main.block_on(async { Handlers::new(MemoryGuard::new()) });
    let (send, wait) = oneshot::channel::<()>();
    // A worker whose runtime ends while the handler is at work, as actix-web's do.
    let worker = runtime();
    let own = handlers.clone();
    let request = worker.spawn(async move { own.once(one(), async move |_| wait.await).await });
    worker.block_on(until_running(&handlers, 1));
    drop(worker);
    assert!(request.is_finished());
    send.send(()).unwrap();
    main.block_on(handlers.shutdown(Duration::from_secs(60))).unwrap();
    assert_eq!(main.block_on(handlers.guard().claim(&one())).unwrap(), Claim::Done);
}

/// A database of one table: what was done, and the marks. One transaction at a time.
#[derive(Clone, Default)]
pub(crate) struct Database {
    tables: Arc<Lock<Tables>>,
    down_for: Arc<Mutex<Option<&'static str>>>,
}

#[derive(Clone, Default)]
pub(crate) struct Tables {
    marks: BTreeSet<Delivery>,
    pub(crate) effects: usize,
}

pub(crate) struct Transaction {
    committed: OwnedMutexGuard<Tables>,
    pub(crate) tables: Tables,
}

impl Database {
    fn works(&self, step: &'static str) -> Result<(), GuardError> {
        if *self.down_for.lock().unwrap() == Some(step) { Err(GuardError::new(StoreDown)) } else { Ok(()) }
    }

    pub(crate) async fn seen(&self) -> (usize, usize) {
        let tables = self.tables.lock().await;
        (tables.effects, tables.marks.len())
    }
}

impl TransactionalInbox for Database {
    type Transaction = Transaction;

    fn begin(&self) -> GuardFuture<'_, Transaction> {
        Box::pin(async {
            self.works("begin")?;
            let committed = Arc::clone(&self.tables).lock_owned().await;
            Ok(Transaction { tables: committed.clone(), committed })
        })
    }

    fn mark<'a>(&'a self, transaction: &'a mut Transaction, delivery: &'a Delivery) -> GuardFuture<'a, Mark> {
        Box::pin(async {
            self.works("mark")?;
            let new = transaction.tables.marks.insert(delivery.clone());
            Ok(if new { Mark::New } else { Mark::Done })
        })
    }

    fn commit(&self, mut transaction: Transaction) -> GuardFuture<'_, ()> {
        Box::pin(async move {
            self.works("commit")?;
            *transaction.committed = transaction.tables;
            Ok(())
        })
    }
}

/// Handles the event in a transaction; the handler has an effect and then this outcome.
async fn handle(
    handlers: &Handlers<Database>,
    outcome: fn() -> Result<(), &'static str>,
) -> Result<Handled<()>, HandleError<&'static str>> {
    let handling = handlers.once_in_transaction(one(), move |transaction| {
        transaction.tables.effects += 1;
        Box::pin(async move { outcome() })
    });
    handling.await
}

#[tokio::test]
async fn effect_and_mark_commit_together_or_not_at_all() {
    let database = Database::default();
    let handlers = Handlers::new(database.clone());
    for step in ["begin", "mark", "commit"] {
        *database.down_for.lock().unwrap() = Some(step);
        assert_eq!(handle(&handlers, || Ok(())).await.unwrap_err().status(), 503, "{step}");
        assert_eq!(database.seen().await, (0, 0), "{step}");
    }
    *database.down_for.lock().unwrap() = None;
    let failed = handle(&handlers, || Err("half-way")).await;
    assert!(matches!(failed, Err(HandleError::Handler("half-way"))), "{failed:?}");
    let panicked = handle(&handlers, || panic!("half-way")).await;
    assert!(matches!(panicked, Err(HandleError::Panicked)), "{panicked:?}");
    assert_eq!(database.seen().await, (0, 0), "nothing is left behind");
    for is_first in [true, false] {
        let outcome = handle(&handlers, || Ok(())).await.unwrap();
        assert_eq!((matches!(outcome, Handled::Ran(())), outcome.status()), (is_first, 200));
        assert_eq!(database.seen().await, (1, 1), "first: {is_first}");
    }
}

#[tokio::test]
async fn a_transaction_whose_request_is_gone_commits_all_the_same() {
    let database = Database::default();
    let handlers = Handlers::new(database.clone());
    let (send, wait) = oneshot::channel::<()>();
    let request = tokio::spawn({
        let handlers = handlers.clone();
        async move {
            let outcome = handlers.once_in_transaction(one(), |transaction| {
                transaction.tables.effects += 1;
                Box::pin(wait)
            });
            outcome.await
        }
    });
    until_running(&handlers, 1).await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    send.send(()).unwrap();
    handlers.shutdown(Duration::from_secs(60)).await.unwrap();
    assert_eq!(database.seen().await, (1, 1));
    let delivery = one();
    let again = once_in_transaction(&database, &delivery, |_| {
        Box::pin(async { panic!("ran twice") as Result<(), Infallible> })
    });
    assert!(matches!(again.await, Ok(Handled::AlreadyDone)));
}
