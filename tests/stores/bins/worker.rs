//! A process that calls the service as often as it may, until it is told to stop.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use shared_inbox::{Client, rate_limit::RedisLimiter};
use shared_inbox_mock::MockServer;

use super::ATTEMPT;

/// Calls that a worker makes at once.
const AT_ONCE: usize = 4;

pub(crate) struct Worker {
    process: Child,
    output: BufReader<ChildStdout>,
}

/// What became of a worker's calls.
pub(crate) struct WorkerReport {
    pub(crate) succeeded: usize,
    pub(crate) errors: Vec<String>,
}

impl Worker {
    /// Starts this program again, as the test below. Its calls ask for lists of `number` entries, so that the journal tells
    /// workers apart. It makes none before [`begin`](Self::begin).
    pub(crate) fn start(mock: &MockServer, store: &str, minute: Duration, share: u32, number: u32) -> Self {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args([
            "--exact",
            "worker_fleet::worker::a_worker",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env("FLEET_BASE_URL", mock.base_url()).env("FLEET_KEY", mock.live_key());
        command.env("FLEET_STORE", store).env("FLEET_MINUTE", minute.as_millis().to_string());
        command.env("FLEET_SHARE", share.to_string()).env("FLEET_NUMBER", number.to_string());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a worker");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, output }
    }

    /// Waits until it is connected to the store.
    pub(crate) fn wait_until_ready(&mut self) {
        let ready = self.output.by_ref().lines().any(|line| line.expect("its words") == "READY");
        assert!(ready, "a worker ended before it began");
    }

    /// Lets it make its calls.
    pub(crate) fn begin(&mut self) {
        self.process.stdin.as_mut().expect("its input").write_all(b"\n").expect("it reads");
    }

    /// As a power cut would.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it has ended");
    }

    /// Ends its calls and hears what became of them.
    pub(crate) fn stop(mut self) -> WorkerReport {
        drop(self.process.stdin.take());
        let mut report = WorkerReport { succeeded: 0, errors: Vec::new() };
        for line in self.output.by_ref().lines() {
            let line = line.expect("its words");
            if let Some(succeeded) = line.strip_prefix("SUCCEEDED ") {
                report.succeeded = succeeded.parse().expect("a number");
            } else if let Some(error) = line.strip_prefix("FAILED ") {
                report.errors.push(error.to_owned());
            }
        }
        assert!(self.process.wait().expect("it has ended").success(), "a worker failed");
        report
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Waits until so many requests have reached the service.
pub(crate) async fn requests_from(mock: &MockServer, count: usize) {
    for _ in 0..1_500 {
        if mock.control().requests().await.len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{count} requests do not come");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the other tests start"]
async fn a_worker() {
    let Ok(base_url) = env::var("FLEET_BASE_URL") else { return };
    let var = |name: &str| env::var(name).expect("set by the test that started it");
    let minute = Duration::from_millis(var("FLEET_MINUTE").parse().expect("milliseconds"));
    let limiter = RedisLimiter::builder(var("FLEET_STORE"))
        .window(minute)
        .share(var("FLEET_SHARE").parse().expect("a number"))
        .timeout(Duration::from_millis(250))
        .connect()
        .await
        .expect("a store");
    let inbox = Client::builder(base_url, var("FLEET_KEY"))
        .rate_limiter(limiter)
        .timeout(ATTEMPT)
        .deadline(minute * 10)
        .build()
        .expect("a client");
    let number = var("FLEET_NUMBER").parse().expect("a number");
    println!("\nREADY");
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
    println!("\nSUCCEEDED {}", succeeded.load(Ordering::Relaxed));
    for error in errors.lock().expect("whole").iter() {
        println!("FAILED {error}");
    }
}
