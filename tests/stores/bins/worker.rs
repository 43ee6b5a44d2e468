//! A process that calls the service as often as it may, until it is told to stop.

use std::{
    env,
    io::Read,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use shared_inbox::Client;
use shared_inbox_stores::Redis;

/// Calls that a worker makes at once.
const AT_ONCE: usize = 4;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let var = |name: &str| env::var(name).expect("set by the test that started it");
    let milliseconds = |name| Duration::from_millis(var(name).parse().expect("milliseconds"));
    let minute = milliseconds("FLEET_MINUTE");
    let redis =
        Redis::builder(var("FLEET_STORE")).timeout(Duration::from_millis(250)).open().expect("a store");
    let share = var("FLEET_SHARE").parse().expect("a number");
    let limiter = redis.limiter().window(minute).share(share).await.expect("a store");
    let inbox = Client::builder(var("FLEET_BASE_URL"), var("FLEET_KEY"))
        .rate_limiter(limiter)
        .timeout(milliseconds("FLEET_ATTEMPT"))
        .deadline(minute * 10)
        .build()
        .expect("a client");
    let number = var("FLEET_NUMBER").parse().expect("a number");
    println!("READY");
    let begin = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    begin.await.unwrap().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (succeeded, errors) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let mut calls = Vec::new();
    for _ in 0..AT_ONCE {
        let (inbox, stop) = (inbox.clone(), stop.clone());
        let (succeeded, errors) = (succeeded.clone(), errors.clone());
        calls.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                match inbox.conversations().limit(number).await {
                    Ok(_) => _ = succeeded.fetch_add(1, Ordering::Relaxed),
                    Err(error) => errors.lock().expect("whole").push(error.to_string()),
                }
            }
        }));
    }
    // Until whoever started it closes its input, or dies.
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    stop.store(true, Ordering::Relaxed);
    for call in calls {
        call.await.expect("calls do not panic");
    }
    println!("SUCCEEDED {}", succeeded.load(Ordering::Relaxed));
    for error in errors.lock().expect("whole").iter() {
        println!("FAILED {error}");
    }
}
