//! Connections as they are on the wire: cut off, cut short, reused, and many at once.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule, MockServer};

use crate::kit::{Follower, Kit, texts};

/// The server's own name.
fn host(kit: &Kit) -> &str {
    let address = kit.mock.base_url().strip_prefix("http://").and_then(|it| it.strip_suffix("/api/v1"));
    address.expect("an address")
}

/// A connection of its own, on which nothing takes for ever.
fn connect(kit: &Kit) -> TcpStream {
    let stream = TcpStream::connect(host(kit)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

/// What comes back to each of these, all at the same time, and how long it took.
fn exchange_all(kit: &Kit, requests: &[String]) -> Vec<(String, Duration)> {
    let started = Instant::now();
    let timed = |request| (exchange(kit, request), started.elapsed());
    std::thread::scope(|scope| {
        let threads: Vec<_> = requests.iter().map(|request| scope.spawn(move || timed(request))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    })
}

/// What comes back over a connection of its own until the server closes it.
fn exchange(kit: &Kit, request: &str) -> String {
    let mut stream = connect(kit);
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an orderly end");
    answer
}

fn get_me(kit: &Kit, more: &str) -> String {
    format!(
        "GET /api/v1/me HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{more}\r\n",
        host(kit),
        kit.mock.live_key()
    )
}

#[tokio::test]
async fn a_truncated_answer_has_its_whole_length_and_only_the_first_bytes() {
    let kit = Kit::start().await;
    let whole = kit.live().get("/me").await.text;
    for bytes in [0, 20, 1_000_000] {
        kit.control("POST", "/faults", json!({ "effect": { "truncate": bytes } })).await.expect(201);
        let answer = exchange(&kit, &get_me(&kit, ""));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert!(head.contains(&format!("content-length: {}", whole.len())), "{head}");
        assert_eq!(body, &whole[..bytes.min(whole.len() - 1)]);
    }
}

#[tokio::test]
async fn a_dropped_connection_sends_not_one_byte() {
    let kit = Kit::start().await;
    for when in ["before", "after"] {
        kit.control("POST", "/faults", json!({ "effect": { "drop": when } })).await.expect(201);
        assert_eq!(exchange(&kit, &get_me(&kit, "")), "");
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let kit = Kit::start().await;
    let answer = exchange(&kit, &format!("{}{}", get_me(&kit, ""), get_me(&kit, "connection: close\r\n")));
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
}

#[tokio::test]
async fn a_request_whose_client_has_gone_took_effect_and_is_in_the_journal() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.act("/faults", json!({ "method": "POST", "effect": { "delayMs": 600_000 } })).await;
    let live = kit.live();
    let noted = async { while !live.timeline(&id).await.iter().any(|it| it["type"] == "note") {} };
    tokio::select! {
        answer = live.act(&id, "notes", json!({ "body": "Seen" })) => panic!("ten minutes early: {answer}"),
        () = noted => {} // and the client goes
    }
    while kit.look("/requests?method=POST").await == json!([]) {
        tokio::task::yield_now().await;
    }
}

/// A server that gives up on slow clients at once.
async fn impatient() -> Kit {
    Kit::with(MockServer::builder().manual_clock().empty().no_rate_limit().client_timeout(PATIENCE)).await
}

/// Long enough for a client of a busy machine to send what it sends at once.
const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn half_a_head_and_an_idle_connection_are_closed_without_an_answer() {
    let kit = impatient().await;
    let half = "GET /api/v1/me HTTP/1.1\r\nhost: localhost\r\nauthori".to_owned();
    let answers = exchange_all(&kit, &[half, String::new(), get_me(&kit, "")]);
    for (answer, took) in &answers[..2] {
        assert_eq!(answer, "", "nothing was ever asked");
        assert!(*took >= PATIENCE, "{took:?}");
    }
    let (kept, _) = &answers[2];
    assert!(kept.starts_with("HTTP/1.1 200 OK"), "a connection that is kept and not used ends too: {kept}");
}

#[tokio::test]
async fn half_a_body_answers_408_and_nothing_happened() {
    let kit = impatient().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let (reader, _) = kit.key("Reader", &["read"]).await;
    let half = |method: &str, path: &str, key: &str| {
        let head = format!("host: {}\r\nauthorization: Bearer {key}\r\ncontent-length: 100", host(&kit));
        format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{{\"body\":\"Se")
    };
    let (note, live) = (format!("/api/v1/conversations/{id}/notes"), kit.mock.live_key());
    // What stands before the input comes first.
    let (requests, statuses): (Vec<String>, Vec<u16>) = [
        (half("POST", &note, live), 408),
        (half("POST", "/mcp", live), 408),
        (half("PUT", "/_mock/state", live), 408),
        (half("POST", &note, "rk_wrong"), 401),
        (half("POST", &note, reader.key()), 403),
        (half("POST", "/api/v1/x", ""), 404),
    ]
    .into_iter()
    .unzip();
    for ((answer, _), status) in exchange_all(&kit, &requests).iter().zip(statuses) {
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(status != 408 || body == r#"{"error":"The body did not arrive in time."}"#, "{body}");
    }
    // The client's own connection has been idle for too long by now.
    let after = Kit::over(kit.mock).await;
    assert_eq!(after.live().timeline(&id).await.len(), 1);
}

#[tokio::test]
async fn a_client_that_is_still_sending_too_much_hears_the_answer() {
    let kit = Kit::start().await;
    let mut stream = connect(&kit);
    let (key, length) = (kit.mock.live_key(), 3 * (4 << 20));
    let head = format!(
        "host: {}\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\nconnection: close",
        host(&kit)
    );
    stream
        .write_all(format!("POST /api/v1/app-mail HTTP/1.1\r\n{head}\r\n\r\n").as_bytes())
        .expect("written");
    stream.write_all(&vec![b'x'; length]).expect("it is all read, although it is too much");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an orderly end");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_takes_no_answer_is_given_up() {
    let kit = impatient().await;
    let id = kit.mail("vera@customer.example", &"long ".repeat(1_500)).await;
    let read = format!(
        "GET /api/v1/conversations/{id} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        host(&kit),
        kit.mock.live_key()
    );
    let mut stream = connect(&kit);
    // Answers pile up until the server can write no more. Were it to wait, so would these writes, for 20
    // seconds.
    let error = loop {
        if let Err(error) = stream.write_all(read.as_bytes()) {
            break error.kind();
        }
    };
    assert!(
        matches!(error, std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe),
        "{error:?}: the server closed it"
    );
}

#[tokio::test]
async fn changes_are_followed_as_server_sent_events() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let mut events = Follower::start(&kit, "").await;
    kit.live().act(&id, "replies", json!({ "body": "Hi", "send": true })).await;
    kit.advance(600).await;
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    let seen = events.until("\"reset\"").await;
    let changes: Vec<Value> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).expect("JSON"))
        .collect();
    assert_eq!(texts(&json!(changes), "cause"), ["request", "job", "clock", "state"], "{seen}");
    let numbers: Vec<u64> = seen.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(numbers.len(), changes.len());
    assert!(numbers.is_sorted_by(|a, b| a + 1 == *b), "a gap would show: {numbers:?}");
    assert_eq!(seen.lines().filter(|line| *line == "event: change").count(), changes.len());
}

#[tokio::test]
async fn followers_hear_when_a_webhook_is_tried_and_when_the_try_has_ended() {
    let kit = Kit::start().await;
    let hook = kit.hook_with(json!({ "url": "http://127.0.0.1:9/in" })).await;
    let mut changes = kit.mock.control().changes();
    kit.send_test(&hook).await;
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|what| what != "advance") {
        kinds.push(changes.recv().await.expect("a change").what);
    }
    kinds.sort();
    assert_eq!(kinds, ["advance", "webhook-attempt", "webhook-attempt-ended", "webhooks"]);
}

#[tokio::test]
async fn a_follower_that_is_too_slow_is_told_what_it_missed() {
    const CHANGES: usize = 1_500;
    let server = MockServer::builder().manual_clock().empty().bind().expect("a port");
    let (control, url) = (server.control(), format!("{}/events", server.ready().control_url));
    tokio::spawn(server.serve_until(std::future::pending()));
    let mut events = Follower::of(crate::kit::requests().get(url).send().await.expect("an answer")).await;
    // The server runs on the thread of this test, and has no turn in between.
    for _ in 0..CHANGES {
        control.clear_requests().await;
    }
    let seen = events.until(&format!("id: {CHANGES}\n")).await;
    let missed =
        seen.split("event: missed\ndata: {\"missed\":").nth(1).and_then(|rest| rest.split('}').next());
    let missed: usize = missed.expect("it is told").parse().expect("a number");
    assert_eq!(
        missed + seen.matches("event: change").count(),
        CHANGES,
        "every change was told or is counted"
    );
}

#[tokio::test]
async fn what_cannot_be_read_as_a_request_is_told_so_in_the_services_own_form() {
    let kit = Kit::start().await;
    let long = "x".repeat(70_000);
    let large: String = (0..700).map(|i| format!("x-{i}: {}\r\n", "y".repeat(1_000))).collect();
    let own = host(&kit);
    for (status, request) in [
        ("400 Bad Request", "what is this\r\n\r\n".to_owned()),
        ("400 Bad Request", format!("GET /api/v1/me HTTP/1.1\r\nhost: {own}\r\nno colon\r\n\r\n")),
        ("414 URI Too Long", format!("GET /api/v1/conversations?q={long} HTTP/1.1\r\nhost: {own}\r\n\r\n")),
        (
            "431 Request Header Fields Too Large",
            format!("GET /api/v1/me HTTP/1.1\r\nhost: {own}\r\n{large}\r\n"),
        ),
    ] {
        let answer = exchange(&kit, &request);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}", body.len())), "{head}");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert!(body.as_object().is_some_and(|it| it.len() == 1) && body["error"].is_string(), "{body}");
    }
    // The same after a request that was answered, on the same connection.
    let answer = exchange(&kit, &format!("{}what is this\r\n\r\n", get_me(&kit, "")));
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("HTTP/1.1 400 Bad Request"), "{answer}");
}

