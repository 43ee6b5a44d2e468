//! The page in a real browser: what a person sees there, and what other pages can do to it.

use std::{fs, path::Path};

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox_mock::Effect;
use shared_inbox_tests::{generated, peers};

use super::{
    browser::{opened_file, opener, start_with_browser},
    fixture::{Answer, Fixture, Mails, Person, creates, is_error, reads, text},
    installed,
};

const BODY: &str = "Hello Kim,\n\nyour <b>order</b> left us this morning: https://shop.example/t?a=1&b=2\n\nBest wishes\nAnna";

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
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bridge/page.mjs");
        let mut command = tokio::process::Command::from(browser.script(&script));
        command.args([&file, answer]).arg(shots).kill_on_drop(true);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{answer}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    tokio::join!(client.call("reply", call), pressed)
}

/// `scripts/regenerate --all` writes the pictures of the page to `docs/consent`.
#[tokio::test]
async fn the_browser_asks_where_the_client_cannot_and_a_person_presses_the_button() {
    let browser = installed(peers::browser).await;
    let shots = tempfile::tempdir().unwrap();
    let keep = |shot: &str, name: &str| {
        let shot = fs::read(shots.path().join(format!("page-{shot}.png"))).unwrap();
        assert!(shot.starts_with(b"\x89PNG") && shot.len() < 200_000, "{name}: {}", shot.len());
        if generated::updates() {
            let file = format!("docs/consent/{name}.png");
            fs::write(shared_inbox_tests::root().join(file), shot).unwrap();
        }
    };
    for (answer, is_lost, truth, lie, picture) in [
        ("refuse", false, "You said no", "goes out", None),
        ("send", false, "goes out at", "Nothing was sent", Some("decided-light")),
        ("send", true, "not known", "Nothing was sent", Some("unknown-light")),
    ] {
        let fixture = Fixture::with(|mail| {
            mail.text = "Hello,\n\nwhere is my order? It should have been here on Monday.\n\nKim".into();
            mail.risk = Some("phishing".into());
            mail.risk_reasons = vec!["The sender's domain is two days old".into()];
        })
        .await;
        if is_lost {
            // Read for the question and when the yes comes, and not once more after the response was lost.
            fixture.fault(creates(Effect::drop_after())).await;
            fixture.fault(reads(Effect::status(404)).skip(2)).await;
        }
        let (result, seen) =
            at_a_browser(&fixture, &browser, fixture.reply(BODY), answer, shots.path()).await;
        assert_eq!(seen["text"], BODY, "{answer}: the mail is shown as text");
        assert_eq!(seen["errors"], json!([]), "{answer}");
        assert_eq!(seen["axe"], json!([]), "{answer}: the page is for everyone");
        let attacks = json!({ "frame": "refused", "fetch": "refused", "form": "refused" });
        assert_eq!(seen["attacks"], attacks, "{answer}");
        for shown in [seen["end"].as_str().unwrap(), seen["other"].as_str().unwrap()] {
            assert!(shown.contains(truth) && !shown.contains(lie), "{shown}");
            assert!(shown.contains("Decided at") || is_lost, "{shown}");
        }
        assert_eq!(is_error(&result), answer == "refuse" || is_lost, "{}", text(&result));
        let sent = if answer == "send" { Mails::sent(BODY) } else { Mails::none() };
        assert_eq!(fixture.mails().await, sent);
        keep("light", "question-light");
        picture.into_iter().for_each(|picture| keep(answer, picture));
    }
}
