//! A process of the fleet (`bins/worker.rs`), as the tests see it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use shared_inbox_mock::MockServer;
use shared_inbox_tests::until;

use super::ATTEMPT;

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
    /// Its calls ask for lists of `number` entries, so that the journal tells workers apart. It makes none
    /// before [`begin`](Self::begin).
    pub(crate) fn start(mock: &MockServer, store: &str, minute: Duration, share: u32, number: u32) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_worker"));
        command.env("FLEET_ATTEMPT", ATTEMPT.as_millis().to_string());
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
    until("so many requests", async || mock.control().requests().await.len() >= count).await;
}
