//! What an error shows to a log, and what only to whoever asks.

use std::time::Duration;

use serde_json::json;
use shared_inbox::input::DocumentItem;
use shared_inbox::{Certainty, Client, create::Verification, retry::RetryPolicy};
use wiremock::{MockServer, Request, ResponseTemplate};

use crate::support::{Outcome, Service, conversation_id, key, responding, unreachable_url};

const WORDS: &str = "Dear Kim,\nyour refund of 20 EUR is on its way to DE02 1203 0000.";

/// A service that refuses, and quotes all that it was sent.
async fn echo(status: u16) -> (MockServer, Client) {
    let (server, client) = responding(move |request: &Request| {
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
    })
    .await;
    (server, client.retry(RetryPolicy::never()).verification(Verification::Never).build().unwrap())
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
    let sentence = json!({"error": "body: must be at most 10,000 characters"});
    let (_server, client) = responding(ResponseTemplate::new(400).set_body_json(sentence)).await;
    let client = client.verification(Verification::Never).build().unwrap();
    let error = client.conversation(&conversation_id()).add_note("Hello").await.unwrap_err();
    assert!(error.to_string().ends_with("400: body: must be at most 10,000 characters"), "{error}");
}

/// Returns how an error shows this sentence of the service, after a note with that text.
async fn shown(sentence: &str, sent: &str) -> String {
    let refusal = ResponseTemplate::new(400).set_body_json(json!({ "error": sentence }));
    let (_server, client) = responding(refusal).await;
    let client = client.verification(Verification::Never).build().unwrap();
    let error = client.conversation(&conversation_id()).add_note(sent).await.unwrap_err().to_string();
    error.split_once("400: ").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_dozen_characters_that_we_sent_are_redacted_and_fewer_are_not() {
    let sent = "Your refund of 20 EUR\nis on its way.";
    let quote = "body: \"REFUND of 20 eur is on\" is not allowed";
    assert_eq!(shown(quote, sent).await, "body: \"[…]\" is not allowed");
    let short = "body: `your refund` is not allowed";
    assert_eq!(shown(short, sent).await, short);
}

#[tokio::test]
async fn whatever_has_the_form_of_an_address_is_redacted() {
    for address in
        ["kim@example.com", "Kim.O+x@EXAMPLE", "kim%40example.com", "kim＠example.com", "köln@bücher.example"]
    {
        assert_eq!(shown(&format!("no mail to <{address}>, sorry"), "x").await, "no mail to <[…]>, sorry");
        assert_eq!(shown(address, "x").await, "[…]");
    }
    let mention = "mention people as @ name or @Anna";
    assert_eq!(shown(mention, "x").await, mention);
}

/// HTTP/2 keeps headers in a table that later frames refer to, except those that are marked as sensitive.
#[cfg(feature = "http2")]
#[tokio::test]
async fn the_key_is_marked_so_that_nothing_prints_or_indexes_it() {
    use tokio::io::AsyncReadExt;
    /// `authorization` by its number in the static table (23), in a literal that is never indexed, and in one
    /// that is.
    const NEVER_INDEXED: [u8; 2] = [0x1f, 0x08];
    const INDEXED: u8 = 0x57;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let http = shared_inbox::reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let client = Client::builder(url, key()).http_client(http).retry(RetryPolicy::never()).build().unwrap();
    let call = tokio::spawn(client.tags().into_future());
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    while !bytes.windows(2).any(|pair| pair == NEVER_INDEXED) {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no such header in {bytes:x?}");
        assert!(!bytes.contains(&INDEXED), "{bytes:x?}");
    }
    call.abort();
}

#[tokio::test]
async fn the_error_of_a_read_does_not_speak_of_effects() {
    for answer in [
        ResponseTemplate::new(500).set_body_json(json!({"error": "Sorry."})),
        ResponseTemplate::new(200).set_body_string("<html>"),
        ResponseTemplate::new(302).insert_header("location", "/x"),
    ] {
        let (_server, client) = responding(answer).await;
        let client = client.retry(RetryPolicy::never()).build().unwrap();
        let error = client.tags().await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::NoEffect);
        assert!(!error.to_string().contains("effect"), "{error}");
        let error = client.conversation(&conversation_id()).edit_tags().add("x").await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown);
        assert!(error.to_string().contains("may have taken effect"), "{error}");
    }
}

#[tokio::test]
async fn no_error_in_the_chain_shows_the_words_of_a_search() {
    let service = Service::start().await;
    service.next_gets([Outcome::LostBefore, Outcome::Truncated, Outcome::Hangs]);
    let nobody = Client::builder(unreachable_url(), key()).build().unwrap();
    for client in [service.client(), service.client(), service.client(), nobody] {
        let search = client.conversations().search("kim@example.com").retry(RetryPolicy::never());
        let error = search.timeout(Duration::from_millis(300)).await.unwrap_err();
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        let mut depth = 0;
        while let Some(error) = next {
            let shown = format!("{error} {error:?} {error:#?}");
            assert!(!shown.contains("kim") && !shown.contains(&key()[8..]), "{shown}");
            (next, depth) = (error.source(), depth + 1);
        }
        assert!(depth > 1, "the cause is there: {error}");
    }
}
