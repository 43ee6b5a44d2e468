//! A service that is not the mock and shares no type with the crate: written from the API's document alone,
//! on plain sockets, with JSON put together by hand. It does what ours would never do: it stores other words
//! than it was given, shows them under other names and in other forms, late or by a wrong clock, and answers
//! what it likes.
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use shared_inbox::input::DocumentItem;
use shared_inbox::{Client, ClientBuilder, ConversationHandle, Error, clock::Clock, create::Verification};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::{LeapClock, conversation_id, key};

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Good,
    /// The connection closes, with or without the effect.
    LostBefore,
    LostAfter,
    /// That status, without or after the effect.
    Before(u16),
    After(u16),
    /// The effect, that status, and so many seconds to wait.
    AfterAsking(u16, u32),
    /// That status with this header, without the effect.
    Header(u16, &'static str, &'static str),
    /// The effect, and no response ever.
    Hangs,
    /// The effect, and the start of the response.
    Truncated,
    /// This for an answer, after the effect or without it.
    Says(&'static str),
    Claims(&'static str),
}

impl Outcome {
    fn takes_effect(self) -> bool {
        let fails = matches!(self, Outcome::LostBefore | Outcome::Before(_) | Outcome::Header(..));
        !fails && !matches!(self, Outcome::Claims(_))
    }
}

/// How it treats what it is given.
pub struct Behavior {
    /// What it makes of a text.
    pub rewrite: fn(&str) -> String,
    /// The name under which this key's notes show.
    pub author: &'static str,
    /// The name that `GET /me` gives.
    pub name: &'static str,
    /// The type under which it shows what was created, if it is another.
    pub shown_as: Option<&'static str>,
    /// How long it takes to show what was created.
    pub shows_after: Duration,
    /// How long a request is under way that meets a fault, before it takes effect and after.
    pub takes: Duration,
    pub lingers: Duration,
    /// Whether it tells the time, and how far from its own that is.
    pub date: Option<i64>,
    /// How far the clock is off that the next items are stamped by, in seconds.
    pub stamp_off: i64,
    /// Whether the answer to a failure repeats the key and the text.
    pub echoes: bool,
    /// What every create meets, once `posts` is used up.
    pub always: Outcome,
    pub posts: VecDeque<Outcome>,
    pub gets: VecDeque<Outcome>,
    /// Whether the team lists the key's own agent.
    pub lists_us: bool,
}

/// A line of the timeline.
pub struct Line {
    pub json: String,
    from: Instant,
}

pub struct State {
    pub behavior: Behavior,
    pub lines: Vec<Line>,
    /// How many creates took effect.
    pub stored: usize,
    pub requests: Vec<String>,
    ids: u32,
}

pub struct Service {
    state: Arc<Mutex<State>>,
    pub clock: Arc<LeapClock>,
    started: Instant,
    base_url: String,
    /// Notified with each request.
    pub committed: Arc<Notify>,
}

/// Its time when it starts, in seconds.
const START: i64 = 1_772_357_400;

impl Service {
    pub async fn start_with_thread() -> (Self, ConversationHandle) {
        let service = Self::start().await;
        let thread = service.thread();
        (service, thread)
    }

    pub async fn start() -> Self {
        let behavior = Behavior {
            rewrite: str::to_owned,
            author: "Robin",
            name: "Robin",
            shown_as: None,
            shows_after: Duration::ZERO,
            takes: Duration::ZERO,
            lingers: Duration::ZERO,
            date: Some(0),
            stamp_off: 0,
            echoes: false,
            always: Outcome::Good,
            posts: VecDeque::new(),
            gets: VecDeque::new(),
            lists_us: true,
        };
        let state = State { behavior, lines: Vec::new(), stored: 0, requests: Vec::new(), ids: 0 };
        let state = Arc::new(Mutex::new(state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let clock = LeapClock::new();
        let started = clock.now();
        let committed = Arc::new(Notify::new());
        let (shared, time, notify) = (Arc::clone(&state), Arc::clone(&clock), Arc::clone(&committed));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, time, notify) = (Arc::clone(&shared), Arc::clone(&time), Arc::clone(&notify));
                tokio::spawn(serve(stream, shared, time, started, notify));
            }
        });
        Self { state, clock, started, base_url, committed }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn builder(&self) -> ClientBuilder {
        Client::builder(&self.base_url, key()).clock(self.clock.clone())
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    /// The conversation, by a client of its own.
    pub fn thread(&self) -> ConversationHandle {
        self.client().conversation(&conversation_id())
    }

    /// A client that has heard from the service before, as all but the newest have.
    pub async fn known_client(&self) -> Client {
        let client = self.client();
        client.me().await.unwrap();
        client
    }

    pub fn next_gets(&self, outcome: impl IntoIterator<Item = Outcome>) {
        self.state().behavior.gets.extend(outcome);
    }

    pub fn next_posts(&self, outcome: impl IntoIterator<Item = Outcome>) {
        self.state().behavior.posts.extend(outcome);
    }

    pub fn clear_faults(&self) {
        let behavior = &mut self.state().behavior;
        behavior.posts.clear();
        behavior.gets.clear();
    }

    /// What every later create meets.
    pub fn always(&self, outcome: Outcome) {
        self.state().behavior.always = outcome;
    }

    /// How many creates took effect.
    pub fn stored(&self) -> usize {
        self.state().stored
    }

    pub fn sent(&self) -> usize {
        self.count("POST")
    }

    /// Method and path of every request.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    pub fn count(&self, method: &str) -> usize {
        self.state().requests.iter().filter(|line| line.starts_with(method)).count()
    }

    /// Waits until that many creates have come.
    pub async fn until_posts(&self, posts: usize) {
        while self.count("POST") < posts {
            self.committed.notified().await;
        }
    }

    /// Waits until that many reads have come.
    pub async fn until_reads(&self, reads: usize) {
        while self.count("GET") < reads {
            self.committed.notified().await;
        }
    }

    /// A message comes into the conversation, and shows as late as what is created.
    pub fn add_message(&self, direction: &str, status: Option<&str>, text: &str) -> String {
        let now = self.clock.now();
        let mut state = self.state();
        let (id, json) = state.message(&stamp(now, self.started, 0), direction, status, text);
        let from = now + state.behavior.shows_after;
        state.lines.push(Line { json, from });
        id
    }

    pub fn set_status(&self, id: &str, status: &str) {
        for line in &mut self.state().lines {
            let mut item: serde_json::Value = serde_json::from_str(&line.json).unwrap();
            if item["id"] == id {
                item["status"] = status.into();
                line.json = item.to_string();
            }
        }
    }

    /// Someone on the team writes, so long from now.
    pub fn teammate_notes(&self, author: &str, text: &str, later: Duration) {
        let from = self.clock.now() + later;
        let mut state = self.state();
        let json = state.note(&stamp(from, self.started, 0), author, text);
        state.lines.push(Line { json, from });
    }

    pub fn teammate_writes(&self, status: &str, text: &str, later: Duration) {
        let from = self.clock.now() + later;
        let mut state = self.state();
        let (_, json) = state.message(&stamp(from, self.started, 0), "outbound", Some(status), text);
        state.lines.push(Line { json, from });
    }
}

