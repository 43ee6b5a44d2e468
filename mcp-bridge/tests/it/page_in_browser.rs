//! The page in the person's browser: how it is opened, and what they see there.

use std::{fs, path::Path, time::Duration};

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule};
use shared_inbox_tests::peers;

use crate::{
    browser::{opened_file, opener, start_with_browser},
    fixture::{
        Answer, Fixture, Mails, Newer, Older, Person, assert_done, assert_refused, connect, params,
        structured, text, until,
    },
    page::{BODY, Window, link, reply},
};

/// A person at a real browser, which the bridge opens: what they see, and the call's result.
async fn at_a_browser(
    fixture: &Fixture,
    browser: &peers::Browser,
    call: Value,
    answer: &str,
    shots: &Path,
) -> (CallToolResult, Value) {
    let folder = tempfile::tempdir().unwrap();
    let opened = opener(folder.path(), "");
    let mut person = Person::who(Answer::CannotBeAsked);
    person.client = "claude-ai";
    let client = start_with_browser(fixture, folder.path(), &person).await;
    let pressed = async {
        let file = format!("file://{}", opened_file(&opened).await);
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
#[ignore = "needs a browser"]
async fn the_browser_asks_where_the_client_cannot_and_a_person_presses_the_button() {
    let Some(browser) = tokio::task::spawn_blocking(peers::browser).await.unwrap() else { return };
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for answer in ["send", "refuse"] {
        let fixture = Fixture::new().await;
        let (result, seen) = at_a_browser(&fixture, &browser, reply(&fixture), answer, shots).await;
        assert_eq!(seen["text"], BODY, "{answer}: the mail is shown as text");
        assert_eq!(seen["errors"], json!([]), "{answer}");
        assert_eq!(seen["axe"], json!([]), "{answer}: the page is for everyone");
        let attacks = json!({ "frame": "refused", "fetch": "refused", "form": "refused" });
        assert_eq!(seen["attacks"], attacks, "{answer}");
        let (end, other) = (seen["end"].as_str().unwrap(), seen["other"].as_str().unwrap());
        let mails = fixture.mails().await;
        let (truth, lie) = if answer == "send" {
            assert_done(&result);
            assert_eq!(mails, Mails::sent(BODY));
            ("goes out at", "Nothing was sent")
        } else {
            assert_refused(&result, "declined");
            assert_eq!(mails, Mails::none());
            ("You said no", "goes out")
        };
        for shown in [end, other] {
            assert!(shown.contains(truth) && shown.contains("Decided at") && !shown.contains(lie), "{shown}");
        }
    }
}

#[tokio::test]
async fn the_pictures_of_the_page_are_there_and_made_by_a_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pictures = root.join("docs/consent");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let Some(browser) = tokio::task::spawn_blocking(peers::browser).await.unwrap() else { return };
        fs::create_dir_all(&pictures).unwrap();
        let shots = tempfile::tempdir().unwrap();
        let fixture = Fixture::with(|mail| {
            mail.text = "Hello,\n\nwhere is my order? It should have been here on Monday.\n\nKim".into();
            mail.risk = Some("phishing".into());
            mail.risk_reasons = vec!["The sender's domain is two days old".into()];
        })
        .await;
        let body = "Hello Kim,\n\nyour order left us this morning and will be with you on Thursday.\n\nBest wishes\nAnna";
        let call = json!({ "id": fixture.conversation, "body": body, "send": true });
        at_a_browser(&fixture, &browser, call, "send", shots.path()).await;
        let keep = |shot: &str, name: &str| {
            let from = shots.path().join(format!("page-{shot}.png"));
            fs::copy(from, pictures.join(format!("{name}.png"))).unwrap();
        };
        keep("light", "question-light");
        keep("send", "decided-light");
        // Read for the question and when the yes comes, and not once more after the response was lost.
        let lost = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/*");
        let reads =
            FaultRule::new(Effect::status(404)).method("GET").path("/conversations/*").always().skip(2);
        for rule in [lost, reads] {
            fixture.mock.control().add_fault(rule).await.unwrap();
        }
        let call =
            json!({ "id": fixture.conversation, "body": body.replace("Thursday", "Friday"), "send": true });
        let (_, shown) = at_a_browser(&fixture, &browser, call, "send", shots.path()).await;
        assert!(shown["end"].as_str().unwrap().contains("not known"), "{shown}");
        keep("send", "unknown-light");
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
async fn without_a_browser_or_with_an_opener_that_fails_late_there_is_a_draft() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let person = Person::who(Answer::Yes);
    let mut without = fixture.program();
    without.arg("--ask=browser").env("PATH", "/nowhere");
    let without = connect(without, &person, Older).await;
    opener(folder.path(), "sleep 0.5; exit 3");
    for client in [without, start_with_browser(&fixture, folder.path(), &person).await] {
        let result = client.call("reply", reply(&fixture)).await;
        assert_eq!(structured(&result)["status"], "draft", "{}", text(&result));
        assert!(text(&result).contains("no browser could be opened"), "{}", text(&result));
    }
    assert_eq!(person.questions().len(), 0, "the client is not asked instead");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "what was to be opened is gone");
}

#[tokio::test]
async fn the_second_in_which_no_answer_counts_begins_when_the_question_is_shown() {
    let fixture = Fixture::new().await;
    let person = Person::who_follows_links(Answer::Yes);
    let client = fixture.start_in_process(&person, Newer, &[]).await;
    let (state, url) = link(client.service.call_tool_once(params("reply", reply(&fixture))).await.unwrap());
    // Long after it was asked, and too soon after it was shown.
    person.clock.forward(Duration::from_secs(60));
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_millis(900));
    window.press("send").await;
    let response = [("consent".to_owned(), json!({ "action": "accept" }))];
    let call = params("reply", reply(&fixture)).with_request_state(state.unwrap());
    let result = client.call_once(call.with_input_responses(response.into())).await;
    assert!(text(&result).contains("less than a second"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::draft(BODY));
}

#[tokio::test]
async fn another_site_does_not_use_up_the_secret_of_the_file() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(folder.path(), "");
    let client = start_with_browser(&fixture, folder.path(), &Person::who(Answer::CannotBeAsked)).await;
    let call = client.start(params("reply", reply(&fixture))).await;
    let file = opened_file(&opened).await;
    let foreign = Window::enter(&file, "http://evil.example").await.err();
    assert_eq!(foreign.map(|status| status.as_u16()), Some(403));
    assert!(Window::enter(&file, "null").await.is_ok(), "the file itself can use it");
    call.cancel(None).await.unwrap();
}

#[tokio::test]
async fn twelve_cancelled_calls_open_three_windows_and_the_client_is_told_to_look_there() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(folder.path(), "");
    let windows = || fs::read_to_string(&opened).unwrap_or_default().lines().count();
    let person = Person::who(Answer::CannotBeAsked);
    let client = start_with_browser(&fixture, folder.path(), &person).await;
    let call = |i: usize| fixture.reply(&format!("Variant {i}"));
    for i in 0..3 {
        let call = client.start(params("reply", call(i))).await;
        until(async || windows() == i + 1).await;
        if i == 0 {
            let hint = |message: &String| message.contains("look at your browser");
            until(async || person.progress_messages.lock().unwrap().iter().any(hint)).await;
        }
        call.cancel(None).await.unwrap();
    }
    for i in 3..12 {
        assert_refused(&client.call("reply", call(i)).await, "browser was opened");
    }
    assert_eq!(windows(), 3);
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn what_a_killed_bridge_leaves_is_removed_at_the_next_start_and_what_a_live_one_needs_is_not() {
    let (home, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    opener(home.path(), "");
    // One that a killed bridge left among the temporary files, and a link by which another file would be removed.
    let leftover = home.path().join("tmp/shared-inbox-question-4000000-a");
    let elsewhere = home.path().join("tmp/elsewhere");
    for folder in [&leftover, &elsewhere] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("open.html"), "").unwrap();
    }
    std::os::unix::fs::symlink(&elsewhere, home.path().join("shared-inbox-question-4000000-b")).unwrap();
    let folders = || {
        let all = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap());
        let all = all.filter(|entry| entry.file_type().unwrap().is_dir() && entry.file_name() != "tmp");
        all.map(|entry| entry.path()).collect::<std::collections::BTreeSet<_>>()
    };
    let person = Person::who(Answer::CannotBeAsked);
    let ask = async |body: &str, count: usize| {
        let client = start_with_browser(&fixture, home.path(), &person).await;
        let call = client.start(params("reply", fixture.reply(body))).await;
        until(async || folders().len() == count).await;
        (client, call)
    };
    let _live = ask("From a bridge that lives", 1).await;
    let lives = folders();
    ask("From a bridge that is killed", 2).await.0.kill().await;
    assert_eq!(folders().len(), 2);
    let _next = start_with_browser(&fixture, home.path(), &person).await;
    until(async || folders() == lives && !leftover.exists()).await;
    assert!(elsewhere.join("open.html").exists(), "links are not followed");
}
