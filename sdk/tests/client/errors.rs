//! What an error shows to a log, and what only to whoever asks.

use serde_json::json;
use shared_inbox::input::DocumentItem;
use shared_inbox::{Certainty, Client, create::Verification, retry::RetryPolicy};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::{conversation_id, key};

const WORDS: &str = "Dear Kim,\nyour refund of 20 EUR is on its way to DE02 1203 0000.";

/// A service that refuses, and quotes all that it was sent.
async fn echo(status: u16) -> (MockServer, Client) {
    let server = MockServer::start().await;
    let answer = move |request: &Request| {
        let header = request.headers.get("authorization").unwrap().to_str().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let quoted = body["body"].as_str().or(body["message"].as_str()).unwrap_or_default().to_uppercase();
        let query: Vec<String> = request.url.query_pairs().map(|(_, value)| value.into_owned()).collect();
        let sentence = format!(
            "Not for {header}: \"{quoted}\" {body} {query:?} {} by kim@example.com, {:?}",
            request.url.query().unwrap_or_default(),
            request.headers.get("x-tenant")
        );
        ResponseTemplate::new(status).set_body_json(json!({ "error": sentence }))
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let client = Client::builder(format!("{}/api/v1", server.uri()), key())
        .retry(RetryPolicy::never())
        .verification(Verification::Never)
        .build()
        .unwrap();
    (server, client)
}

#[tokio::test]
async fn display_and_debug_blot_out_what_we_sent_and_message_keeps_it() {
    for status in [400, 403, 404, 422, 500] {
        let (_server, client) = echo(status).await;
        let thread = client.conversation(&conversation_id());
        let errors = [
            thread.add_note(WORDS).await.unwrap_err(),
            thread.reply(WORDS).summary("Confirms the refund of Kim").await.unwrap_err(),
            thread
                .request_documents([DocumentItem::new("The passport of Kim")])
                .message(WORDS)
                .await
                .unwrap_err(),
            client.conversations().search("refund for kim@example.com please").await.unwrap_err(),
            client.tags().header("x-tenant", "token-of-tenant-4711").await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.message().unwrap().contains(&key()), "whole for whoever asks");
            for text in [error.to_string(), format!("{error:?}")] {
                assert!(text.contains("Not for") && text.contains("[…]"), "{text}");
                for secret in
                    ["a1a1", "refund", "REFUND", "Kim", "passport", "kim", "example.com", "DE02", "4711"]
                {
                    assert!(!text.contains(secret), "{secret} in {text}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_plain_sentence_is_shown_whole() {
    let server = MockServer::start().await;
    let answer =
        ResponseTemplate::new(400).set_body_json(json!({"error": "body: must be at most 10,000 characters"}));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let client = Client::builder(format!("{}/api/v1", server.uri()), key()).build().unwrap();
    let note = client.conversation(&conversation_id()).add_note("Hello").verification(Verification::Never);
    let error = note.await.unwrap_err();
    assert!(error.to_string().ends_with("400: body: must be at most 10,000 characters"), "{error}");
}

#[tokio::test]
async fn the_error_of_a_read_does_not_speak_of_effects() {
    for answer in [
        ResponseTemplate::new(500).set_body_json(json!({"error": "Sorry."})),
        ResponseTemplate::new(200).set_body_string("<html>"),
        ResponseTemplate::new(302).insert_header("location", "/x"),
    ] {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let client = Client::builder(format!("{}/api/v1", server.uri()), key());
        let client = client.retry(RetryPolicy::never()).build().unwrap();
        let error = client.tags().await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::NoEffect);
        assert!(!error.to_string().contains("effect"), "{error}");
        let error = client.conversation(&conversation_id()).edit_tags().add("x").await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown);
        assert!(error.to_string().contains("may have taken effect"), "{error}");
    }
}
