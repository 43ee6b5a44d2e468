//! Everything in a list without a cursor: each conversation once, and what could not be reached by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::{Assigned, Client, View, retry::RetryPolicy};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::{LeapClock, key};

#[derive(Clone)]
struct Thread {
    id: usize,
    view: &'static str,
    mailbox: usize,
    assigned: &'static str,
}

/// A service that knows of these conversations, the last first.
struct Inbox {
    _server: MockServer,
    client: Client,
    clock: Arc<LeapClock>,
    asked: Arc<Mutex<Vec<String>>>,
}

fn client(server: &MockServer) -> (Client, Arc<LeapClock>) {
    let clock = LeapClock::new();
    let client = Client::builder(format!("{}/api/v1", server.uri()), key()).retry(RetryPolicy::never());
    (client.clock(clock.clone()).build().unwrap(), clock)
}

/// A conversation that is in another view from a request on.
type Move = (usize, usize, &'static str);

async fn inbox(mailboxes: usize, threads: Vec<Thread>, failures: usize) -> Inbox {
    moving_inbox(mailboxes, threads, failures, Vec::new()).await
}

async fn moving_inbox(mailboxes: usize, threads: Vec<Thread>, failures: usize, moves: Vec<Move>) -> Inbox {
    let server = MockServer::start().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, failures) = (Arc::clone(&asked), Mutex::new(failures));
    let answer = move |request: &Request| {
        let query: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        let mut log = log.lock().unwrap();
        log.push(request.url.query().unwrap_or("mailboxes").to_owned());
        let moved = |thread: &Thread| {
            let mut moves = moves.iter().rev().filter(|(from, id, _)| *from <= log.len() && *id == thread.id);
            moves.next().map_or(thread.view, |(_, _, view)| view)
        };
        let mut failures = failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return ResponseTemplate::new(503);
        }
        if request.url.path().ends_with("/mailboxes") {
            let mailbox =
                |n| json!({"id": format!("mbx_{n}"), "address": "a@b.test", "name": "x", "open": 0});
            return ResponseTemplate::new(200).set_body_json((0..mailboxes).map(mailbox).collect::<Vec<_>>());
        }
        let fits = |thread: &&Thread| {
            query["view"] == moved(thread)
                && query.get("mailbox").is_none_or(|id| *id == format!("mbx_{}", thread.mailbox))
                && query.get("assigned").is_none_or(|assigned| assigned == thread.assigned)
        };
        let limit = query["limit"].parse().unwrap();
        let page: Vec<Value> = threads.iter().rev().filter(fits).take(limit).map(summary).collect();
        ResponseTemplate::new(200).set_body_json(page)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let (client, clock) = client(&server);
    Inbox { _server: server, client, clock, asked }
}

fn summary(thread: &Thread) -> Value {
    json!({"id": format!("cnv_{}", thread.id), "subject": "s", "snippet": "t", "status": "open",
           "contact": {"name": null, "email": null}, "mailbox": "Help", "lastMessageAt": "2026-03-01T09:30:00.000Z",
           "messageCount": 1, "assignee": null, "tags": [], "topic": null, "urgency": null, "risk": null})
}

fn threads(count: usize, of: impl Fn(usize) -> (&'static str, usize, &'static str)) -> Vec<Thread> {
    let thread = |id| {
        let (view, mailbox, assigned) = of(id);
        Thread { id, view, mailbox, assigned }
    };
    (0..count).map(thread).collect()
}