/// How it behaves, and what it has, for whoever has to find out what went wrong.
impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let Behavior { author, shown_as, shows_after, takes, date, stamp_off, lists_us, .. } =
            &state.behavior;
        writeln!(f, "{author:?} {shown_as:?} {shows_after:?} {takes:?} {date:?} {stamp_off} {lists_us}")?;
        let mut lines = state.lines.iter().map(|line| &line.json).chain(&state.requests);
        lines.try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// What can be created.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Note,
    Draft,
    Mail,
    Request,
}

pub const KINDS: [Kind; 4] = [Kind::Note, Kind::Draft, Kind::Mail, Kind::Request];

/// Creates one with the client's settings, and says whether its response was lost and recovered.
pub async fn create(thread: &ConversationHandle, kind: Kind, text: &str) -> Result<bool, Error> {
    create_with(thread, kind, text, None).await
}

pub async fn create_with(
    thread: &ConversationHandle,
    kind: Kind,
    text: &str,
    verification: Option<Verification>,
) -> Result<bool, Error> {
    macro_rules! send {
        ($request:expr) => {
            match verification {
                Some(verification) => $request.verification(verification).await,
                None => $request.await,
            }
            .map(|made| made.recovered())
        };
    }
    match kind {
        Kind::Note => send!(thread.add_note(text)),
        Kind::Draft => send!(thread.reply(text)),
        Kind::Mail => send!(thread.reply(text).and_send()),
        Kind::Request => send!(thread.request_documents([DocumentItem::new("Passport")]).message(text)),
    }
}

