//! One receiver of the fleet, with a task in its environment.

#[allow(dead_code)]
#[path = "../receiver_fleet/roles.rs"]
mod roles;
#[allow(dead_code)]
#[path = "../support.rs"]
mod support;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{FromRef, State},
    response::{IntoResponse, Response},
    routing::post,
};
use roles::{MAX_ATTEMPTS, Role, SECRET, always_fails};
use shared_inbox_stores::PostgresGuard;
use shared_inbox_webhooks::{
    Event, Receiver, Secret, Webhook,
    replay::{ClaimHandle, DeadLetterGuard, Delivery, FencingToken, Handlers},
};

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

/// Where effects are counted: a number for each event. With a fence, it only grows for one that is larger
/// than the last.
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

fn main() {
    let var = |name: &str| std::env::var(name).expect("set by the test that starts it");
    let (role, store) = (var("RECEIVER_ROLE"), var("RECEIVER_STORE"));
    tracing_subscriber::fmt().with_ansi(false).init();
    let lease = Duration::from_millis(var("RECEIVER_LEASE_MS").parse().expect("a lease"));
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
            let guard = support::redis(&store).await.guard().lease(lease);
            (Arc::new(guard), Effects::Redis(support::redis_connection(&store).await), None)
        } else {
            let guard = support::postgres(&store).await.guard().lease(lease);
            (Arc::new(guard.clone()), Effects::Postgres(guard.pool().clone()), Some(guard))
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
            receiver: Receiver::builder().secrets([Secret::parse(SECRET).expect("a secret")]).build(),
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
