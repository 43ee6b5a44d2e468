//! The bridge's own page: what it shows, whom it answers, and what its yes is worth.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode, header::HeaderMap};
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::{
    fixture::{
        Answer, ERAS, Era, Fixture, Mails, Newer, Older, Person, assert_refused, assert_says, in_process,
        is_error, params, text, until,
    },
    window::{BODY, Window, ask_on_page, http, link},
};

/// Makes the call, lets the person act on the page, and gives the result.
async fn with_page(person: &Person, era: Era, act: impl AsyncFnOnce(&str)) -> (Fixture, CallToolResult) {
    let (fixture, person, client) = in_process(person.clone(), era, &[]).await;
    let call = params("reply", fixture.reply(BODY));
    let result = match era {
        Older => {
            let acts = async {
                until(async || person.questions().len() == 1).await;
                act(&person.questions()[0]).await;
            };
            tokio::join!(client.call("reply", fixture.reply(BODY)), acts).0
        }
        Newer => {
            let (state, url) = link(client.service.call_tool_once(call.clone()).await.unwrap());
            act(&url).await;
            client.answer(call, &state.unwrap(), json!({ "action": "accept" })).await
        }
    };
    (fixture, result)
}

#[tokio::test]
async fn a_client_that_can_show_links_shows_the_page_and_its_yes_sends() {
    for era in ERAS {
        let person = Person::who_follows_links(Answer::Yes);
        let (fixture, result) = with_page(&person, era, async |url| {
            let window = Window::open(url).await;
            assert_says(
                &window.shown,
                &["kim@customer.example", "&lt;b&gt;it&lt;/b&gt; left today", "Order 1042"],
            );
            person.clock.forward(Duration::from_secs(2));
            assert_eq!(window.press("send").await, StatusCode::SEE_OTHER);
            let end = window.again().await;
            assert!(end.contains("goes out at") && !end.contains("left today"), "{end}");
        })
        .await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        let shown = serde_json::to_string(&result).unwrap();
        assert!(!shown.contains("127.0.0.1"), "{era:?}: the model does not learn the address: {shown}");
        assert_eq!(fixture.mails().await, Mails::sent(BODY), "{era:?}");
    }
}

#[tokio::test]
async fn a_link_that_is_not_opened_sends_nothing() {
    for action in [Answer::No, Answer::Nothing] {
        let (fixture, person, client) = in_process(Person::who_follows_links(action), Older, &[]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert!(is_error(&result), "{action:?}: {}", text(&result));
        let page = http().get(&person.questions()[0]).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("othing was sent") && !page.contains("left today"), "{page}");
        assert_eq!(fixture.mails().await, Mails::none());
    }
    for action in ["decline", "cancel"] {
        let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
        let call = params("reply", fixture.reply(BODY));
        let (state, url) = link(client.service.call_tool_once(call.clone()).await.unwrap());
        person.clock.forward(Duration::from_secs(2));
        let result = client.answer(call, &state.unwrap(), json!({ "action": action })).await;
        assert!(is_error(&result), "{action}: {}", text(&result));
        let page = http().get(&url).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("taken back"), "{action}: {page}");
        assert_eq!(fixture.mails().await, Mails::none(), "{action}");
    }
}

#[tokio::test]
async fn a_cancelled_call_withdraws_the_page() {
    let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Older, &[]).await;
    let call = client.start(params("reply", fixture.reply(BODY))).await;
    until(async || person.questions().len() == 1).await;
    let window = Window::open(&person.questions()[0]).await;
    person.clock.forward(Duration::from_secs(2));
    call.cancel(None).await.unwrap();
    until(async || window.again().await.contains("taken back")).await;
    assert_eq!(window.press("send").await, StatusCode::GONE);
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn a_page_is_answered_once_and_every_window_shows_what_became_of_the_email_and_when_it_was_decided() {
    let today = shared_inbox::Timestamp::now().to_string()[..10].to_owned();
    for (era, (first, second, truth, lie)) in ERAS.into_iter().flat_map(|era| {
        let sent = ("send", "refuse", "The email goes out", "Nothing was sent");
        [sent, ("refuse", "send", "You said no", "goes out")].map(|answers| (era, answers))
    }) {
        let person = Person::who_follows_links(Answer::Yes);
        let (fixture, result) = with_page(&person, era, async |url| {
            let window = Window::open(url).await;
            person.clock.forward(Duration::from_secs(2));
            assert_eq!(window.press(first).await, StatusCode::SEE_OTHER);
            let pressed = window.form(second).send().await.unwrap();
            assert_eq!(pressed.status(), StatusCode::GONE);
            let wrong = window.form(second).body("token=0&answer=send").send().await.unwrap();
            for shown in [pressed.text().await.unwrap(), window.again().await] {
                assert!(shown.contains(truth) && !shown.contains(lie), "{first}, then {second}: {shown}");
                assert!(shown.contains(&format!("<time datetime=\"{today}T")), "{shown}");
            }
            let wrong = wrong.text().await.unwrap();
            assert!(!wrong.contains("Nothing was sent"), "it does not say what it does not know: {wrong}");
        })
        .await;
        if first == "refuse" {
            assert_refused(&result, "declined");
            assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");
        }
    }
}

