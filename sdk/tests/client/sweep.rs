//! Everything in a list without a cursor: each conversation once, and what could not be reached by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::{Assigned, Client, ClientBuilder, View, retry::RetryPolicy};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::support::{LeapClock, responding, summary};

struct Thread {
    id: usize,
    view: &'static str,
    mailbox: usize,
    assigned: &'static str,
}

/// The queries of all requests, how many are to fail, and the conversations that are in another view from a
/// request on.
#[derive(Default)]
struct Script {
    queries: Vec<String>,
    failures: usize,
    moves: Vec<(usize, usize, &'static str)>,
}

/// A service that knows of these conversations, the last first.
struct Inbox {
    _server: MockServer,
    client: Client,
    clock: Arc<LeapClock>,
    script: Arc<Mutex<Script>>,
}

fn with_clock(client: ClientBuilder) -> (Client, Arc<LeapClock>) {
    let clock = LeapClock::new();
    (client.retry(RetryPolicy::never()).clock(clock.clone()).build().unwrap(), clock)
}

async fn inbox(mailboxes: usize, threads: Vec<Thread>) -> Inbox {
    let script = Arc::<Mutex<Script>>::default();
    let shared = Arc::clone(&script);
    let (_server, client) = responding(move |request: &Request| {
        let query: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        let mut script = shared.lock().unwrap();
        script.queries.push(request.url.query().unwrap_or("mailboxes").to_owned());
        if script.failures > 0 {
            script.failures -= 1;
            return ResponseTemplate::new(503);
        }
        if request.url.path().ends_with("/mailboxes") {
            let mailbox =
                |n| json!({"id": format!("mbx_{n}"), "address": "a@b.test", "name": "x", "open": 0});
            return ResponseTemplate::new(200).set_body_json((0..mailboxes).map(mailbox).collect::<Vec<_>>());
        }
        let view = |thread: &Thread| {
            let mut moves = script.moves.iter().rev();
            let moved = moves.find(|(from, id, _)| *from <= script.queries.len() && *id == thread.id);
            moved.map_or(thread.view, |(_, _, view)| *view)
        };
        let fits = |thread: &&Thread| {
            query["view"] == view(thread)
                && query.get("mailbox").is_none_or(|id| *id == format!("mbx_{}", thread.mailbox))
                && query.get("assigned").is_none_or(|assigned| assigned == thread.assigned)
        };
        let limit = query["limit"].parse().unwrap();
        let page = threads.iter().rev().filter(fits).take(limit).map(|thread| summary(thread.id));
        ResponseTemplate::new(200).set_body_json(page.collect::<Vec<Value>>())
    })
    .await;
    let (client, clock) = with_clock(client);
    Inbox { _server, client, clock, script }
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
    (ids, sweep.incomplete_slices().iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn what_fits_on_pages_is_asked_for_by_status_alone() {
    let views = ["open", "waiting", "snoozed", "closed"];
    let inbox = inbox(3, threads(390, |id| (views[id % 4], id % 3, "other"))).await;
    let (ids, cut) = sweep(&inbox).await;
    assert_eq!(ids, (0..390).collect::<Vec<_>>(), "each once");
    assert_eq!(cut, [""; 0]);
    assert_eq!(inbox.script.lock().unwrap().queries.len(), 7, "all but the closed ones once more at the end");
}

#[tokio::test]
async fn what_is_longer_than_a_page_is_divided_by_inbox_and_then_by_assignment() {
    // 150 closed ones in inbox 0 (of nobody), 60 in each of the others.
    let closed = threads(270, |id| match id {
        ..150 => ("closed", 0, ["unassigned", "me"][id % 2]),
        _ => ("closed", 1 + id % 2, "other"),
    });
    let inbox = inbox(3, closed).await;
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
        let inbox = inbox(2, two_inboxes(open, from)).await;
        inbox.script.lock().unwrap().moves.push((at, 999, to));
        let (ids, cut) = sweep(&inbox).await;
        assert_eq!(ids.len(), open + 1, "{case}: {:?}", inbox.script.lock().unwrap().queries);
        assert_eq!(cut, [""; 0], "{case}");
    }
}

#[tokio::test]
async fn a_list_that_does_not_come_to_rest_is_named() {
    // With every round another conversation that was closed is open.
    let all = threads(400, |id| (if id < 20 { "open" } else { "closed" }, 0, "other"));
    let inbox = inbox(1, all).await;
    inbox.script.lock().unwrap().moves = (0..200).map(|n| (5 + 3 * n, 20 + n, "open")).collect();
    let (_, cut) = sweep(&inbox).await;
    assert!(cut.contains(&"open".to_owned()), "{cut:?}");
}

#[tokio::test]
async fn slices_that_cannot_be_divided_are_named() {
    let waiting = threads(350, |id| match id {
        ..=20 => ("waiting", 0, "me"),
        21..=170 => ("waiting", 0, "unassigned"),
        _ => ("waiting", 0, "other"),
    });
    let inbox = inbox(1, waiting).await;
    let (ids, cut) = sweep(&inbox).await;
    let expected: Vec<_> = (0..=20).chain(71..=170).chain(250..350).collect();
    assert_eq!(ids, expected);
    assert_eq!(cut, ["waiting", "waiting, assigned: unassigned"]);
}

#[tokio::test]
async fn filters_narrow_a_sweep() {
    let inbox = inbox(2, threads(40, |id| ("waiting", id % 2, "me"))).await;
    let mut sweep =
        inbox.client.sweep().view(View::Waiting).mailbox(&"mbx_1".parse().unwrap()).assigned(Assigned::Me);
    let mut count = 0;
    while let Some(summary) = sweep.next().await {
        summary.unwrap();
        count += 1;
    }
    assert_eq!(count, 20);
    assert_eq!(inbox.script.lock().unwrap().queries, ["assigned=me&limit=100&mailbox=mbx_1&view=waiting"]);
}

#[tokio::test]
async fn a_sweep_rides_out_a_bad_minute_and_ends_on_an_error_that_stays() {
    let inbox = inbox(2, threads(180, |id| ("open", id % 2, "me"))).await;
    inbox.script.lock().unwrap().failures = 7;
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
        let (server, client) = responding(answer).await;
        let (client, _) = with_clock(client);
        let mut sweep = client.sweep();
        assert!(!sweep.next().await.unwrap().unwrap_err().is_retryable());
        assert!(sweep.next().await.is_none());
        let mut changes = client.changes();
        assert!(changes.next().await.unwrap().is_err());
        assert!(changes.next().await.is_none());
        assert_eq!(server.received_requests().await.unwrap().len(), 2, "one each");
    }
    let (server, client) = responding(ResponseTemplate::new(200)).await;
    let mut sweep = with_clock(client).0.sweep().header("x-tenant", "two\nlines");
    assert!(sweep.next().await.unwrap().unwrap_err().is_config());
    assert!(sweep.next().await.is_none());
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_sweep_says_in_which_view_a_conversation_was_found() {
    let inbox = inbox(1, threads(4, |id| (["open", "snoozed"][id % 2], 0, "me"))).await;
    let mut sweep = inbox.client.sweep();
    assert_eq!(sweep.found_in(), None);
    while let Some(summary) = sweep.next().await {
        let summary = summary.unwrap();
        let is_snoozed = sweep.found_in() == Some(&View::Snoozed);
        assert_eq!(is_snoozed, ["cnv_1", "cnv_3"].contains(&summary.id.as_str()), "{}", summary.id);
        assert_eq!(summary.status.as_str(), "open", "the summary does not tell");
    }
}