/// A server for two connections and two requests at once. A `GET /me` has no response for a long time.
async fn server_for_two() -> Kit {
    let builder = MockServer::builder().manual_clock().empty().no_rate_limit().max_connections(2);
    let kit = Kit::over(builder.start().await).await;
    let slow = Effect::delay(Duration::from_secs(600));
    kit.mock.control().add_fault(FaultRule::new(slow).path("/me").always()).await.expect("a fault");
    kit
}

/// Sends a request on a connection of its own.
fn ask(kit: &Kit, path: &str) -> TcpStream {
    let mut stream = connect(kit);
    let key = kit.mock.live_key();
    let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\n\r\n", host(kit));
    stream.write_all(head.as_bytes()).expect("written");
    stream
}

fn is_answered(stream: &mut TcpStream) -> bool {
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 200 OK"
}

/// Returns whether nothing comes, not even the end, for a moment.
fn is_waiting(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let read = stream.read(&mut [0]);
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

#[tokio::test]
async fn half_open_connections_make_room_for_one_that_asks() {
    let kit = server_for_two().await;
    let half: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(&kit);
            stream.write_all(b"GET /api/v1/tags HTTP/1.1\r\nhost").expect("written");
            stream
        })
        .collect();
    assert!(is_answered(&mut ask(&kit, "/api/v1/tags")));
    drop(half);
}

