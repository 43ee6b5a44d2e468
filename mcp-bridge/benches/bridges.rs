//! The bridge beside two others that carry the same calls to the service's own MCP server: `mcp-remote` (npm)
//! and `mcp-proxy` (PyPI). One run, one mock server, the same calls for all. The bridge is the one that is
//! handed out (the profile `dist`, small), built before and named by an absolute path:
//!
//! ```sh
//! cargo build -p shared-inbox-mcp --profile dist --features keyring
//! BINARY=$PWD/target/dist/shared-inbox-mcp cargo bench -p shared-inbox-mcp --bench bridges
//! ```
//!
//! - start: from launching the program to its answer to `tools/list`, which none of them can give without the
//!   service;
//! - added: the median of a tool call over stdio, less the median of the HTTP call that it stands for, made
//!   directly;
//! - memory: the most that the program and its children held, after all calls.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

const STARTS: usize = 7;
/// The bridge keeps to 120 requests a minute, and this many leave room.
const CALLS: usize = 80;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mock = runtime.block_on(MockServer::builder().no_rate_limit().start());
    let rest = direct(&runtime, &mock, &format!("{}/tags", mock.base_url()), None);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_tags", "arguments": {} } });
    let mcp = direct(&runtime, &mock, mock.mcp_url(), Some(body.to_string()));

    let program = handed_out();
    let mut rows = vec![measure("shared-inbox-mcp", || bridge(&mock, &program), rest)];
    let (node, remote) = (peers::node22(), peers::npm(&["mcp-remote@0.15.0"]));
    let script = remote.join("mcp-remote/dist/proxy.js");
    rows.push(measure("mcp-remote 0.15.0", || mcp_remote(&mock, &node, &script), mcp));
    let python = peers::python(&["mcp-proxy==0.13.0"]);
    rows.push(measure("mcp-proxy 0.13.0", || mcp_proxy(&mock, &python.with_file_name("mcp-proxy")), mcp));

    println!("direct HTTP: REST {:.3} ms, MCP {:.3} ms (median of {CALLS})", millis(rest), millis(mcp));
    println!("{:<20} {:>10} {:>10} {:>10} {:>10}", "", "start ms", "call ms", "added ms", "peak MiB");
    for row in &rows {
        let [start, call, added] = [row.start, row.call, row.added].map(millis);
        println!("{:<20} {start:>10.1} {call:>10.3} {added:>10.3} {:>10.1}", row.name, row.memory);
    }
    for other in &rows[1..] {
        let times = |ours: Duration, theirs: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
        println!(
            "beside {}: start {:.1} times faster, added cost {:.1} times less, memory {:.1} times less",
            other.name,
            times(rows[0].start, other.start),
            times(rows[0].added, other.added),
            other.memory / rows[0].memory
        );
    }
}

struct Row {
    name: &'static str,
    start: Duration,
    call: Duration,
    added: Duration,
    memory: f64,
}

fn measure(name: &'static str, command: impl Fn() -> Command, direct: Duration) -> Row {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let mut session = Session::open(command());
        session.ask("tools/list", json!({}));
        starts.push(begun.elapsed());
    }
    let mut session = Session::open(command());
    let call = json!({ "name": "list_tags", "arguments": {} });
    for _ in 0..5 {
        session.ask("tools/call", call.clone());
    }
    let calls = (0..CALLS).map(|_| {
        let begun = Instant::now();
        let answer = session.ask("tools/call", call.clone());
        assert!(answer["result"]["structuredContent"]["items"].is_array(), "{name}: {answer}");
        begun.elapsed()
    });
    let call = median(calls.collect());
    let added = call.saturating_sub(direct).max(Duration::from_micros(1));
    Row { name, start: median(starts), call, added, memory: session.memory() }
}

/// The median of the same call over HTTP, on a connection that is kept.
fn direct(runtime: &tokio::runtime::Runtime, mock: &MockServer, url: &str, body: Option<String>) -> Duration {
    let client = reqwest::Client::new();
    let once = || {
        let request = match &body {
            Some(body) => client.post(url).body(body.clone()).header("content-type", "application/json"),
            None => client.get(url),
        };
        let request = request
            .header("authorization", format!("Bearer {}", mock.live_key()))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        let begun = Instant::now();
        let text = runtime.block_on(async { request.send().await?.text().await }).expect("an answer");
        let took = begun.elapsed();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        took
    };
    (0..5).for_each(|_| _ = once());
    median((0..CALLS).map(|_| once()).collect())
}

/// The program that `BINARY` names: the one that is handed out.
fn handed_out() -> PathBuf {
    let program = env::var_os("BINARY").map(PathBuf::from).filter(|program| program.is_file());
    program.expect("BINARY=target/dist/shared-inbox-mcp, built before: cargo build -p shared-inbox-mcp --profile dist --features keyring")
}

fn bridge(mock: &MockServer, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("SHARED_INBOX_BASE_URL", mock.base_url()).env("SHARED_INBOX_API_KEY", mock.live_key());
    command
}

fn mcp_remote(mock: &MockServer, node: &PathBuf, script: &PathBuf) -> Command {
    let mut command = Command::new(node);
    command.arg(script).args([mock.mcp_url(), "--allow-http", "--transport", "http-only"]);
    // It splits its arguments at spaces, and takes variables in braces for that.
    command.args(["--header", "Authorization:${KEY}"]).env("KEY", format!("Bearer {}", mock.live_key()));
    command
}

fn mcp_proxy(mock: &MockServer, program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.args(["--transport", "streamablehttp", "--headers", "Authorization"]);
    command.arg(format!("Bearer {}", mock.live_key())).arg(mock.mcp_url());
    command
}

/// A conversation with a program over its stdio, in the protocol that all of them speak.
struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: u64,
}

impl Session {
    fn open(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let (stdin, stdout) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
        let mut session = Self { child, stdin, stdout: BufReader::new(stdout), id: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        session.ask("initialize", hello);
        session.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn write(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).expect("the program reads");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).expect("the program answers") > 0, "the program ended");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] == self.id {
                assert!(message.get("error").is_none(), "{message}");
                return message;
            }
        }
    }

    /// The most memory that the program and its children held, in MiB.
    fn memory(&self) -> f64 {
        let mut parents = BTreeMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if let Some(parent) = field(pid, "PPid:") {
                parents.insert(pid, parent);
            }
        }
        let mut family = vec![self.child.id()];
        let mut seen = 0;
        while seen < family.len() {
            let parent = f64::from(family[seen]);
            family.extend(parents.iter().filter(|(_, p)| **p == parent).map(|(pid, _)| *pid));
            seen += 1;
        }
        family.iter().filter_map(|pid| field(*pid, "VmHWM:")).sum::<f64>() / 1024.0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn field(pid: u32, name: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