impl Service {
    /// Another process makes the same with the same key.
    pub fn twin_makes(&self, kind: Kind, text: &str) {
        let text = quoted(text);
        let (path, body) = match kind {
            Kind::Note => ("/notes", format!(r#"{{"body":{text}}}"#)),
            Kind::Draft => ("/replies", format!(r#"{{"body":{text}}}"#)),
            Kind::Mail => ("/replies", format!(r#"{{"body":{text},"send":true}}"#)),
            Kind::Request => (
                "/document-requests",
                format!(r#"{{"message":{text},"documents":[{{"label":"Passport"}}]}}"#),
            ),
        };
        let now = self.clock.now();
        let mut state = self.state();
        let at = stamp(now, self.started, state.behavior.stamp_off);
        state.create(path, &serde_json::from_str(&body).unwrap(), &at, now);
        state.stored -= 1;
    }
}

fn seconds(now: Instant, started: Instant, off: i64) -> i64 {
    START + now.saturating_duration_since(started).as_secs() as i64 + off
}

fn stamp(now: Instant, started: Instant, off: i64) -> String {
    let millis = now.saturating_duration_since(started).subsec_millis();
    let at = jiff::Timestamp::from_second(seconds(now, started, off)).unwrap();
    format!("{}.{millis:03}Z", at.strftime("%Y-%m-%dT%H:%M:%S"))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl State {
    fn id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}_{}", self.ids)
    }

    fn note(&mut self, at: &str, author: &str, text: &str) -> String {
        let id = self.id("not");
        let (author, text) = (quoted(author), quoted(text));
        format!(r#"{{"type":"note","id":"{id}","at":"{at}","author":{author},"body":{text}}}"#)
    }

    fn message(&mut self, at: &str, direction: &str, status: Option<&str>, text: &str) -> (String, String) {
        let id = self.id("msg");
        let text = quoted(&text.chars().take(8_000).collect::<String>());
        let status = status.map_or("null".to_owned(), quoted);
        let line = format!(
            r#"{{"type":"message","id":"{id}","at":"{at}","direction":"{direction}","from":{{"name":"Help","email":"help@shop.example"}},"status":{status},"text":{text},"attachments":[]}}"#
        );
        (id, line)
    }

    /// Carries a create out and gives the answer.
    fn create(&mut self, path: &str, body: &serde_json::Value, at: &str, shown_from: Instant) -> String {
        self.stored += 1;
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let rewrite = self.behavior.rewrite;
        let (answer, line) = if path.ends_with("/notes") {
            let author = self.behavior.author;
            (r#"{"ok":true}"#.to_owned(), self.note(at, author, &rewrite(&text("body"))))
        } else {
            let status = if body["send"] == true { "scheduled" } else { "draft" };
            let mut words = rewrite(&text(if path.ends_with("/replies") { "body" } else { "message" }));
            for (n, document) in body["documents"].as_array().into_iter().flatten().enumerate() {
                let gap = if n == 0 { "\n\nUpload here: https://up.example/7f3a\n" } else { "" };
                words += &format!("{gap}☐ {}\n", document["label"].as_str().unwrap_or_default());
            }
            let (id, line) = self.message(at, "outbound", Some(status), &words);
            (format!(r#"{{"messageId":"{id}","status":"{status}"}}"#), line)
        };
        let json = match (self.behavior.shown_as, line.split_once(',')) {
            (Some(other), Some((_, rest))) => format!(r#"{{"type":"{other}",{rest}"#),
            _ => line,
        };
        self.lines.push(Line { json, from: shown_from });
        answer
    }

    fn conversation(&self, now: Instant) -> String {
        let lines: Vec<&str> =
            self.lines.iter().filter(|line| line.from <= now).map(|line| line.json.as_str()).collect();
        let us = match self.behavior.lists_us {
            true => format!(r#"{{"id":"agent:agt_7","name":{}}}"#, quoted(self.behavior.author)),
            false => String::new(),
        };
        format!(
            r#"{{"id":"cnv_1","subject":"Refund","status":"open","contact":{{"name":null,"email":null}},"mailbox":"help@shop.example","lastMessageAt":"2026-03-01T09:00:00.000Z","assignee":null,"tags":[],"topic":null,"urgency":null,"risk":null,"riskReasons":[],"snoozedUntil":null,"timeline":[{}],"team":{{"people":[{{"id":"user:usr_1","name":"Anna"}}],"agents":[{us}]}}}}"#,
            lines.join(",")
        )
    }

    fn answer(
        &mut self,
        path: &str,
        body: &serde_json::Value,
        now: Instant,
        started: Instant,
    ) -> (u16, String) {
        let name = quoted(self.behavior.name);
        let me =
            format!(r#"{{"agent":{{"id":"agt_7","name":{name}}},"scopes":["read","write","draft","send"]}}"#);
        match path.strip_prefix("/conversations/cnv_1").unwrap_or(path) {
            "/me" => (200, me),
            "/conversations" | "/mailboxes" => (200, "[]".to_owned()),
            "/sandbox/inbound" => (201, r#"{"conversationId":"cnv_1","messageId":"msg_9"}"#.to_owned()),
            "/status" | "/tags" | "/assign" => (200, r#"{"ok":true}"#.to_owned()),
            "" => (200, self.conversation(now)),
            "/notes" | "/replies" | "/document-requests" => {
                let at = stamp(now, started, self.behavior.stamp_off);
                (201, self.create(path, body, &at, now + self.behavior.shows_after))
            }
            _ => (404, r#"{"error":"There is no such conversation."}"#.to_owned()),
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    state: Arc<Mutex<State>>,
    clock: Arc<LeapClock>,
    started: Instant,
    committed: Arc<Notify>,
) {
    let Some((method, path, body)) = hear(&mut stream).await else { return };
    let (outcome, answer, date) = {
        let mut state = state.lock().unwrap();
        state.requests.push(format!("{method} {path}"));
        let outcome = match method.as_str() {
            "POST" => state.behavior.posts.pop_front().unwrap_or(state.behavior.always),
            _ => state.behavior.gets.pop_front().unwrap_or(Outcome::Good),
        };
        if outcome != Outcome::Good {
            clock.leap(state.behavior.takes);
        }
        let now = clock.now();
        let json = serde_json::from_str(&body).unwrap_or_default();
        let answer = outcome.takes_effect().then(|| state.answer(&path, &json, now, started));
        if outcome != Outcome::Good {
            clock.leap(state.behavior.lingers);
        }
        let now = clock.now();
        let failed = match state.behavior.echoes {
            true => format!(r#"{{"error":{}}}"#, quoted(&format!("{} sent {body}", key()))),
            false => r#"{"error":"Try again shortly."}"#.to_owned(),
        };
        let answer = match (outcome, answer) {
            (Outcome::LostBefore | Outcome::LostAfter | Outcome::Hangs, _) => None,
            (
                Outcome::Before(status)
                | Outcome::After(status)
                | Outcome::AfterAsking(status, _)
                | Outcome::Header(status, ..),
                _,
            ) => Some((status, failed)),
            (Outcome::Says(text) | Outcome::Claims(text), _) => Some((201, text.to_owned())),
            (Outcome::Good | Outcome::Truncated, answer) => answer,
        };
        let date = state.behavior.date.map(|off| {
            let at = jiff::Timestamp::from_second(seconds(now, started, off)).unwrap();
            format!("date: {}\r\n", at.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        });
        (outcome, answer, date.unwrap_or_default())
    };
    committed.notify_one();
    if outcome == Outcome::Hangs {
        return std::future::pending().await;
    }
    let Some((status, text)) = answer else { return };
    let wait = match outcome {
        Outcome::AfterAsking(_, wait) => format!("retry-after: {wait}\r\n"),
        Outcome::Header(_, name, value) => format!("{name}: {value}\r\n"),
        _ => String::new(),
    };
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{date}{wait}\r\n{text}"
    );
    let cut = if outcome == Outcome::Truncated { length / 2 } else { 0 };
    let _ = stream.write_all(&answer.as_bytes()[..answer.len() - cut]).await;
    let _ = stream.shutdown().await;
}

/// Method, path behind the prefix, and body of a request.
async fn hear(stream: &mut TcpStream) -> Option<(String, String, String)> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_ascii_lowercase();
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        if body.len() >= length && String::from_utf8(bytes.clone()).is_ok() {
            let mut words = head.split(' ');
            let (method, path) = (words.next()?.to_owned(), words.next()?.replacen("/api/v1", "", 1));
            let path = path.split('?').next()?.to_owned();
            return Some((method, path, body.to_owned()));
        }
    }
}