async fn sweep(inbox: &Inbox) -> (Vec<usize>, Vec<String>) {
    let mut sweep = inbox.client.sweep();
    let mut ids = Vec::new();
    while let Some(summary) = sweep.next().await {
        ids.push(summary.unwrap().id.as_str()["cnv_".len()..].parse().unwrap());
    }
    ids.sort_unstable();
    (ids, sweep.cut().iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn what_fits_on_pages_is_asked_for_by_status_alone() {
    let inbox =
        inbox(3, threads(390, |id| (["open", "waiting", "snoozed", "closed"][id % 4], id % 3, "other")), 0)
            .await;
    let (ids, cut) = sweep(&inbox).await;
    assert_eq!(ids, (0..390).collect::<Vec<_>>(), "each once");
    assert_eq!(cut, [""; 0]);
    assert_eq!(inbox.asked.lock().unwrap().len(), 7, "all but the closed ones once more at the end");
}

#[tokio::test]
async fn what_is_longer_than_a_page_is_divided_by_inbox_and_then_by_assignment() {
    // 150 closed ones in inbox 0 (of nobody), 60 in each of the others.
    let inbox = inbox(
        3,
        threads(270, |id| {
            (
                "closed",
                if id < 150 { 0 } else { 1 + id % 2 },
                if id < 150 { ["unassigned", "me"][id % 2] } else { "other" },
            )
        }),
        0,
    )
    .await;
    let (ids, cut) = sweep(&inbox).await;
    assert_eq!(ids, (0..270).collect::<Vec<_>>());
    assert_eq!(cut, ["closed in mbx_0"], "whether others have more there cannot be known");
}

#[tokio::test]
async fn a_conversation_whose_status_changes_during_the_sweep_is_not_missed() {
    let two_inboxes = |open: usize, view: &'static str| {
        let mut all = threads(open, |id| ("open", id % 2, "other"));
        // The oldest, so that no page shows it on top.
        all.insert(0, Thread { id: 999, view, mailbox: 0, assigned: "other" });
        all
    };
    for (case, open, from, to, at) in [
        // 180 are four requests: all of them, the inboxes, and each inbox.
        ("reopened among 180 open ones", 180, "closed", "open", 5),
        ("waiting, then open among 180", 180, "waiting", "open", 5),
        ("closed, then waiting", 20, "closed", "waiting", 4),
    ] {
        let inbox = moving_inbox(2, two_inboxes(open, from), 0, vec![(at, 999, to)]).await;
        let (ids, cut) = sweep(&inbox).await;
        assert_eq!(ids.len(), open + 1, "{case}: {:?}", inbox.asked.lock().unwrap());
        assert_eq!(cut, [""; 0], "{case}");
    }
}

#[tokio::test]
async fn a_list_that_does_not_come_to_rest_is_named() {
    // With every round another conversation that was closed is open.
    let moves = (0..200).map(|n| (5 + 3 * n, 1_000 + n, "open")).collect();
    let all = threads(400, |id| (if id < 20 { "open" } else { "closed" }, 0, "other"));
    let all = all.into_iter().map(|thread| Thread { id: thread.id + 980, ..thread }).collect();
    let (_, cut) = sweep(&moving_inbox(1, all, 0, moves).await).await;
    assert!(cut.contains(&"open".to_owned()), "{cut:?}");
}

#[tokio::test]
async fn slices_that_cannot_be_divided_are_named() {
    let inbox = inbox(
        1,
        threads(350, |id| {
            ("waiting", 0, ["me", "unassigned", "other"][usize::from(id > 20) + usize::from(id > 170)])
        }),
        0,
    )
    .await;
    let (ids, cut) = sweep(&inbox).await;
    let expected: Vec<_> = (0..=20).chain(71..=170).chain(250..350).collect();
    assert_eq!(ids, expected);
    assert_eq!(cut, ["waiting", "waiting, assigned: unassigned"]);
}

#[tokio::test]
async fn filters_narrow_a_sweep() {
    let inbox = inbox(2, threads(40, |id| ("waiting", id % 2, "me")), 0).await;
    let mut sweep =
        inbox.client.sweep().view(View::Waiting).mailbox(&"mbx_1".parse().unwrap()).assigned(Assigned::Me);
    let mut count = 0;
    while let Some(summary) = sweep.next().await {
        summary.unwrap();
        count += 1;
    }
    assert_eq!(count, 20);
    let asked = inbox.asked.lock().unwrap();
    assert_eq!(*asked, ["assigned=me&limit=100&mailbox=mbx_1&view=waiting"]);
}

#[tokio::test]
async fn a_sweep_rides_out_a_bad_minute_and_ends_on_an_error_that_stays() {
    let inbox = inbox(2, threads(180, |id| ("open", id % 2, "me")), 7).await;
    let (ids, _) = sweep(&inbox).await;
    assert_eq!(ids.len(), 180);
    let slept: Vec<u64> = inbox.clock.slept().iter().map(Duration::as_secs).collect();
    assert_eq!(slept, [1, 2, 4, 8, 16, 32, 60], "it waits longer after each failure");

    let mut bad = inbox.client.sweep().search("x".repeat(201));
    assert!(bad.next().await.unwrap().unwrap_err().is_invalid_input());
    assert!(bad.next().await.is_none());
}

#[tokio::test]
async fn a_sweep_and_a_stream_of_changes_end_on_what_cannot_pass() {
    for answer in [
        ResponseTemplate::new(404).set_body_json(json!({"error": "Nothing here."})),
        ResponseTemplate::new(302).insert_header("location", "/elsewhere"),
        ResponseTemplate::new(200).set_body_string("<html>Please log in</html>"),
        ResponseTemplate::new(401).set_body_json(json!({"error": "Unknown key."})),
    ] {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let (client, _) = client(&server);
        let mut sweep = client.sweep();
        assert!(!sweep.next().await.unwrap().unwrap_err().is_retryable());
        assert!(sweep.next().await.is_none());
        let mut changes = client.changes();
        assert!(changes.next().await.unwrap().is_err());
        assert!(changes.next().await.is_none());
        assert_eq!(server.received_requests().await.unwrap().len(), 2, "one each");
    }
    let server = MockServer::start().await;
    let mut sweep = client(&server).0.sweep().header("x-tenant", "two\nlines");
    assert!(sweep.next().await.unwrap().unwrap_err().is_config());
    assert!(sweep.next().await.is_none());
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_sweep_says_in_which_view_a_conversation_was_found() {
    let inbox = inbox(1, threads(4, |id| (["open", "snoozed"][id % 2], 0, "me")), 0).await;
    let mut sweep = inbox.client.sweep();
    assert_eq!(sweep.found_in(), None);
    while let Some(summary) = sweep.next().await {
        let summary = summary.unwrap();
        let is_snoozed = sweep.found_in() == Some(&View::Snoozed);
        assert_eq!(is_snoozed, ["cnv_1", "cnv_3"].contains(&summary.id.as_str()), "{}", summary.id);
        assert_eq!(summary.status.as_str(), "open", "the summary does not tell");
    }
}