#[tokio::test]
async fn the_page_shows_who_asks_what_it_answers_why_it_is_risky_and_how_long_there_is() {
    let fixture = Fixture::with(|mail| {
        mail.risk = Some("phishing".into());
        mail.risk_reasons =
            vec!["The domain is two days old".into(), "It asks for <b>bank</b> details".into()];
    })
    .await;
    let person = Person::who_follows_links(Answer::Yes);
    let client = fixture.start_in_process(&person, Newer, &[]).await;
    let call = json!({ "id": fixture.conversation, "documents": [{ "label": "Invoice", "description": "upload it at https://p\u{430}ypal.com/x" }],
                       "message": "We need this.", "send": true });
    let (_, url) = link(client.service.call_tool_once(params("request_documents", call)).await.unwrap());
    person.clock.forward(Duration::from_secs(60));
    let window = Window::open(&url).await;
    assert_says(
        &window.shown,
        &[
            "<strong><bdi>test</bdi></strong>",
            "Order 1042",
            "Where is my order?",
            "The domain is two days old",
            "It asks for &lt;b&gt;bank&lt;/b&gt; details",
            "4 minutes",
            "has letters beyond a to z",
        ],
    );
}

/// Tries all that another page or program could do without the person, and leaves the question as it was.
async fn attack(url: &str, window: &Window, person: &Person) {
    person.clock.forward(Duration::from_secs(2));
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let refused = StatusCode::FORBIDDEN;
    let port = reqwest::Url::parse(url).unwrap().port().unwrap();
    let tampered = async |name: &str, change: &dyn Fn(&mut HeaderMap)| {
        let mut request = window.form("send").build().unwrap();
        change(request.headers_mut());
        assert_eq!(window.http.execute(request).await.unwrap().status(), refused, "{name}");
    };
    for (name, values) in [
        ("host", "evil.example 127.0.0.1 localhost:{port} evil.example:{port} 127.0.0.1.evil.example:{port}"),
        ("host", &format!("127.0.0.1:{}", port.wrapping_add(1))),
        ("origin", "http://evil.example null https://127.0.0.1:{port}"),
        ("sec-fetch-site", "cross-site same-site none"),
        ("sec-fetch-mode", "cors no-cors same-origin websocket"),
        ("sec-fetch-dest", "iframe frame object embed empty image"),
        ("content-type", "text/plain application/json multipart/form-data;boundary=x"),
    ] {
        for value in values.replace("{port}", &port.to_string()).split(' ') {
            let change = |headers: &mut HeaderMap| _ = headers.insert(name, value.parse().unwrap());
            tampered(&format!("{name}: {value}"), &change).await;
        }
    }
    let hosts = [format!("127.0.0.1:{port}"), "evil.example".to_owned()];
    tampered("two hosts", &|headers| {
        hosts.iter().for_each(|host| _ = headers.append("host", host.parse().unwrap()));
    })
    .await;
    for missing in ["origin", "cookie"] {
        tampered(missing, &|headers| _ = headers.remove(missing)).await;
    }
    let guessed = format!("token={}&answer=send", "0".repeat(32));
    let unsure = format!("token={}&answer=maybe", window.token);
    for body in ["answer=send", &guessed, &unsure] {
        assert_eq!(status(window.form("send").body(body.to_owned())).await, refused, "{body}");
    }
    let large = window.form("send").body("x".repeat(1 << 20)).send().await;
    assert!(large.map_or(true, |answer| answer.status() == StatusCode::BAD_REQUEST));
    for (name, value) in [
        ("host", "localhost"),
        ("origin", "http://evil.example"),
        ("sec-fetch-dest", "iframe"),
        ("sec-purpose", "prefetch"),
    ] {
        assert_eq!(status(http().get(url).header(name, value)).await, refused, "{name}: {value}");
    }
    assert_eq!(status(http().put(url)).await, refused);
    let stolen: Response = http().get(url).send().await.unwrap();
    assert_eq!(stolen.status(), refused, "the address alone is worth nothing once it was opened");
    assert!(!stolen.text().await.unwrap().contains("left today"));
    let (origin, _) = url.rsplit_once('/').unwrap();
    for path in ["", "favicon.ico", &"0".repeat(64)] {
        assert_eq!(status(http().get(format!("{origin}/{path}"))).await, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn nobody_but_the_window_that_opened_it_can_answer() {
    let person = Person::who_follows_links(Answer::Yes);
    let (fixture, result) = with_page(&person, Newer, async |url| {
        let window = Window::open(url).await;
        attack(url, &window, &person).await;
        assert_eq!(window.press("refuse").await, StatusCode::SEE_OTHER, "the question is still open");
    })
    .await;
    assert!(text(&result).contains("declined"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn the_page_loads_runs_and_frames_nothing() {
    let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
    let (_, window) = ask_on_page(&client, &person, params("reply", fixture.reply(BODY))).await;
    let policy = window.headers["content-security-policy"].to_str().unwrap();
    assert_says(
        policy,
        &["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"],
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(window.headers["x-frame-options"], "DENY");
    assert_eq!(window.headers["cache-control"], "no-store");
    assert!(!window.shown.contains("<script") && !window.shown.contains("<b>"), "{}", window.shown);
}

#[tokio::test]
async fn a_page_that_nobody_answers_ends_after_five_minutes() {
    let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
    let (_, window) = ask_on_page(&client, &person, params("reply", fixture.reply(BODY))).await;
    person.clock.forward(Duration::from_secs(300));
    until(async || window.again().await.contains("Nobody answered")).await;
    assert_eq!(window.press("send").await, StatusCode::GONE);
    assert_eq!(fixture.mails().await, Mails::none());
}
