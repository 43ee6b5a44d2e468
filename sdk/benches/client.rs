//! What the client costs: a call beside bare `reqwest` and `serde`, the memory of a large answer, a long
//! queue in the limiter.
//!
//!     cargo bench -p shared-inbox --bench client
//!
//! Calls are timed in rounds, each contender in turn, over loopback from a server that only writes bytes.
//! Each one's best round counts: what else the machine does can only add to a time.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_inbox::{
    Client, Conversation, ConversationId,
    rate_limit::{AcquireRequest, MemoryLimiter, Priority, RateLimiter},
};
use tokio::runtime::Runtime;

const CALLS: u32 = 40;
const TOTAL: Duration = Duration::from_secs(20);
const LARGE: usize = 31 * 1024 * 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, base_url] = &arguments[..]
        && word == "measure-memory"
    {
        return measure_memory(base_url);
    }
    a_read();
    a_large_answer();
    a_long_queue();
}

fn key() -> String {
    format!("rk_test_{}", "a1".repeat(24))
}

fn id() -> ConversationId {
    "cnv_1".parse().unwrap()
}

fn client(base_url: &str) -> Client {
    Client::builder(base_url, key()).rate_limit(u32::MAX).build().unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Answers every request with the same bytes; gives its base URL.
fn serve(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer: Arc<[u8]> = [head, body].concat().into_bytes().into();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut bytes = [0; 16 * 1024];
                let mut got = 0;
                while let Ok(more @ 1..) = stream.read(&mut bytes[got..]) {
                    got += more;
                    if bytes[..got].ends_with(b"\r\n\r\n") {
                        got = 0;
                        if stream.write_all(&answer).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    base_url
}

fn conversation(timeline: &str) -> String {
    format!(
        r#"{{"id":"cnv_1","subject":"Refund","status":"open","contact":{{"name":"Kim","email":"kim@example.com"}},
        "mailbox":"help@example.com","lastMessageAt":"2026-03-01T09:30:00.000Z","assignee":null,"tags":["refund"],
        "topic":null,"urgency":"normal","risk":null,"riskReasons":[],"snoozedUntil":null,
        "timeline":[{timeline}],"team":{{"people":[{{"id":"user:usr_1","name":"Anna"}}],"agents":[]}}}}"#
    )
}

fn messages(count: usize, words: usize) -> String {
    let message = |number: usize| {
        let text = "word ".repeat(words);
        format!(
            r#"{{"type":"message","id":"msg_{number}","at":"2026-03-01T09:30:00.000Z","direction":"inbound",
            "from":{{"name":"Kim","email":"kim@example.com"}},"status":null,"text":"{text}","attachments":[]}}"#
        )
    };
    (0..count).map(message).collect::<Vec<_>>().join(",")
}

