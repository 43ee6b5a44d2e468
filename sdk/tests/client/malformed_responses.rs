//! Answers that are not the service's: a clear error with the status and a bounded excerpt, no panic, no
//! unbounded read.

use crate::support::{Outcome, Service, conversation_id, key, responding, summary};
use serde_json::json;
use shared_inbox::{Certainty, Client, Error, TimelineItem, View, follow::Change, http, retry::RetryPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wiremock::{Request, ResponseTemplate};

/// What becomes of a list when this is the response.
async fn error_of(response: ResponseTemplate) -> Error {
    let (server, client) = responding(response).await;
    let error = client.build().unwrap().tags().await.unwrap_err();
    assert_eq!(server.received_requests().await.unwrap().len(), 1, "it is not repeated");
    error
}

#[tokio::test]
async fn html_instead_of_json() {
    let html = format!("<html>{}</html>", "<p>Welcome</p>".repeat(1_000));
    let error = error_of(ResponseTemplate::new(200).set_body_raw(html, "text/html")).await;
    assert!(error.is_unreadable());
    assert_eq!(error.status().unwrap(), 200);
    let excerpt = error.excerpt().unwrap();
    assert!(excerpt.starts_with("<html>") && excerpt.chars().count() <= 200, "{excerpt}");
    assert_eq!(error.to_string(), "GET /tags: the response (200) is not the JSON that was expected");
}

#[tokio::test]
async fn json_that_ends_too_early_or_goes_on_too_long() {
    for body in ["[{\"id\":\"tag_1\",\"na", "", "[] []", "[]x"] {
        let error = error_of(ResponseTemplate::new(200).set_body_string(body)).await;
        assert!(error.is_unreadable(), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_field_that_does_not_fit_is_named_by_its_path_and_its_value_is_not_shown() {
    let body = r#"[{"id":"tag_1","name":"a","count":1},{"id":"tag_2","name":"b","count":"kim@example.com"}]"#;
    let error = error_of(ResponseTemplate::new(200).set_body_string(body)).await;
    assert_eq!(error.json_path(), Some("[1].count"));
    assert!(error.to_string().contains("`[1].count`"), "{error}");
    assert!(!format!("{error} {error:?}").contains("kim@"), "an address in the answer stays out of logs");
    assert!(error.detail().unwrap().contains("kim@") && error.excerpt().unwrap().contains("tag_1"));
}

#[tokio::test]
async fn a_text_that_was_cut_between_two_utf16_units_is_read_with_a_replacement_character() {
    let cut = |value: serde_json::Value| {
        let body = value.to_string().replace("CUT", r"\ud83d");
        ResponseTemplate::new(200).set_body_raw(body, "application/json")
    };
    let mut first = summary(1);
    first["snippet"] = json!("Hi CUT");
    let (_server, client) = responding(cut(json!([first]))).await;
    let client = client.build().unwrap();
    let listed = client.conversations().await.unwrap();
    let swept = client.sweep().view(View::Open).next().await.unwrap().unwrap();
    let followed = client.changes().with_existing().next().await.unwrap().unwrap();
    let Change::New(followed) = followed else { panic!("{followed:?}") };
    for snippet in [&listed[0].snippet, &swept.snippet, &followed.snippet] {
        assert_eq!(snippet, "Hi \u{fffd}");
    }

    let at = "2026-03-01T09:30:00.000Z";
    let mut conversation = summary(1);
    for (field, value) in [
        ("riskReasons", json!([])),
        ("snoozedUntil", json!(null)),
        ("team", json!({"people": [], "agents": []})),
        (
            "timeline",
            json!([
                {"type": "note", "id": "not_1", "at": at, "author": "Anna", "body": "CUT and 🙂"},
                {"type": "event", "at": at, "actor": "Anna", "event": "tags", "data": {"added": ["CUT"]}},
                {"type": "poll", "question": "CUT"},
            ]),
        ),
    ] {
        conversation[field] = value;
    }
    let (_server, client) = responding(cut(conversation)).await;
    let client = client.build().unwrap();
    let read = client.conversation(&conversation_id()).get().await.unwrap();
    let [note, event, TimelineItem::Unknown(poll)] = &read.timeline[..] else { panic!("{read:?}") };
    assert_eq!(note.as_note().unwrap().body, "\u{fffd} and 🙂");
    assert_eq!(event.as_event().unwrap().data.get("added").unwrap()[0], "\u{fffd}");
    assert_eq!(poll.get("question").unwrap(), "\u{fffd}");
    let raw: serde_json::Value = client.raw(http::Method::GET, "/x").await.unwrap().json().unwrap();
    assert_eq!(raw["timeline"][2]["question"], "\u{fffd}");
}

#[tokio::test]
async fn a_text_that_was_cut_hides_neither_another_fault_nor_the_services_sentence() {
    let body = r#"[{"id":"tag_1","name":"\ud83d","count":1},{"id":"tag_2","name":"b","count":"many"}]"#;
    let error = error_of(ResponseTemplate::new(200).set_body_string(body)).await;
    assert_eq!(error.json_path(), Some("[1].count"));
    let refused = r#"{"error":"name: \ud83d is not allowed"}"#;
    let error = error_of(ResponseTemplate::new(400).set_body_string(refused)).await;
    assert_eq!(error.problems().unwrap().iter().next().unwrap().field, "name");
}

#[tokio::test]
async fn error_bodies_of_another_shape() {
    let bodies =
        ["<html>Bad gateway</html>", "{\"message\":\"no\"}", "{\"error\":{\"code\":1}}", "[]", "null", ""];
    for body in bodies {
        let error = error_of(ResponseTemplate::new(404).set_body_string(body)).await;
        assert!(error.is_not_found(), "the status counts");
        assert_eq!(error.message(), None);
        assert_eq!(error.excerpt().unwrap_or(""), body);
        assert_eq!(error.certainty(), Certainty::Rejected);
    }
}

#[tokio::test]
async fn the_services_sentence_its_problems_and_the_missing_scope_are_data() {
    let sentence = |status, text: &str| {
        ResponseTemplate::new(status)
            .set_body_json(serde_json::json!({ "error": text }))
            .insert_header("x-id", "7")
    };
    let error = error_of(sentence(400, "q: too long; limit: must be at most 100")).await;
    let fields: Vec<_> = error.problems().unwrap().iter().map(|problem| problem.field.as_str()).collect();
    assert!(error.is_invalid_input());
    assert_eq!(fields, ["q", "limit"]);
    assert_eq!(error.headers().unwrap()["x-id"], "7");

    let error = error_of(sentence(403, "This key needs the `read` scope.")).await;
    assert_eq!(error.scope().unwrap().as_str(), "read");
    assert_eq!(error.message(), Some("This key needs the `read` scope."));

    let error = error_of(sentence(403, "The API is available on the Pro and Team plans.")).await;
    assert!(error.is_forbidden() && error.scope().is_none());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let error = error_of(ResponseTemplate::new(status).insert_header("location", "/elsewhere")).await;
        assert_eq!(error.status().unwrap(), status);
        assert!(error.to_string().contains("redirect"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_that_a_passed_in_client_followed_is_noticed() {
    let (_server, client) = responding(|request: &Request| match request.url.path() {
        "/elsewhere" => ResponseTemplate::new(200).set_body_string("[]"),
        _ => ResponseTemplate::new(302).insert_header("location", "/elsewhere"),
    })
    .await;
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let client = client.http_client(http).build().unwrap();
    assert!(client.tags().await.unwrap_err().is_unreadable());
}

#[tokio::test]
async fn a_create_that_is_redirected_may_have_taken_effect() {
    let (service, thread) = Service::start_with_thread().await;
    service.next_posts([Outcome::Header(302, "location", "/login")]);
    let error = thread.reply("Hello").await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(service.count("POST"), 1);
}

#[tokio::test]
async fn a_body_without_end_is_read_up_to_the_limit() {
    for status in ["200 OK", "500 Oops"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await;
                    while stream.write_all(&[b'['; 65_536]).await.is_ok() {}
                });
            }
        });
        let client = Client::builder(base_url, key()).max_response_bytes(1024 * 1024);
        let client = client.retry(RetryPolicy::never()).build().unwrap();
        let error = client.tags().await.unwrap_err();
        assert_eq!(error.excerpt().unwrap().len(), 200);
        if status.starts_with("200") {
            assert!(error.to_string().contains("larger than 1048576 bytes"), "{error}");
        } else {
            assert!(error.is_server_error());
        }
    }
}

#[tokio::test]
async fn deeply_nested_json_does_not_overflow_the_stack() {
    let body = "[".repeat(100_000);
    let (_server, client) = responding(ResponseTemplate::new(200).set_body_string(body)).await;
    let client = client.build().unwrap();
    assert!(client.tags().await.unwrap_err().is_unreadable());
    assert!(client.raw(http::Method::GET, "/tags").await.unwrap().json::<serde_json::Value>().is_err());
}
