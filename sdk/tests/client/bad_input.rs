//! A wrong key, URL, id or limit is an error before any request.

use crate::support::{Service, conversation_id, key};
use shared_inbox::input::DocumentItem;
use shared_inbox::{ApiKey, Certainty, Client, InvalidApiKey, View};

#[test]
fn keys_of_every_form_are_accepted_and_others_are_not() {
    let body = "Ab3".repeat(16);
    for prefix in ["rk_live_", "rk_test_", "rk_"] {
        let key = ApiKey::parse(format!("{prefix}{body}")).unwrap();
        assert_eq!(key.is_test(), prefix == "rk_test_");
        assert!(!format!("{key:?}").contains(&body));
    }
    for (text, error) in [
        (String::new(), InvalidApiKey::Empty),
        (body.clone(), InvalidApiKey::Prefix),
        (format!("sk_live_{body}"), InvalidApiKey::Prefix),
        (format!("rk_live_{}", &body[1..]), InvalidApiKey::Body),
        (format!("rk_live_{body}x"), InvalidApiKey::Body),
        (format!("rk_live_{body}\n"), InvalidApiKey::Body),
        (format!("rk_live_{}é", &body[2..]), InvalidApiKey::Body),
        (format!("rk_{}_{}", &body[..24], &body[..23]), InvalidApiKey::Body),
    ] {
        assert_eq!(ApiKey::parse(text.clone()).unwrap_err(), error, "{text}");
        assert!(Client::builder("https://inbox.example/api/v1", text).build().unwrap_err().is_config());
    }
}

#[test]
fn a_rate_limit_that_leaves_nothing_for_a_read_back_is_refused() {
    for limit in [0, 1] {
        let error =
            Client::builder("https://inbox.example/api/v1", key()).rate_limit(limit).build().unwrap_err();
        assert!(error.is_config() && error.to_string().contains("at least 2"), "{error}");
    }
    for limit in [2, u32::MAX] {
        Client::builder("https://inbox.example/api/v1", key()).rate_limit(limit).build().unwrap();
    }
}

#[test]
fn base_urls_are_checked() {
    let build = |url: &str| Client::builder(url, key()).build();
    for good in [
        "https://inbox.example/api/v1",
        "https://inbox.example/api/v1/",
        "https://inbox.example:8443/some/prefix/api/v1",
        "http://127.0.0.1:4010/api/v1",
        "http://127.8.9.1/api/v1",
        "http://[::1]:4010/api/v1",
        "http://localhost:4010/api/v1",
        "http://mock.localhost/api/v1",
    ] {
        let client = build(good).unwrap_or_else(|error| panic!("{good}: {error}"));
        assert_eq!(client.base_url(), good.trim_end_matches('/'));
    }
    for bad in [
        "",
        "inbox.example/api/v1",
        "ftp://inbox.example/api/v1",
        "https://inbox.example",
        "https://inbox.example/api/v2",
        "https://api/v1",
        "https:///inbox.example/api/v1",
        "https:/inbox.example/api/v1",
        "https://inbox.exa\nmple/api/v1",
        "https://inbox.example/xapi/v1",
        "https://user:secret@inbox.example/api/v1",
        "https://inbox.example/api/v1?key=1",
        "https://inbox.example/api/v1#top",
        "http://inbox.example/api/v1",
        "http://localhost.inbox.example/api/v1",
        "http://127.0.0.1.inbox.example/api/v1",
        "http://10.0.0.7/api/v1",
    ] {
        let error = build(bad).unwrap_err();
        assert!(error.is_config(), "{bad}");
        assert_eq!(error.certainty(), Certainty::NotSent);
        assert!(error.to_string().starts_with("base URL: "), "{error}");
    }
    assert!(Client::builder("http://mock:4010/api/v1", key()).allow_plain_http().build().is_ok());
    let bad_agent = Client::builder("https://inbox.example/api/v1", key()).user_agent("a\nb").build();
    assert!(bad_agent.unwrap_err().to_string().starts_with("user agent: "));
}

#[tokio::test]
async fn every_limit_is_checked_before_sending_all_problems_at_once() {
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    let label = "l".repeat(121);
    let errors = [
        client.conversations().limit(101).search("x".repeat(201)).await.unwrap_err(),
        client.conversations().view(View::All).await.unwrap_err(),
        client.documents().limit(0).await.unwrap_err(),
        thread.add_note("").await.unwrap_err(),
        thread.add_note("é".repeat(10_001)).await.unwrap_err(),
        thread.reply("x".repeat(50_001)).summary("s".repeat(501)).await.unwrap_err(),
        thread.request_documents([]).message("m".repeat(5_001)).await.unwrap_err(),
        thread.request_documents([DocumentItem::new(label)]).and_send().await.unwrap_err(),
        thread.edit_tags().add("").remove("t".repeat(41)).await.unwrap_err(),
        thread.set_status("snoozed".into()).await.unwrap_err(),
        client.sandbox_inbound("kim@example.com", "Hello").await.unwrap_err(),
    ];
    for error in &errors {
        assert!(error.is_invalid_input() && error.problems().is_some(), "{error}");
        assert_eq!((error.certainty(), error.attempts()), (Certainty::NotSent, 0));
    }
    let fields: Vec<_> = errors[0].problems().unwrap().iter().map(|problem| &*problem.field).collect();
    assert_eq!(fields, ["q", "limit"], "all problems at once");
    assert!(errors[5].to_string().starts_with("POST /conversations/{id}/replies: body: "), "{}", errors[5]);
    assert!(service.requests().is_empty(), "a bad call costs no request");
    thread.add_note("é".repeat(10_000)).await.unwrap();
}

#[tokio::test]
async fn a_raw_path_stays_below_the_base_url() {
    let service = Service::start().await;
    let client = service.client();
    for bad in ["me", "", "//elsewhere.example/x", "/../v2/me", "/me?x=1", "/me#x", "/%2e%2e/me", "/a b"] {
        client.raw(http::Method::GET, bad).await.expect_err(bad);
    }
    let requests = service.requests();
    assert!(requests.iter().all(|request| request.starts_with("GET //")), "{requests:?}");
}
