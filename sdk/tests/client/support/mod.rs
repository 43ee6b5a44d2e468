//! A small service of one conversation that can do what a network does: commit and lose the answer, answer late, answer
//! nonsense. And a clock on which waiting takes no time.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shared_inbox::{
    Client, ClientBuilder, ConversationId,
    retry::{BoxFuture, Clock},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Waiting moves its hands, up to a limit: longer waits are for others' leaps to pass, so that a time limit (minutes) does
/// not go off while something else (seconds) is awaited.
#[derive(Debug)]
pub struct LeapClock {
    now: Mutex<Instant>,
    moved: Notify,
    slept: Mutex<Vec<Duration>>,
}

const LONGEST_LEAP: Duration = Duration::from_secs(90);

impl LeapClock {
    pub fn new() -> Arc<Self> {
        let now = Mutex::new(Instant::now());
        Arc::new(Self { now, moved: Notify::new(), slept: Mutex::default() })
    }

    pub fn leap(&self, by: Duration) {
        *self.now.lock().unwrap() += by;
        self.moved.notify_waiters();
    }

    /// Every wait that was leapt over.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }
}

impl Clock for LeapClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if wait <= LONGEST_LEAP {
                self.slept.lock().unwrap().push(wait);
                // Lets whoever else is ready go first, as a real wait would.
                tokio::task::yield_now().await;
                return self.leap(wait);
            }
            let until = self.now() + wait;
            loop {
                let moved = self.moved.notified();
                if self.now() >= until {
                    return;
                }
                moved.await;
            }
        })
    }
}

/// What goes wrong with one request.
#[derive(Clone, Debug, Default)]
pub enum Fault {
    #[default]
    None,
    /// The connection closes; nothing happened.
    DropBefore,
    /// It takes effect, and the connection closes.
    DropAfter,
    /// That status; nothing happened.
    Before(u16),
    /// It takes effect, then that status.
    After(u16),
    /// It takes effect, and so much of the answer arrives.
    Truncate(usize),
    /// It takes effect, and this is the answer.
    Body(&'static str),
    /// Somebody else answers 200 with a page of their own; nothing happened.
    Impostor,
    /// It takes effect, and the answer never comes.
    Hang,
    /// That status with this header; nothing happened.
    Header(u16, &'static str, &'static str),
}

pub struct World {
    clock: Arc<LeapClock>,
    started: Instant,
    /// Items of the timeline and when each can be seen.
    pub items: Vec<(Value, Instant)>,
    /// How long the service takes to show what it created.
    pub shows_after: Duration,
    /// How long a request is under way whose answer is lost.
    pub slow: Duration,
    /// For the next creates, and the next reads.
    pub posts: VecDeque<Fault>,
    pub gets: VecDeque<Fault>,
    /// Method and path of every request.
    pub requests: Vec<String>,
    /// What the service writes under a reply with documents.
    pub extends: bool,
    next_id: u32,
}

pub struct Service {
    pub world: Arc<Mutex<World>>,
    pub clock: Arc<LeapClock>,
    pub base_url: String,
    pub committed: Arc<Notify>,
}

pub const NAME: &str = "Billing bot";

pub fn key() -> String {
    format!("rk_test_{}", "a1".repeat(24))
}

pub fn conversation_id() -> ConversationId {
    "cnv_1".parse().unwrap()
}

impl Service {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let clock = LeapClock::new();
        let world = World {
            clock: Arc::clone(&clock),
            started: clock.now(),
            items: Vec::new(),
            shows_after: Duration::ZERO,
            slow: Duration::ZERO,
            posts: VecDeque::new(),
            gets: VecDeque::new(),
            requests: Vec::new(),
            extends: true,
            next_id: 0,
        };
        let world = Arc::new(Mutex::new(world));
        let base_url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let committed = Arc::new(Notify::new());
        let service = Self { world: Arc::clone(&world), clock, base_url, committed: Arc::clone(&committed) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&world), Arc::clone(&committed)));
            }
        });
        service
    }

    pub fn builder(&self) -> ClientBuilder {
        Client::builder(&self.base_url, key()).clock(self.clock.clone())
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub fn fail_posts(&self, faults: impl IntoIterator<Item = Fault>) {
        self.world.lock().unwrap().posts.extend(faults);
    }

    pub fn fail_gets(&self, faults: impl IntoIterator<Item = Fault>) {
        self.world.lock().unwrap().gets.extend(faults);
    }

    pub fn requests(&self) -> Vec<String> {
        self.world.lock().unwrap().requests.clone()
    }

    pub fn count(&self, method: &str) -> usize {
        self.requests().iter().filter(|request| request.starts_with(method)).count()
    }

    /// All items, seen or not yet.
    pub fn items(&self) -> Vec<Value> {
        self.world.lock().unwrap().items.iter().map(|(item, _)| item.clone()).collect()
    }

    pub fn add_note(&self, author: &str, body: &str) {
        let mut world = self.world.lock().unwrap();
        let (id, at) = (world.id("not"), world.at());
        world.put(json!({"type": "note", "id": id, "at": at, "author": author, "body": body}));
    }

    pub fn add_message(&self, direction: &str, status: Option<&str>, text: &str) -> String {
        let mut world = self.world.lock().unwrap();
        let (id, at) = (world.id("msg"), world.at());
        world.put(message(&id, &at, direction, status, text));
        id
    }

    pub fn set_status(&self, id: &str, status: &str) {
        let mut world = self.world.lock().unwrap();
        for (item, _) in &mut world.items {
            if item["id"] == id {
                item["status"] = status.into();
            }
        }
    }
}

