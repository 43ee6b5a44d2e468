//! The time from start to ready, inside a test and as a program.
//!
//! `cargo bench -p shared-inbox-mock-cli --bench start`

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use shared_inbox_mock::MockServer;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    println!("start to ready, median of 20");
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let inside = (0..20).map(|_| {
        let started = Instant::now();
        let mock = runtime.block_on(MockServer::start());
        let taken = started.elapsed();
        drop(mock);
        taken
    });
    println!("  inside a test {:6.1} ms", median(inside.collect()));
    let program = (0..20).map(|_| {
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
            .args(["--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let taken = started.elapsed();
        child.kill().expect("it ends");
        child.wait().expect("it ended");
        taken
    });
    println!("  as a program  {:6.1} ms", median(program.collect()));
}
