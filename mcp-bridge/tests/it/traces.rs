//! Trace context: the trace of a call is that of every request that it leads to.

use rmcp::model::{CallToolRequestParams, RequestParamsMeta};
use serde_json::{Value, json};
use shared_inbox_mock::{Effect, journal::RequestFilter};

use crate::fixture::{Answer, Client, ERAS, Older, Person, creates, in_process, leaping, params};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn traceparent() -> String {
    format!("00-{TRACE}-b7ad6b7169203331-01")
}

async fn call(client: &Client, tool: &'static str, arguments: Value, traceparent: &str) {
    let mut call: CallToolRequestParams = params(tool, arguments);
    call.set_traceparent(traceparent);
    client.service.call_tool(call).await.unwrap();
}

#[tokio::test]
async fn the_trace_of_a_call_is_in_all_its_requests_and_a_search_finds_them() {
    for era in ERAS {
        let (fixture, _, client) = leaping(Person::who(Answer::Yes), era, &[]).await;
        let control = fixture.mock.control();
        client.call("list_tags", json!({})).await;
        control.clear_requests().await;
        // Its response is lost, so that it is read back as well.
        fixture.fault(creates(Effect::drop_after())).await;
        let reply = json!({ "id": fixture.conversation, "body": "On its way", "send": true });
        call(&client, "reply", reply, &traceparent()).await;
        client.call("list_tags", json!({})).await;

        let all = control.requests().await;
        let (traced, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|entry| entry.traceparent.is_some());
        assert_eq!(others.len(), 1, "{era:?}: {others:?}");
        assert!(traced.len() >= 3, "{era:?}: the read, the create and the read-back: {traced:?}");
        assert!(traced.iter().all(|entry| entry.traceparent == Some(traceparent())), "{era:?}: {traced:?}");
        let found =
            control.find_requests(RequestFilter::default().text(TRACE), Default::default()).await.unwrap();
        assert_eq!(found.items.len(), traced.len(), "{era:?}");

        let sent = traced.iter().find(|entry| entry.method == "POST").expect("the create");
        let line = control.trace(&sent.id).await.steps;
        assert_eq!(line[0].traceparent, Some(traceparent()), "{era:?}: {line:?}");
    }
}

#[tokio::test]
async fn what_is_no_traceparent_stays_in_the_bridge() {
    let (fixture, _, client) = in_process(Person::who(Answer::No), Older, &[]).await;
    for other in [
        "00-x-y-01",
        "Bearer rk_live_secret",
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx: y",
    ] {
        call(&client, "list_tags", json!({}), other).await;
    }
    assert!(fixture.mock.control().requests().await.iter().all(|entry| entry.traceparent.is_none()));
}