fn message(id: &str, at: &str, direction: &str, status: Option<&str>, text: &str) -> Value {
    let text: String = text.chars().take(8_000).collect();
    json!({"type": "message", "id": id, "at": at, "direction": direction, "status": status, "text": text,
           "from": {"name": null, "email": "help@example.com"}, "attachments": []})
}

impl World {
    /// The service's time.
    fn now(&self) -> jiff::Timestamp {
        let passed = self.clock.now().saturating_duration_since(self.started).as_millis() as i64;
        jiff::Timestamp::from_millisecond(1_772_357_400_000 + passed).unwrap()
    }

    fn at(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    fn id(&mut self, prefix: &str) -> String {
        self.next_id += 1;
        format!("{prefix}_{}", self.next_id)
    }

    fn put(&mut self, item: Value) {
        let shows = self.clock.now() + self.shows_after;
        self.items.push((item, shows));
    }

    fn conversation(&self) -> Value {
        let now = self.clock.now();
        let timeline: Vec<_> = self.items.iter().filter(|(_, at)| *at <= now).map(|(item, _)| item).collect();
        json!({"id": "cnv_1", "subject": "Refund", "status": "open", "contact": {"name": null, "email": null},
               "mailbox": "help@example.com", "lastMessageAt": self.at(), "assignee": null, "tags": [], "topic": null,
               "urgency": null, "risk": null, "riskReasons": [], "snoozedUntil": null, "timeline": timeline,
               "team": {"people": [{"id": "user:usr_1", "name": "Anna"}], "agents": [{"id": "agent:agt_1", "name": NAME}]}})
    }

    /// Carries a request out and gives the answer.
    fn commit(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        match path.rsplit('/').next().unwrap() {
            "me" => {
                (200, json!({"agent": {"id": "agt_1", "name": NAME}, "scopes": ["read", "write", "draft"]}))
            }
            "cnv_1" => (200, self.conversation()),
            "notes" => {
                let (id, at) = (self.id("not"), self.at());
                let body = text("body");
                self.put(json!({"type": "note", "id": id, "at": at, "author": NAME, "body": body}));
                (201, json!({"ok": true}))
            }
            "replies" | "document-requests" => {
                let id = self.id("msg");
                let status = if body["send"] == true { "scheduled" } else { "draft" };
                let mut words = if path.ends_with("replies") { text("body") } else { text("message") };
                if let Some(documents) = body["documents"].as_array().filter(|_| self.extends) {
                    words += "\n\nhttps://upload.example/u/8f2c\n";
                    for document in documents {
                        words += &format!("[ ] {}\n", document["label"].as_str().unwrap());
                    }
                }
                let at = self.at();
                self.put(message(&id, &at, "outbound", Some(status), &words));
                (201, json!({"messageId": id, "status": status, "note": "Waits for a person."}))
            }
            "status" | "tags" | "assign" => (200, json!({"ok": true})),
            "app-mail" => (201, json!({"ok": true})),
            "inbound" => (201, json!({"conversationId": "cnv_1", "messageId": "msg_9"})),
            "openapi.json" => (200, json!({"openapi": "3.1.0"})),
            "conversations" | "mailboxes" | "documents" => (200, json!([])),
            _ => (404, json!({"error": "No such conversation."})),
        }
    }
}

async fn serve(mut stream: TcpStream, world: Arc<Mutex<World>>, committed: Arc<Notify>) {
    let Some((method, path, body)) = request(&mut stream).await else { return };
    let (fault, answer, date) = {
        let mut world = world.lock().unwrap();
        world.requests.push(format!("{method} {path}"));
        let fault = if method == "POST" { world.posts.pop_front() } else { world.gets.pop_front() };
        let fault = fault.unwrap_or_default();
        if !matches!(fault, Fault::None) {
            world.clock.leap(world.slow);
        }
        let answer = match fault {
            Fault::DropBefore | Fault::Before(_) | Fault::Header(..) | Fault::Impostor => None,
            _ => Some(world.commit(&path, &body)),
        };
        let date = world.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        (fault, answer, date)
    };
    committed.notify_one();
    let failure = |status: u16| (status, json!({"error": "Something went wrong."}).to_string());
    let mut header = String::new();
    let mut cut = usize::MAX;
    let (status, text) = match (fault, answer) {
        (Fault::DropBefore | Fault::DropAfter, _) => return,
        (Fault::Hang, _) => return std::future::pending().await,
        (Fault::Before(status) | Fault::After(status), _) => failure(status),
        (Fault::Header(status, name, value), _) => {
            header = format!("{name}: {value}\r\n");
            failure(status)
        }
        (Fault::Impostor, _) => (200, "<html>Please log in</html>".to_owned()),
        (Fault::Body(text), answer) => (answer.unwrap().0, text.to_owned()),
        (Fault::Truncate(bytes), answer) => {
            cut = bytes;
            let (status, value) = answer.unwrap();
            (status, value.to_string())
        }
        (Fault::None, answer) => {
            let (status, value) = answer.unwrap();
            (status, value.to_string())
        }
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ndate: {date}\r\ncontent-length: {}\r\nconnection: close\r\n{header}\r\n",
        text.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&text.as_bytes()[..text.len().min(cut)]).await;
    let _ = stream.shutdown().await;
}

async fn request(stream: &mut TcpStream) -> Option<(String, String, Value)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let body = serde_json::from_slice(&bytes[head_end..]).unwrap_or(Value::Null);
    Some((method, path.split('?').next()?.trim_start_matches("/api/v1").to_owned(), body))
}

/// How many cases a property is tried with: few, unless `PROPTEST_CASES` asks for more.
pub fn cases(few: u32) -> proptest::test_runner::Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    proptest::test_runner::Config::with_cases(asked.unwrap_or(few))
}
