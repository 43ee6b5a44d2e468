//! Answers that are not the service's: a clear error with the status and a bounded excerpt, no panic, no unbounded read.

use crate::support::{Outcome, Service, conversation_id, key};
use shared_inbox::{Certainty, Client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

async fn answering(response: ResponseTemplate) -> (MockServer, Client) {
    let server = MockServer::start().await;
    Mock::given(method("GET")).and(path("/api/v1/tags")).respond_with(response).mount(&server).await;
    let client = Client::builder(format!("{}/api/v1", server.uri()), key()).build().unwrap();
    (server, client)
}

#[tokio::test]
async fn html_instead_of_json() {
    let html = format!("<html>{}</html>", "<p>Welcome</p>".repeat(1_000));
    let (_server, client) = answering(ResponseTemplate::new(200).set_body_raw(html, "text/html")).await;
    let error = client.tags().await.unwrap_err();
    assert!(error.is_unreadable());
    assert_eq!(error.status().unwrap(), 200);
    assert!(
        error.excerpt().unwrap().starts_with("<html>") && error.excerpt().unwrap().chars().count() <= 200
    );
    assert_eq!(error.to_string(), "GET /tags: the response (200) is not the JSON that was expected");
}

#[tokio::test]
async fn json_that_ends_too_early_or_goes_on_too_long() {
    for body in ["[{\"id\":\"tag_1\",\"na", "", "[] []", "[]x"] {
        let (_server, client) = answering(ResponseTemplate::new(200).set_body_string(body)).await;
        let error = client.tags().await.unwrap_err();
        assert!(error.is_unreadable(), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_field_that_does_not_fit_is_named_by_its_path_and_its_value_is_not_shown() {
    let body = r#"[{"id":"tag_1","name":"a","count":1},{"id":"tag_2","name":"b","count":"kim@example.com"}]"#;
    let (_server, client) = answering(ResponseTemplate::new(200).set_body_string(body)).await;
    let error = client.tags().await.unwrap_err();
    assert_eq!(error.json_path(), Some("[1].count"));
    assert!(error.to_string().contains("`[1].count`"), "{error}");
    assert!(!format!("{error} {error:?}").contains("kim@"), "an address in the answer stays out of logs");
    assert!(error.detail().unwrap().contains("kim@") && error.excerpt().unwrap().contains("tag_1"));
}

#[tokio::test]
async fn error_bodies_of_another_shape() {
    let bodies =
        ["<html>Bad gateway</html>", "{\"message\":\"no\"}", "{\"error\":{\"code\":1}}", "[]", "null", ""];
    for body in bodies {
        let (_server, client) = answering(ResponseTemplate::new(404).set_body_string(body)).await;
        let error = client.tags().await.unwrap_err();
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
    let (_server, client) = answering(sentence(400, "q: too long; limit: must be at most 100")).await;
    let error = client.tags().await.unwrap_err();
    let fields: Vec<_> = error.problems().unwrap().iter().map(|problem| problem.field.as_str()).collect();
    assert!(error.is_invalid_input());
    assert_eq!(fields, ["q", "limit"]);
    assert_eq!(error.headers().unwrap()["x-id"], "7");

    let (_server, client) = answering(sentence(403, "This key needs the `read` scope.")).await;
    let error = client.tags().await.unwrap_err();
    assert_eq!(error.scope().unwrap().as_str(), "read");
    assert_eq!(error.message(), Some("This key needs the `read` scope."));

    let (_server, client) = answering(sentence(403, "The API is available on the Pro and Team plans.")).await;
    let error = client.tags().await.unwrap_err();
    assert!(error.is_forbidden() && error.scope().is_none());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let redirect = ResponseTemplate::new(status).insert_header("location", "/elsewhere");
        let (server, client) = answering(redirect).await;
        let error = client.tags().await.unwrap_err();
        assert_eq!(error.status().unwrap(), status);
        assert!(error.to_string().contains("redirect"), "{error}");
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_that_a_passed_in_client_followed_is_noticed() {
    let server = MockServer::start().await;
    let redirect = ResponseTemplate::new(302).insert_header("location", "/elsewhere");
    Mock::given(path("/api/v1/tags")).respond_with(redirect).mount(&server).await;
    Mock::given(path("/elsewhere"))
        .respond_with(ResponseTemplate::new(200).set_body_string("[]"))
        .mount(&server)
        .await;
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let client =
        Client::builder(format!("{}/api/v1", server.uri()), key()).http_client(http).build().unwrap();
    assert!(client.tags().await.unwrap_err().is_unreadable());
}

#[tokio::test]
async fn a_create_that_is_redirected_may_have_taken_effect() {
    let service = Service::start().await;
    service.next_posts([Outcome::Header(302, "location", "/login")]);
    let error = service.client().conversation(&conversation_id()).reply("Hello").await.unwrap_err();
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
        let client = Client::builder(base_url, key())
            .max_response_bytes(1024 * 1024)
            .retry(shared_inbox::retry::RetryPolicy::never())
            .build()
            .unwrap();
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
    let (_server, client) = answering(ResponseTemplate::new(200).set_body_string(body)).await;
    assert!(client.tags().await.unwrap_err().is_unreadable());
    assert!(client.raw(http::Method::GET, "/tags").await.unwrap().json::<serde_json::Value>().is_err());
}