#[tokio::test]
async fn an_idle_connection_makes_room_and_a_busy_one_stays() {
    let kit = server_for_two().await;
    let mut idle = ask(&kit, "/api/v1/tags");
    assert!(is_answered(&mut idle));
    let mut busy = ask(&kit, "/api/v1/me");
    // Room is made for the third and for the fourth connection.
    assert!(is_answered(&mut ask(&kit, "/_mock/health")));
    assert!(is_answered(&mut ask(&kit, "/_mock/health")));
    idle.read_to_end(&mut Vec::new()).expect("it was closed in order");
    assert!(is_waiting(&mut busy), "it is still there, and waits for its response");
}

#[tokio::test]
async fn when_all_are_busy_others_wait_and_the_control_api_does_not() {
    let kit = server_for_two().await;
    let mut busy = vec![ask(&kit, "/api/v1/me"), ask(&kit, "/api/v1/me")];
    while kit.mock.control().faults().await[0].fired < 2 {
        tokio::task::yield_now().await;
    }
    assert!(is_answered(&mut ask(&kit, "/_mock/health")));
    let mut waits = ask(&kit, "/api/v1/tags");
    assert!(is_waiting(&mut waits), "both places are taken");
    busy.pop();
    assert!(is_answered(&mut waits), "its turn has come");
}

#[tokio::test]
async fn a_kept_connection_ends_with_the_server() {
    let kit = server_for_two().await;
    let mut kept = ask(&kit, "/api/v1/tags");
    assert!(is_answered(&mut kept));
    kit.mock.stop().await;
    kept.read_to_end(&mut Vec::new()).expect("nobody waits for a request that may never come");
}