/// The same with nothing but `reqwest` and derived types, as one would write them at first.
mod bare {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "read, not used")]
    pub(crate) struct Conversation {
        id: String,
        subject: String,
        status: String,
        contact: Person,
        mailbox: String,
        last_message_at: String,
        tags: Vec<String>,
        urgency: Option<String>,
        risk_reasons: Vec<String>,
        pub(crate) timeline: Vec<Item>,
        team: Team,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    pub(crate) struct Person {
        name: Option<String>,
        email: Option<String>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    pub(crate) struct Team {
        people: Vec<Member>,
        agents: Vec<Member>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "read, not used")]
    pub(crate) struct Member {
        id: String,
        name: String,
    }

    /// One struct for all types: the leanest form, without the look ahead that a tagged enum needs.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "read, not used")]
    pub(crate) struct Item {
        r#type: String,
        id: Option<String>,
        at: String,
        direction: Option<String>,
        from: Option<Person>,
        status: Option<String>,
        text: Option<String>,
        #[serde(default)]
        attachments: Vec<serde::de::IgnoredAny>,
        author: Option<String>,
        body: Option<String>,
        actor: Option<String>,
        event: Option<String>,
    }

    pub(crate) async fn read(http: &reqwest::Client, url: &str, key: &str) -> Conversation {
        let answer = http.get(url).bearer_auth(key).send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

fn a_read() {
    let body = conversation(&messages(60, 40));
    let size = body.len();
    let base_url = serve(body);
    let runtime = runtime();
    let (ours, http, url, key) =
        (client(&base_url), reqwest_client(), format!("{base_url}/conversations/cnv_1"), key());
    let thread = ours.conversation(&id());
    let mut best = [Duration::MAX; 2];
    let started = Instant::now();
    let mut rounds = 0;
    while started.elapsed() < TOTAL {
        let time = runtime.block_on(async {
            let began = Instant::now();
            for _ in 0..CALLS {
                assert_eq!(bare::read(&http, &url, &key).await.timeline.len(), 60);
            }
            began.elapsed()
        });
        best[0] = best[0].min(time / CALLS);
        let time = runtime.block_on(async {
            let began = Instant::now();
            for _ in 0..CALLS {
                assert_eq!(thread.get().await.unwrap().timeline.len(), 60);
            }
            began.elapsed()
        });
        best[1] = best[1].min(time / CALLS);
        rounds += 1;
    }
    let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
    println!("a read of {} KiB with 60 messages, best of {rounds} rounds", size / 1024);
    println!("  reqwest and serde  {:>9.1?}", best[0]);
    println!(
        "  this client        {:>9.1?}   {ratio:.2} times (at most 1.05: {})",
        best[1],
        verdict(ratio <= 1.05)
    );
}

fn reqwest_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn verdict(held: bool) -> &'static str {
    if held { "yes" } else { "no" }
}

/// Each answer is read by a process of its own, which tells the most memory that it ever had.
fn a_large_answer() {
    println!("the most memory for an answer of {} MiB", LARGE >> 20);
    let mut data = String::with_capacity(LARGE);
    for number in 0.. {
        if data.len() >= LARGE {
            break;
        }
        write!(data, r#""{number}":[1,{{"a":2}}],"#).unwrap();
    }
    let event = r#"{"type":"event","at":"2026-03-01T09:30:00.000Z","actor":"a","event":"e","data":{"#;
    let small_values = conversation(&format!(r#"{event}{data}"end":0}}}}"#));
    let mails = conversation(&messages(LARGE / 8_200, 1_600));
    let least = memory_of(&serve(conversation("")));
    for (what, body) in [("small values in an event", small_values), ("mails", mails)] {
        let size = body.len();
        match (memory_of(&serve(body)), least) {
            (Some(most), Some(least)) => {
                let times = most.saturating_sub(least) as f64 / size as f64;
                let mib = most.saturating_sub(least) >> 20;
                println!(
                    "  {what:<24} {mib:>4} MiB   {times:.1} times (at most 4: {})",
                    verdict(times <= 4.0)
                );
            }
            _ => println!("  {what}: this system does not tell"),
        }
    }
}

fn memory_of(base_url: &str) -> Option<usize> {
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this).args(["measure-memory", base_url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().ok()
}

fn measure_memory(base_url: &str) {
    let read: Conversation =
        runtime().block_on(async { client(base_url).conversation(&id()).get().await.unwrap() });
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let most = most.and_then(|kib| kib.parse::<usize>().ok());
    println!("{}", most.map_or("unknown".to_owned(), |kib| (kib * 1024).to_string()));
    drop(read);
}

/// Ten thousand calls wait at once, and all get through, in time that is not real. Beside them, as many bare
/// timers.
fn a_long_queue() {
    const WAITING: u32 = 10_000;
    let run = |with: fn() -> tokio::task::JoinHandle<()>| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let began = Instant::now();
            with().await.unwrap();
            began.elapsed()
        })
    };
    let timers = run(|| {
        tokio::spawn(async {
            let tasks: Vec<_> = (0..WAITING)
                .map(|n| tokio::spawn(tokio::time::sleep(Duration::from_millis(508) * n)))
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        })
    });
    let queue = run(|| {
        tokio::spawn(async {
            let limiter = Arc::new(MemoryLimiter::new(120));
            let wait = |_| {
                let limiter = Arc::clone(&limiter);
                tokio::spawn(async move {
                    let ask =
                        AcquireRequest::new(Priority::Interactive).max_wait(Duration::from_secs(86_400));
                    limiter.acquire(ask).await.unwrap().finished();
                })
            };
            for task in (0..WAITING).map(wait).collect::<Vec<_>>() {
                task.await.unwrap();
            }
        })
    });
    println!("{WAITING} calls that wait for the limiter, until all are through (time itself leaps)");
    println!("  as many timers     {:>9.1?} each", timers / WAITING);
    println!("  the limiter        {:>9.1?} each", queue / WAITING);
}
