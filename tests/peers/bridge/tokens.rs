//! What the bridge costs a model in tokens of `o200k_base`: its tools, and a day's work in the demo shop.

use std::process::Stdio;

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;
use tokio::{io::AsyncWriteExt, process::Command};

use super::{
    fixture::{Answer, Era, Fixture, Newer, Person, is_error, text},
    installed,
};

/// Counts the tokens of each text.
async fn tokens<const N: usize>(texts: [String; N]) -> [usize; N] {
    let modules = installed(|| peers::npm(&["gpt-tokenizer@4.0.0"])).await;
    let mut node = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/bridge/clients/tokens.mjs"))
        .arg(modules)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    node.stdin.take().unwrap().write_all(json!(texts.as_slice()).to_string().as_bytes()).await.unwrap();
    let output = node.wait_with_output().await.unwrap();
    let counts: Vec<usize> = serde_json::from_slice(&output.stdout).expect("counts from the tokenizer");
    counts.try_into().expect("a count for each text")
}

#[tokio::test]
async fn the_list_of_tools_costs_a_model_at_most_2900_tokens() {
    let fixture = Fixture::new().await;
    let client = fixture.start_in_process(&Person::who(Answer::No), Newer, &[]).await;
    let tools = client.service.list_all_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.output_schema.is_some()));
    let [tokens] = tokens([json!({ "tools": tools }).to_string()]).await;
    assert!(tokens <= 2_900, "{tokens} tokens");
}

/// What a day came to: requests, and what the model was given in either form.
struct Day {
    requests: usize,
    text: String,
    structured: String,
}

/// Ten mails read and tagged, five drafts, a document request, four assignments, a search and three notes.
async fn day(era: Era, arguments: &[&str]) -> Day {
    let fixture =
        Fixture { mock: MockServer::builder().manual_clock().start().await, conversation: String::new() };
    let client = fixture.start_in_process(&Person::who(Answer::No), era, arguments).await;
    let (mut all_text, mut all_structured) = (String::new(), String::new());
    let mut call = async |tool: &'static str, arguments: Value| {
        let result = client.call(tool, arguments).await;
        assert!(!is_error(&result), "{tool}: {}", text(&result));
        for block in &result.content {
            all_text.push_str(&block.as_text().unwrap().text);
        }
        let structured = result.structured_content.unwrap_or_default();
        all_structured.push_str(&structured.to_string());
        structured
    };
    let list = call("list_conversations", json!({ "view": "any", "limit": 10 })).await;
    let ids: Vec<_> = list["items"].as_array().unwrap().iter().map(|c| c["id"].clone()).collect();
    assert_eq!(ids.len(), 10);
    for id in &ids {
        call("get_conversation", json!({ "id": id })).await;
        call("tag_conversation", json!({ "id": id, "add": ["seen"] })).await;
    }
    for id in &ids[..5] {
        call("reply", json!({ "id": id, "body": "Hello,\n\nthank you, we look into it.", "summary": "Answer that we look" }))
            .await;
    }
    call("request_documents", json!({ "id": ids[5], "documents": [{ "label": "Invoice" }] })).await;
    for id in &ids[4..8] {
        call("assign_conversation", json!({ "id": id, "to": "me" })).await;
    }
    call("search_documents", json!({ "q": "invoice" })).await;
    for id in &ids[..3] {
        call("add_note", json!({ "id": id, "body": "Waits for the warehouse." })).await;
    }
    let requests = fixture.mock.control().requests().await.len();
    Day { requests, text: all_text, structured: all_structured }
}

#[tokio::test]
async fn a_days_work_costs_at_most_45_requests_and_9000_tokens_in_either_form() {
    let whole = day(Newer, &[]).await;
    assert!(whole.requests <= 45, "{} requests", whole.requests);
    let slim = day(Newer, &["--structured=slim"]).await;
    let [text, structured, slim] = tokens([whole.text, whole.structured, slim.structured]).await;
    eprintln!("{} requests, {text} tokens as text, {structured} structured, {slim} slim", whole.requests);
    assert!(text <= 9_000, "{text} tokens as text");
    assert!(structured <= 9_000, "{structured} tokens structured");
    assert!(slim <= structured * 2 / 5, "{slim} of {structured} tokens in the slim form");
}
