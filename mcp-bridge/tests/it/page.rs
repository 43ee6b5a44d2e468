//! The bridge's own page: what it shows, whom it answers, and what its yes is worth. In a real browser too.

use std::{fs, path::Path, sync::atomic::Ordering, time::Duration};

use reqwest::{RequestBuilder, Response, StatusCode, header::HeaderMap, redirect::Policy};
use rmcp::model::{CallToolResponse, CallToolResult, ElicitRequestParams, InputRequest};
use serde_json::{Value, json};
use shared_inbox_tests::peers;

#[cfg(unix)]
use crate::browser::opener;
use crate::desk::{
    Client, Desk, ERAS, Era, Mails, Newer, Older, Person, Says, connect, is_error, params, text, until,
};

const BODY: &str = "Hello Kim,\n\n<b>it</b> left today: https://shop.example/t?a=1&b=2";

fn reply(desk: &Desk) -> Value {
    json!({ "id": desk.conversation, "body": BODY, "send": true })
}

/// What a browser keeps of the page.
struct Window {
    http: reqwest::Client,
    url: String,
    origin: String,
    cookie: String,
    token: String,
    shown: String,
    headers: HeaderMap,
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).no_proxy().build().unwrap()
}

impl Window {
    async fn open(url: &str) -> Self {
        let page = http().get(url).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        let headers = page.headers().clone();
        let cookie = headers["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let shown = page.text().await.unwrap();
        let token =
            shown.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let origin = url.rsplit_once('/').unwrap().0.to_owned();
        Self { http: http(), url: url.to_owned(), origin, cookie, token, shown, headers }
    }

    /// The form as the browser sends it.
    fn form(&self, answer: &str) -> RequestBuilder {
        let body = format!("token={}&answer={answer}", self.token);
        self.http
            .post(&self.url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", &self.origin)
            .header("cookie", &self.cookie)
            .body(body)
    }

    async fn press(&self, answer: &str) -> StatusCode {
        self.form(answer).send().await.unwrap().status()
    }

    /// The page as it is now, in the same window.
    async fn again(&self) -> String {
        let request = self.http.get(&self.url).header("cookie", &self.cookie);
        request.send().await.unwrap().text().await.unwrap()
    }
}

/// A call that asks on the page, and the page's address.
async fn asked(desk: &Desk, client: &Client, person: &Person, era: Era) -> (Option<String>, String) {
    match era {
        Older => {
            until(async || person.questions().len() == 1).await;
            (None, person.questions()[0].clone())
        }
        Newer => link(client.service.call_tool_once(params("reply", reply(desk))).await.unwrap()),
    }
}

/// The handle and the address of a question in the newer protocol.
pub(crate) fn link(response: CallToolResponse) -> (Option<String>, String) {
    let CallToolResponse::InputRequired(question) = response else {
        panic!("expected a question, got {response:?}")
    };
    let Some(InputRequest::Elicitation(asked)) = question.input_requests.unwrap().remove("consent") else {
        panic!("a question")
    };
    let ElicitRequestParams::UrlElicitationParams { url, .. } = asked.params else { panic!("a link") };
    (question.request_state, url)
}

/// Makes the call, lets the person act on the page, and gives the result.
async fn with_page(desk: &Desk, person: &Person, era: Era, act: impl AsyncFnOnce(&str)) -> CallToolResult {
    let client = desk.sit_down_inside(person, era, &[]).await;
    match era {
        Older => {
            let acts = async {
                let (_, url) = asked(desk, &client, person, era).await;
                act(&url).await;
            };
            tokio::join!(client.call("reply", reply(desk)), acts).0
        }
        Newer => {
            let (state, url) = asked(desk, &client, person, era).await;
            act(&url).await;
            let accepted = [("consent".to_owned(), json!({ "action": "accept" }))];
            let call = params("reply", reply(desk)).with_request_state(state.unwrap());
            match client.service.call_tool_once(call.with_input_responses(accepted.into())).await.unwrap() {
                CallToolResponse::Complete(result) => result,
                other => panic!("expected a result, got {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_can_show_links_shows_the_page_and_its_yes_sends() {
    for era in ERAS {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(Says::Yes);
        let result = with_page(&desk, &person, era, async |url| {
            let window = Window::open(url).await;
            for shown in ["kim@customer.example", "&lt;b&gt;it&lt;/b&gt; left today", "Order 1042"] {
                assert!(window.shown.contains(shown), "{shown} in {}", window.shown);
            }
            person.clock.forward(Duration::from_secs(2));
            assert_eq!(window.press("send").await, StatusCode::SEE_OTHER);
            let end = window.again().await;
            assert!(end.contains("goes out at") && !end.contains("left today"), "{end}");
        })
        .await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        let sent = serde_json::to_string(&result).unwrap();
        assert!(!sent.contains("127.0.0.1"), "{era:?}: the model does not learn the address: {sent}");
        assert_eq!(desk.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] }, "{era:?}");
    }
}

#[tokio::test]
async fn a_no_on_the_page_makes_nothing_and_holds() {
    for era in ERAS {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(Says::Yes);
        let result = with_page(&desk, &person, era, async |url| {
            let window = Window::open(url).await;
            person.clock.forward(Duration::from_secs(2));
            assert_eq!(window.press("refuse").await, StatusCode::SEE_OTHER);
            assert!(window.again().await.contains("You said no"));
            assert_eq!(window.press("send").await, StatusCode::GONE, "it is answered once");
        })
        .await;
        assert!(is_error(&result) && text(&result).contains("declined"), "{era:?}: {}", text(&result));
        assert_eq!(desk.mails().await, Mails::none(), "{era:?}");
    }
}

#[tokio::test]
async fn an_answer_on_the_page_within_a_second_is_nobodys() {
    for answer in ["send", "refuse"] {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(Says::Yes);
        let result = with_page(&desk, &person, Newer, async |url| {
            let window = Window::open(url).await;
            person.clock.forward(Duration::from_millis(900));
            window.press(answer).await;
        })
        .await;
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{}", text(&result));
        assert!(text(&result).contains("less than a second"), "{}", text(&result));
    }
}

#[tokio::test]
async fn a_link_that_is_not_opened_sends_nothing() {
    for (era, action) in [(Older, Says::No), (Older, Says::Nothing)] {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(action);
        let client = desk.sit_down_inside(&person, era, &[]).await;
        let result = client.call("reply", reply(&desk)).await;
        assert!(is_error(&result), "{action:?}: {}", text(&result));
        let page = http().get(&person.questions()[0]).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("othing was sent") && !page.contains("left today"), "{page}");
        assert_eq!(desk.mails().await, Mails::none());
    }
    for action in ["decline", "cancel"] {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(Says::Yes);
        let client = desk.sit_down_inside(&person, Newer, &[]).await;
        let (state, url) = asked(&desk, &client, &person, Newer).await;
        person.clock.forward(Duration::from_secs(2));
        let call = params("reply", reply(&desk)).with_request_state(state.unwrap());
        let call = call.with_input_responses([("consent".to_owned(), json!({ "action": action }))].into());
        match client.service.call_tool_once(call).await.unwrap() {
            CallToolResponse::Complete(result) => assert!(is_error(&result), "{action}: {}", text(&result)),
            other => panic!("{other:?}"),
        }
        assert!(
            http().get(&url).send().await.unwrap().text().await.unwrap().contains("taken back"),
            "{action}"
        );
        assert_eq!(desk.mails().await, Mails::none(), "{action}");
    }
}

#[tokio::test]
async fn a_cancelled_call_withdraws_the_page() {
    let desk = Desk::new().await;
    let person = Person::who_follows_links(Says::Yes);
    let client = desk.sit_down_inside(&person, Older, &[]).await;
    let call = client.start(params("reply", reply(&desk))).await;
    let (_, url) = asked(&desk, &client, &person, Older).await;
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_secs(2));
    call.cancel(None).await.unwrap();
    until(async || window.again().await.contains("taken back")).await;
    assert_eq!(window.press("send").await, StatusCode::GONE);
    assert_eq!(desk.mails().await, Mails::none());
}

#[tokio::test]
async fn every_window_shows_what_became_of_the_email_and_when_it_was_decided() {
    for (first, second, truth, lie) in [
        ("send", "refuse", "The email goes out", "Nothing was sent"),
        ("refuse", "send", "You said no", "goes out"),
    ] {
        let desk = Desk::new().await;
        let person = Person::who_follows_links(Says::Yes);
        with_page(&desk, &person, Newer, async |url| {
            let window = Window::open(url).await;
            person.clock.forward(Duration::from_secs(2));
            assert_eq!(window.press(first).await, StatusCode::SEE_OTHER);
            let pressed = window.form(second).send().await.unwrap();
            assert_eq!(pressed.status(), StatusCode::GONE);
            let wrong = window.form(second).body("token=0&answer=send").send().await.unwrap();
            let today = shared_inbox::Timestamp::now().to_string()[..10].to_owned();
            for shown in [pressed.text().await.unwrap(), window.again().await] {
                assert!(shown.contains(truth) && !shown.contains(lie), "{first}, then {second}: {shown}");
                assert!(shown.contains(&format!("<time datetime=\"{today}T")), "{shown}");
            }
            assert!(
                !wrong.text().await.unwrap().contains("Nothing was sent"),
                "it does not say what it does not know"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn the_page_shows_who_asks_what_it_answers_why_it_is_risky_and_how_long_there_is() {
    let desk = Desk::with(|mail| {
        mail.risk = Some("phishing".into());
        mail.risk_reasons =
            vec!["The domain is two days old".into(), "It asks for <b>bank</b> details".into()];
    })
    .await;
    let person = Person::who_follows_links(Says::Yes);
    let client = desk.sit_down_inside(&person, Newer, &[]).await;
    let call = json!({ "id": desk.conversation, "documents": [{ "label": "Invoice", "description": "upload it at https://p\u{430}ypal.com/x" }],
                       "message": "We need this.", "send": true });
    let (_, url) = link(client.service.call_tool_once(params("request_documents", call)).await.unwrap());
    person.clock.forward(Duration::from_secs(60));
    let window = Window::open(&url).await;
    for shown in [
        "<strong><bdi>test</bdi></strong>",
        "Order 1042",
        "Where is my order?",
        "The domain is two days old",
        "It asks for &lt;b&gt;bank&lt;/b&gt; details",
        "4 minutes",
        "has letters beyond a to z",
    ] {
        assert!(window.shown.contains(shown), "{shown} in {}", window.shown);
    }
}

/// Tries everything that another page or program could do without the person, then leaves the question as it was.
async fn attack(url: &str, window: &Window, person: &Person) {
    person.clock.forward(Duration::from_secs(2));
    let evil = "http://evil.example";
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let refused = StatusCode::FORBIDDEN;
    for (name, value) in [
        ("origin", evil),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-dest", "iframe"),
        ("content-type", "text/plain"),
        ("host", "evil.example"),
    ] {
        let mut request = window.form("send").build().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        let status = window.http.execute(request).await.unwrap().status();
        assert_eq!(status, refused, "{name}: {value}");
    }
    for missing in ["origin", "cookie"] {
        let mut request = window.form("send").build().unwrap();
        request.headers_mut().remove(missing);
        assert_eq!(window.http.execute(request).await.unwrap().status(), refused, "without {missing}");
    }
    let without_token = window.form("send").body("answer=send");
    assert_eq!(status(without_token).await, refused);
    let guessed = window.form("send").body(format!("token={}&answer=send", "0".repeat(32)));
    assert_eq!(status(guessed).await, refused);
    let unsure = window.form("send").body(format!("token={}&answer=maybe", window.token));
    assert_eq!(status(unsure).await, refused);
    let large = window.form("send").body("x".repeat(1 << 20)).send().await;
    assert!(large.map_or(true, |answer| answer.status() == StatusCode::BAD_REQUEST));
    for (name, value) in
        [("host", "localhost"), ("origin", evil), ("sec-fetch-dest", "iframe"), ("sec-purpose", "prefetch")]
    {
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
    let desk = Desk::new().await;
    let person = Person::who_follows_links(Says::Yes);
    let result = with_page(&desk, &person, Newer, async |url| {
        let window = Window::open(url).await;
        attack(url, &window, &person).await;
        assert_eq!(window.press("refuse").await, StatusCode::SEE_OTHER, "the question is still open");
    })
    .await;
    assert!(text(&result).contains("declined"), "{}", text(&result));
    assert_eq!(desk.mails().await, Mails::none());
}

#[tokio::test]
async fn the_page_loads_runs_and_frames_nothing() {
    let desk = Desk::new().await;
    let person = Person::who_follows_links(Says::Yes);
    let client = desk.sit_down_inside(&person, Newer, &[]).await;
    let (_, url) = asked(&desk, &client, &person, Newer).await;
    let window = Window::open(&url).await;
    let policy = window.headers["content-security-policy"].to_str().unwrap();
    for rule in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(window.headers["x-frame-options"], "DENY");
    assert_eq!(window.headers["cache-control"], "no-store");
    assert!(!window.shown.contains("<script") && !window.shown.contains("<b>"), "{}", window.shown);
}

#[tokio::test]
async fn a_page_that_nobody_answers_ends_after_five_minutes() {
    let desk = Desk::new().await;
    let person = Person::who_follows_links(Says::Yes);
    let client = desk.sit_down_inside(&person, Newer, &[]).await;
    let (_, url) = asked(&desk, &client, &person, Newer).await;
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_secs(300));
    until(async || window.again().await.contains("Nobody answered")).await;
    assert_eq!(window.press("send").await, StatusCode::GONE);
    assert_eq!(desk.mails().await, Mails::none());
}

/// A person at a real browser, which the bridge opens: what they see, and the call's result.
#[cfg(unix)]
async fn at_a_browser(
    desk: &Desk,
    browser: &peers::Browser,
    call: Value,
    answer: &str,
    shots: &Path,
) -> (CallToolResult, Value) {
    let folder = tempfile::tempdir().unwrap();
    let opened = opener(folder.path(), "");
    let person = Person::who(Says::CannotBeAsked).at("claude-ai");
    let client = in_browser(desk, folder.path(), &person).await;
    let pressed = async {
        until(async || opened.exists()).await;
        let file = format!("file://{}", fs::read_to_string(&opened).unwrap().trim());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/page.mjs");
        let mut command = tokio::process::Command::from(browser.script(&script));
        command.args([&file, answer]).arg(shots).kill_on_drop(true);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{answer}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    tokio::join!(client.call("reply", call), pressed)
}

#[tokio::test]
#[cfg(unix)]
#[ignore = "needs a browser"]
async fn the_browser_asks_where_the_client_cannot_and_a_person_presses_the_button() {
    let Some(browser) = tokio::task::spawn_blocking(peers::browser).await.unwrap() else { return };
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for answer in ["send", "refuse"] {
        let desk = Desk::new().await;
        let (result, seen) = at_a_browser(&desk, &browser, reply(&desk), answer, shots).await;
        assert_eq!(seen["text"], BODY, "{answer}: the mail is shown as text");
        assert_eq!(seen["errors"], json!([]), "{answer}");
        assert_eq!(seen["axe"], json!([]), "{answer}: the page is for everyone");
        assert_eq!(
            seen["attacks"],
            json!({ "frame": "refused", "fetch": "refused", "form": "refused" }),
            "{answer}"
        );
        let (end, other) = (seen["end"].as_str().unwrap(), seen["other"].as_str().unwrap());
        let mails = desk.mails().await;
        let (truth, lie) = if answer == "send" {
            assert!(!is_error(&result), "{}", text(&result));
            assert_eq!(mails, Mails { drafts: vec![], sent: vec![BODY.into()] });
            ("goes out at", "Nothing was sent")
        } else {
            assert!(is_error(&result) && text(&result).contains("declined"), "{}", text(&result));
            assert_eq!(mails, Mails::none());
            ("You said no", "goes out")
        };
        for shown in [end, other] {
            assert!(shown.contains(truth) && shown.contains("Decided at") && !shown.contains(lie), "{shown}");
        }
    }
}

#[tokio::test]
#[cfg(unix)]
async fn the_pictures_of_the_page_are_there_and_made_by_a_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pictures = root.join("docs/consent");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let Some(browser) = tokio::task::spawn_blocking(peers::browser).await.unwrap() else { return };
        fs::create_dir_all(&pictures).unwrap();
        let shots = tempfile::tempdir().unwrap();
        let desk = Desk::with(|mail| {
            mail.text = "Hello,\n\nwhere is my order? It should have been here on Monday.\n\nKim".into();
            mail.risk = Some("phishing".into());
            mail.risk_reasons = vec!["The sender's domain is two days old".into()];
        })
        .await;
        let body = "Hello Kim,\n\nyour order left us this morning and will be with you on Thursday.\n\nBest wishes\nAnna";
        let call = json!({ "id": desk.conversation, "body": body, "send": true });
        at_a_browser(&desk, &browser, call, "send", shots.path()).await;
        for (shot, name) in
            [("light", "question-light"), ("dark", "question-dark"), ("send", "decided-light")]
        {
            let from = shots.path().join(format!("page-{shot}.png"));
            fs::copy(from, pictures.join(format!("{name}.png"))).unwrap();
        }
    }
    for page in ["docs/safety.md", "mcp-bridge/README.md"] {
        let shown = fs::read_to_string(root.join(page)).unwrap();
        let names: Vec<_> =
            shown.split("consent/").skip(1).filter_map(|rest| rest.split(".png").next()).collect();
        assert!(!names.is_empty(), "{page} shows the page");
        for name in names {
            let picture = fs::read(pictures.join(format!("{name}.png"))).unwrap();
            assert!(picture.starts_with(b"\x89PNG") && picture.len() < 200_000, "{name}: {}", picture.len());
        }
    }
}

#[tokio::test]
#[cfg(unix)]
async fn an_opener_that_fails_late_makes_a_draft() {
    let (folder, desk) = (tempfile::tempdir().unwrap(), Desk::new().await);
    opener(folder.path(), "sleep 2; exit 3");
    let client = in_browser(&desk, folder.path(), &Person::who(Says::CannotBeAsked)).await;
    let result = client.call("reply", reply(&desk)).await;
    assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{}", text(&result));
    assert!(text(&result).contains("no browser could be opened"), "{}", text(&result));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "what was to be opened is gone");
}

#[cfg(unix)]
async fn in_browser(desk: &Desk, folder: &Path, person: &Person) -> Client {
    let mut command = desk.program();
    let path = std::env::join_paths([folder, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    command.arg("--ask=browser").env("PATH", path).env("HOME", folder);
    connect(command, person, Older).await
}

#[tokio::test]
#[cfg(unix)]
async fn twelve_cancelled_calls_open_three_windows_and_the_client_is_told_to_look_there() {
    let (folder, desk) = (tempfile::tempdir().unwrap(), Desk::new().await);
    let opened = opener(folder.path(), "");
    let windows = || fs::read_to_string(&opened).unwrap_or_default().lines().count();
    let person = Person::who(Says::CannotBeAsked);
    let client = in_browser(&desk, folder.path(), &person).await;
    let call = |i: usize| json!({ "id": desk.conversation, "body": format!("Variant {i}"), "send": true });
    for i in 0..3 {
        let call = client.start(params("reply", call(i))).await;
        until(async || windows() == i + 1).await;
        if i == 0 {
            until(async || {
                person.progress_messages().iter().any(|said| said.contains("look at your browser"))
            })
            .await;
        }
        call.cancel(None).await.unwrap();
    }
    for i in 3..12 {
        let result = client.call("reply", call(i)).await;
        assert!(is_error(&result) && text(&result).contains("browser was opened"), "{}", text(&result));
    }
    assert_eq!(windows(), 3);
    assert_eq!(desk.mails().await, Mails::none());
}

#[tokio::test]
async fn without_a_browser_there_is_a_draft() {
    let desk = Desk::new().await;
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = desk.program();
    command.arg("--ask=browser").env("PATH", nowhere.path());
    let person = Person::who(Says::Yes);
    let client = connect(command, &person, Older).await;
    let result = client.call("reply", reply(&desk)).await;
    assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{}", text(&result));
    assert!(text(&result).contains("no browser could be opened"), "{}", text(&result));
    assert_eq!(person.withdrawn.load(Ordering::SeqCst) + person.questions().len(), 0);
}
