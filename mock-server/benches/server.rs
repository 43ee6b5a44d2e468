//! What the mock costs: requests a second against a bare axum route that answers the same bytes in the same
//! run, lists and searches in small and large worlds, and memory for a conversation.
//!
//! `cargo bench -p shared-inbox-mock --bench server`

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use axum::{Router, http::header, routing::any};
use shared_inbox_mock::{InboundMail, MockServer};

const CONNECTIONS: usize = 8;
const ROUND: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    throughput(&runtime);
    scale(&runtime);
}

/// A request over a kept connection, and how long its answer is.
struct Request {
    head: String,
    answer: usize,
}

impl Request {
    fn new(mock: &MockServer, method: &str, path: &str, body: &str) -> Self {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}",
            host = address(mock.base_url()),
            key = mock.live_key(),
            length = body.len(),
        );
        Self { head, answer: 0 }
    }

    /// Sends it once to learn the length of the whole answer, its body at the end.
    fn learn(mut self, address: SocketAddr) -> (Self, Vec<u8>) {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(self.head.as_bytes()).expect("written");
        let (mut answer, mut buffer) = (Vec::new(), [0; 65_536]);
        let body = loop {
            let read = stream.read(&mut buffer).expect("an answer");
            answer.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .and_then(|length| length.parse().ok())
                .expect("a length");
            if body.len() >= length {
                assert!(head.starts_with("HTTP/1.1 20"), "{text}");
                break body.as_bytes().to_vec();
            }
        };
        self.answer = answer.len();
        (self, body)
    }

    /// Requests a second over several connections.
    fn rate(&self, address: SocketAddr) -> f64 {
        let run = || {
            let mut stream = TcpStream::connect(address).expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            let mut answer = vec![0; self.answer];
            let (started, mut done) = (Instant::now(), 0_u32);
            while started.elapsed() < ROUND {
                stream.write_all(self.head.as_bytes()).expect("written");
                stream.read_exact(&mut answer).expect("a whole answer");
                done += 1;
            }
            f64::from(done) / started.elapsed().as_secs_f64()
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        })
    }
}

fn address(base_url: &str) -> SocketAddr {
    base_url
        .strip_prefix("http://")
        .and_then(|url| url.strip_suffix("/api/v1"))
        .and_then(|it| it.parse().ok())
        .expect("an address")
}

/// A route that answers every request with these bytes, on a thread of its own as the mock is.
fn bare(status: u16, body: Vec<u8>) -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let status = axum::http::StatusCode::from_u16(status).expect("a status");
            let body = bytes::Bytes::from(body);
            let route =
                any(move || async move { (status, [(header::CONTENT_TYPE, "application/json")], body) });
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("an address")).expect("heard");
            axum::serve(listener, Router::new().fallback(route)).await.expect("served");
        });
    });
    receiver.recv().expect("an address")
}

fn throughput(runtime: &tokio::runtime::Runtime) {
    println!(
        "requests a second, {CONNECTIONS} connections, median of {ROUNDS} rounds, mock and bare axum in turns"
    );
    let mock = runtime.block_on(MockServer::builder().no_rate_limit().start());
    let id = runtime.block_on(async { mock.client().conversations().await.expect("a list")[0].id.clone() });
    let here = address(mock.base_url());
    // The read comes first: notes make the conversation longer.
    for (name, method, path, body, status) in [
        ("list", "GET", "/api/v1/conversations".to_owned(), "", 200),
        ("read", "GET", format!("/api/v1/conversations/{id}"), "", 200),
        (
            "note",
            "POST",
            format!("/api/v1/conversations/{id}/notes"),
            r#"{"body":"Seen, will answer tomorrow."}"#,
            201,
        ),
    ] {
        let (request, answer) = Request::new(&mock, method, &path, body).learn(here);
        let size = answer.len();
        let there = bare(status, answer);
        let mut ratios: Vec<(f64, f64, f64)> = (0..ROUNDS)
            .map(|_| {
                let (ours, theirs) = (request.rate(here), request.rate(there));
                (ours / theirs, ours, theirs)
            })
            .collect();
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs) = ratios[ROUNDS / 2];
        println!("  {name:5} {size:6} bytes  mock {ours:8.0}  bare axum {theirs:8.0}  ratio {ratio:.2}");
    }
}

fn scale(runtime: &tokio::runtime::Runtime) {
    println!("time for one request on one connection, by the number of conversations");
    let mock = runtime.block_on(MockServer::builder().manual_clock().empty().no_rate_limit().start());
    let inbox = runtime.block_on(mock.control().mailboxes()).expect("inboxes")[0].address.clone();
    let here = address(mock.base_url());
    let mut made = 0;
    let mut before: Option<Vec<f64>> = None;
    let mut memory = resident();
    for size in [1_000_usize, 100_000] {
        let (grown_from, count_from) = (memory, made);
        while made < size {
            let said = format!(
                "Order {made} has not arrived yet. I paid on Monday and the tracking page shows nothing new since then. \
                 Could you look into it, please? My customer number is n{}z.",
                made * 7
            );
            let mut mail = InboundMail::new(inbox.clone(), format!("customer{made}@shop.example"), said);
            mail.subject = Some(format!("Where is order {made}"));
            runtime.block_on(mock.control().inbound(mail)).expect("received");
            made += 1;
        }
        memory = resident();
        let mut times = Vec::new();
        for (name, path) in [
            ("list", "/api/v1/conversations?limit=25"),
            ("search a word of one", "/api/v1/conversations?q=n6993z"),
            ("search a word of all", "/api/v1/conversations?q=tracking&limit=25"),
            ("search two words", "/api/v1/conversations?q=tracking%20order&limit=25"),
        ] {
            let (request, _) = Request::new(&mock, "GET", path, "").learn(here);
            let mut stream = TcpStream::connect(here).expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            let mut answer = vec![0; request.answer];
            let mut taken: Vec<Duration> = (0..400)
                .map(|_| {
                    let started = Instant::now();
                    stream.write_all(request.head.as_bytes()).expect("written");
                    stream.read_exact(&mut answer).expect("a whole answer");
                    started.elapsed()
                })
                .collect();
            taken.sort();
            let median = taken[taken.len() / 2].as_secs_f64() * 1e6;
            let grown = before
                .as_ref()
                .map_or(String::new(), |before| format!("  {:.2} times", median / before[times.len()]));
            println!("  {size:7} {name:22} {median:8.0} µs{grown}");
            times.push(median);
        }
        before = Some(times);
        if let (Some(from), Some(to)) = (grown_from, memory) {
            println!(
                "  {size:7} memory for each conversation {:6.0} bytes",
                (to.saturating_sub(from)) as f64 / (made - count_from) as f64
            );
        }
    }
}

/// Bytes that this process holds in memory, where the system says so.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}
