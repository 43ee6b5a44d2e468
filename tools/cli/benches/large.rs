//! What a world of 100,000 conversations costs: ready from its document, reset, memory after it was put ten
//! times, how long the cheapest calls take at worst while something large happens to it, and lists that find
//! nothing.
//!
//! The program itself is measured, over HTTP. `cargo bench -p shared-inbox-mock-cli --bench large`

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const SIZE: usize = 100_000;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let (small, large) = (document(SIZE / 100), document(SIZE));
    println!("a world of {SIZE} conversations, a document of {} MB", large.len() >> 20);
    let (few, many) = (Mock::start(&small), Mock::start(&large));
    println!("  ready from the document      {:8.0} ms", ms(many.ready));
    // What a search needs is read in the background.
    many.ask("GET", "/api/v1/conversations?q=nowhere", b"");
    let before = many.memory();
    println!("  memory                       {:8.0} MB", mb(before));

    let resets: Vec<Duration> = (0..11)
        .map(|_| {
            many.ask("POST", "/api/v1/conversations/cnv_0000000/notes", br#"{"body":"changed"}"#);
            many.time("POST", "/_mock/reset", b"")
        })
        .collect();
    println!(
        "  reset                        {:8.1} ms, at worst {:.1} ms",
        ms(median(&resets)),
        ms(worst(&resets))
    );

    println!("the longest of the cheap calls (who am I, a read, a note), one after the other, meanwhile");
    many.meanwhile("nothing happens", || thread::sleep(Duration::from_secs(1)));
    many.meanwhile("the state is read", || drop(many.ask("GET", "/_mock/state", b"")));
    many.meanwhile("a state is put", || drop(many.ask("PUT", "/_mock/state", large.as_bytes())));
    many.meanwhile("it is reset ten times", || {
        (0..10).for_each(|_| drop(many.ask("POST", "/_mock/reset", b"")));
    });
    many.meanwhile("a day is advanced", || {
        let fired = many.ask("POST", "/_mock/clock", br#"{"advanceSeconds":86400}"#);
        assert!(fired.len() > SIZE / 10, "a snooze of every tenth conversation ends");
    });

    for _ in 0..10 {
        many.ask("PUT", "/_mock/state", large.as_bytes());
    }
    // What was there before is taken down after the answer.
    thread::sleep(Duration::from_secs(1));
    let after = many.memory();
    println!(
        "memory after ten PUTs {:.0} MB, {:.2} times that of the start",
        mb(after),
        after as f64 / before as f64
    );

    println!("one call, against the same in a world of {} conversations", SIZE / 100);
    for (name, path) in [
        ("documents, a word that none has", "/api/v1/documents?q=nowhere"),
        ("documents of a kind that none is", "/api/v1/documents?kind=contract"),
        ("conversations, a word that none has", "/api/v1/conversations?q=nowhere"),
        ("approvals", "/_mock/approvals"),
        ("list", "/api/v1/conversations?limit=25"),
    ] {
        let time = |mock: &Mock| median(&(0..300).map(|_| mock.time("GET", path, b"")).collect::<Vec<_>>());
        let (few, many) = (time(&few), time(&many));
        println!(
            "  {name:36} {:6.0} µs, {:.2} times",
            1e3 * ms(many),
            many.as_secs_f64() / few.as_secs_f64()
        );
    }
}

/// A world document: a mail in each conversation, a file with every fifth, a snooze that ends tomorrow on
/// every tenth.
fn document(conversations: usize) -> String {
    let mut text = String::from(
        r#"{"now":"2026-03-01T09:00:00.000Z","users":[{"id":"usr_anna","name":"Anna"}],"mailboxes":[
{"id":"mbx_help","address":"help@acme.example","name":"Help"},{"id":"mbx_box","address":"box@acme.test","name":"Box","sandbox":true}],
"conversations":["#,
    );
    let comma = |i: usize| if i == 0 { "" } else { "," };
    for i in 0..conversations {
        let (minute, second) = (i / 60 % 60, i % 60);
        let snoozed = if i % 10 == 0 {
            format!(r#""snoozedUntil":"2026-03-01T{:02}:{minute:02}:{second:02}.000Z","#, 10 + i / 3600 % 12)
        } else {
            String::new()
        };
        let _ = write!(
            text,
            r#"{}
{{"id":"cnv_{i:07}","mailbox":"mbx_help","subject":"Where is order {i}","contact":{{"name":"Customer {i}","email":"customer{i}@shop.example"}},
"status":"open",{snoozed}"timeline":[{{"type":"message","id":"msg_{i:07}","at":"2026-02-{:02}T08:{minute:02}:{second:02}.000Z","direction":"inbound",
"from":{{"name":"Customer {i}","email":"customer{i}@shop.example"}},"text":"Order {i} has not arrived yet. I paid on Monday and the tracking page shows nothing new since then. Could you look into it, please? My customer number is n{}z."}}]}}"#,
            comma(i),
            1 + i % 28,
            i * 7,
        );
    }
    text.push_str("],\n\"documents\":[");
    for i in 0..conversations / 5 {
        let _ = write!(
            text,
            r#"{}
{{"mailbox":"mbx_help","document":{{"id":"doc_{i:07}","title":"Receipt {i}","filename":"receipt-{i}.pdf","kind":"receipt","fields":{{}},"conversationId":"cnv_{:07}","createdAt":"2026-02-01T08:00:00.000Z"}}}}"#,
            comma(i),
            i * 5,
        );
    }
    text.push_str("]}");
    text
}

/// The program, started from a document, and one connection to it.
struct Mock {
    child: Child,
    address: SocketAddr,
    key: String,
    ready: Duration,
    _seed: tempfile::NamedTempFile,
}

impl Mock {
    fn start(document: &str) -> Self {
        let mut seed = tempfile::NamedTempFile::new().expect("a file");
        seed.write_all(document.as_bytes()).expect("written");
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
            .args([
                "--listen",
                "127.0.0.1:0",
                "--json",
                "--quiet",
                "--clock",
                "manual",
                "--rate-limit",
                "off",
            ])
            .arg("--seed")
            .arg(seed.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let ready = started.elapsed();
        let line: serde_json::Value = serde_json::from_str(&line).expect("a ready document");
        let address = line["console_url"].as_str().expect("an address").trim_start_matches("http://");
        let address = address.trim_end_matches('/').parse().expect("an address");
        let key = line["keys"]["live"].as_str().expect("a key").to_owned();
        Self { child, address, key, ready, _seed: seed }
    }

    fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|kb| kb.parse::<usize>().ok()).unwrap_or_default() << 10
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        stream
    }

    fn ask(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        self.ask_on(&mut self.connect(), method, path, body)
    }

    /// Sends a request and reads its whole answer; gives the body.
    fn ask_on(&self, stream: &mut TcpStream, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.key,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("written");
        stream.write_all(body).expect("written");
        let (mut answer, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let read = stream.read(&mut buffer).expect("an answer");
            assert!(read > 0, "an answer to {method} {path}");
            answer.extend_from_slice(&buffer[..read]);
            let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&answer[..end]).into_owned();
            assert!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
            let mut body = answer.split_off(end + 4);
            let had = body.len();
            body.resize(length, 0);
            stream.read_exact(&mut body[had..]).expect("the rest");
            return body;
        }
    }

    fn time(&self, method: &str, path: &str, body: &[u8]) -> Duration {
        let mut stream = self.connect();
        let started = Instant::now();
        self.ask_on(&mut stream, method, path, body);
        started.elapsed()
    }

    /// Does something large, and makes cheap calls all the while.
    fn meanwhile(&self, name: &str, large: impl FnOnce()) {
        let over = AtomicBool::new(false);
        let (taken, calls) = thread::scope(|scope| {
            let cheap = scope.spawn(|| {
                let (mut stream, mut taken, mut calls) = (self.connect(), Duration::ZERO, 0);
                while !over.load(Ordering::Relaxed) {
                    for (method, path, body) in [
                        ("GET", "/api/v1/me", &b""[..]),
                        ("GET", "/api/v1/conversations/cnv_0000001", b""),
                        ("POST", "/api/v1/conversations/cnv_0000002/notes", br#"{"body":"Seen."}"#),
                    ] {
                        let started = Instant::now();
                        self.ask_on(&mut stream, method, path, body);
                        taken = taken.max(started.elapsed());
                        calls += 1;
                    }
                    thread::sleep(Duration::from_micros(500));
                }
                (taken, calls)
            });
            let started = Instant::now();
            large();
            over.store(true, Ordering::Relaxed);
            let (taken, calls) = cheap.join().expect("no panic");
            ((taken, started.elapsed()), calls)
        });
        println!("  {name:26} {:6.1} ms  ({calls} calls in {:.0} ms)", ms(taken.0), ms(taken.1));
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn worst(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap_or_default()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}
