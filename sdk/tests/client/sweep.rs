//! Everything in a list without a cursor: each conversation once, and what could not be reached by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shared_inbox::{Assigned, Client, RetryPolicy, View};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::key;

#[derive(Clone)]
struct Thread {
    id: usize,
    view: &'static str,
    mailbox: usize,
    assigned: &'static str,
}

/// A service that knows of these conversations, the last first.
struct Inbox {
    server: MockServer,
    client: Client,
    asked: Arc<Mutex<Vec<String>>>,
}

async fn inbox(mailboxes: usize, threads: Vec<Thread>, failures: usize) -> Inbox {
    let server = MockServer::start().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, failures) = (Arc::clone(&asked), Mutex::new(failures));
    let answer = move |request: &Request| {
        let query: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        log.lock().unwrap().push(request.url.query().unwrap_or("mailboxes").to_owned());
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
            query["view"] == thread.view
                && query.get("mailbox").is_none_or(|id| *id == format!("mbx_{}", thread.mailbox))
                && query.get("assigned").is_none_or(|assigned| assigned == thread.assigned)
        };
        let limit = query["limit"].parse().unwrap();
        let page: Vec<Value> = threads.iter().rev().filter(fits).take(limit).map(summary).collect();
        ResponseTemplate::new(200).set_body_json(page)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let client = Client::builder(format!("{}/api/v1", server.uri()), key()).retry(RetryPolicy::never());
    Inbox { server, client: client.build().unwrap(), asked }
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
        if let Ok(summary) = summary {
            ids.push(summary.id.as_str()["cnv_".len()..].parse().unwrap());
        }
    }
    let cut = sweep.cut().iter().map(ToString::to_string).collect();
    assert!(inbox.server.received_requests().await.is_some());
    (ids, cut)
}

#[tokio::test]
async fn what_fits_on_pages_is_asked_for_by_status_alone() {
    let inbox =
        inbox(3, threads(390, |id| (["open", "waiting", "snoozed", "closed"][id % 4], id % 3, "other")), 0)
            .await;
    let (mut ids, cut) = sweep(&inbox).await;
    ids.sort_unstable();
    assert_eq!(ids, (0..390).collect::<Vec<_>>(), "each once");
    assert_eq!(cut, [""; 0]);
    assert_eq!(inbox.asked.lock().unwrap().len(), 5, "the open ones once more at the end");
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
    let (mut ids, cut) = sweep(&inbox).await;
    ids.sort_unstable();
    assert_eq!(ids, (0..270).collect::<Vec<_>>());
    assert_eq!(cut, ["closed in mbx_0"], "whether others have more there cannot be known");
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
    let (mut ids, cut) = sweep(&inbox).await;
    ids.sort_unstable();
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
async fn an_error_loses_nothing_and_one_that_stays_ends_the_sweep() {
    let inbox = inbox(2, threads(180, |id| ("open", id % 2, "me")), 3).await;
    let (ids, _) = sweep(&inbox).await;
    assert_eq!(ids.len(), 180);

    let mut bad = inbox.client.sweep().q("x".repeat(201));
    assert!(bad.next().await.unwrap().unwrap_err().is_invalid_input());
    assert!(bad.next().await.is_none());
}
