//! What every call has: headers of its own, details of its response; lists that say when they are cut.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::{Certainty, Client, ConversationId, Team, retry::RetryPolicy};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::support::{Outcome, Service, conversation_id, responding, summary};

async fn service(
    answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> (MockServer, Client) {
    let (server, client) = responding(answer).await;
    let retry = RetryPolicy::default().first_delay(Duration::from_millis(1));
    (server, client.retry(retry).build().unwrap())
}

/// Responds after so many failures.
fn after_failures(failures: u32, response: ResponseTemplate) -> impl Fn(&Request) -> ResponseTemplate {
    let requests = AtomicU32::new(0);
    move |_| match requests.fetch_add(1, Ordering::SeqCst) < failures {
        true => ResponseTemplate::new(503),
        false => response.clone(),
    }
}

#[tokio::test]
async fn a_header_goes_out_with_every_request_of_its_call_and_with_no_other() {
    let empty = ResponseTemplate::new(200).set_body_json(json!([]));
    let (server, client) = service(after_failures(1, empty)).await;
    client.tags().header("traceparent", "00-1").header("TraceParent", "00-2").await.unwrap();
    client.tags().await.unwrap();
    let requests = server.received_requests().await.unwrap();
    let sent = |request: &Request| {
        request.headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned())
    };
    let sent: Vec<_> = requests.iter().map(sent).collect();
    assert_eq!(sent, [Some("00-2".to_owned()), Some("00-2".to_owned()), None]);
}

#[tokio::test]
async fn a_header_that_is_malformed_or_the_clients_own_is_an_error_before_sending() {
    let (server, client) = service(|_| ResponseTemplate::new(200).set_body_json(json!([]))).await;
    for (name, value) in [
        ("Authorization", "Bearer x"),
        ("content-type", "text/plain"),
        ("host", "elsewhere"),
        ("user-agent", "x"),
        ("two words", "x"),
        ("", "x"),
        ("x-ok", "two\r\nlines: x"),
    ] {
        let error = client.tags().header(name, value).await.unwrap_err();
        assert!(error.is_config() && error.certainty() == Certainty::NotSent, "{name}");
        assert!(error.to_string().contains("header: "), "{error}");
    }
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_successful_call_tells_its_status_headers_and_attempts() {
    let response = ResponseTemplate::new(203)
        .insert_header("x-request-id", "r-7")
        .set_body_json(json!([{"id": "tag_1", "name": "refund", "count": 7}]));
    let (_server, client) = service(after_failures(2, response)).await;
    let tags = client.tags().send_with_response().await.unwrap();
    assert_eq!(tags[0].name, "refund");
    assert_eq!((tags.status().unwrap().as_u16(), tags.attempts()), (203, 3));
    assert_eq!(tags.headers().unwrap()["x-request-id"], "r-7");
    assert_eq!(tags.into_inner().len(), 1);
}

#[tokio::test]
async fn a_successful_create_tells_its_status_headers_and_attempts() {
    let (service, thread) = Service::start_with_thread().await;
    service.next_posts([Outcome::Before(429)]);
    let draft = thread.reply("Your refund is on its way.").await.unwrap();
    assert_eq!(draft.message_id.as_str(), "msg_1");
    assert_eq!((draft.status().unwrap().as_u16(), draft.attempts()), (201, 2));
    assert_eq!(draft.headers().unwrap()["connection"], "close");
    let shown = format!("{draft:?}");
    assert!(shown.contains("201") && !shown.contains("close"), "{shown}");
    assert_eq!(draft.into_inner().message_id.as_str(), "msg_1");
}

#[tokio::test]
async fn a_recovered_create_has_no_status_and_no_headers_but_its_attempts() {
    for (faults, attempts) in
        [(vec![Outcome::LostAfter], 1), (vec![Outcome::LostBefore, Outcome::LostAfter], 2)]
    {
        let (service, thread) = Service::start_with_thread().await;
        service.next_posts(faults);
        let note = thread.add_note("Refund is approved").await.unwrap();
        assert!(note.recovered() && note.ok);
        assert_eq!((note.status(), note.headers(), note.attempts()), (None, None, attempts));
    }
}

#[tokio::test]
async fn a_list_says_that_it_may_be_cut_when_it_is_as_long_as_its_limit() {
    let (_server, client) = service(|request: &Request| {
        let limit = request.url.query_pairs().find(|(name, _)| name == "limit");
        let limit = limit.map_or(25, |(_, limit)| limit.parse().unwrap());
        ResponseTemplate::new(200).set_body_json((0..30.min(limit)).map(summary).collect::<Vec<_>>())
    })
    .await;
    assert!(client.conversations().await.unwrap().is_cut(), "25 unless set");
    assert!(client.conversations().limit(30).await.unwrap().is_cut());
    let all = client.conversations().limit(31).await.unwrap();
    assert!(!all.is_cut());
    // It is read as a slice, and taken as a `Vec`.
    assert_eq!((all.len(), all[0].id.as_str(), all.iter().count()), (30, "cnv_0", 30));
    let ids: Vec<ConversationId> = all.into_iter().map(|summary| summary.id).collect();
    assert_eq!(ids.len(), 30);
}

#[tokio::test]
async fn a_conversation_is_given_to_a_member_of_its_team_as_it_was_read() {
    let (server, client) = service(|_| ResponseTemplate::new(200).set_body_json(json!({"ok": true}))).await;
    let team = json!({"people": [{"id": "user:usr_1", "name": "Anna"}], "agents": [{"id": "agent:agt_1", "name": "Bot"}]});
    let team: Team = serde_json::from_value(team).unwrap();
    let thread = client.conversation(&conversation_id());
    thread.assign(&team.people[0].id).await.unwrap();
    thread.assign(team.agents[0].id.clone()).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    let bodies: Vec<Value> = requests.iter().map(|request| request.body_json().unwrap()).collect();
    assert_eq!(bodies, [json!({"to": "user:usr_1"}), json!({"to": "agent:agt_1"})]);
}
