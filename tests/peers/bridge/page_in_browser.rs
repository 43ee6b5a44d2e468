//! The page in a real browser: what a person sees there, and what other pages can do to it.

use std::{fs, path::Path};

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule};
use shared_inbox_tests::peers;

use super::{
    browser::{opener, start_with_browser},
    fixture::{Answer, Fixture, Mails, Person, assert_done, assert_refused, out, reads, text},
    installed,
    window::{BODY, reply},
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
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bridge/page.mjs");
        let mut command = tokio::process::Command::from(browser.script(&script));
        command.args([&file, answer]).arg(shots).kill_on_drop(true);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{answer}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    tokio::join!(client.call("reply", call), pressed)
}

#[tokio::test]
async fn the_browser_asks_where_the_client_cannot_and_a_person_presses_the_button() {
    let browser = installed(peers::browser).await;
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

/// With `UPDATE_DOCS=1` the pictures are written to `docs/consent`.
#[tokio::test]
async fn the_pictures_of_the_page_are_there_and_made_by_a_script() {
    let root = shared_inbox_tests::root();
    let pictures = root.join("docs/consent");
    let browser = installed(peers::browser).await;
    let shots = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|mail| {
        mail.text = "Hello,\n\nwhere is my order? It should have been here on Monday.\n\nKim".into();
        mail.risk = Some("phishing".into());
        mail.risk_reasons = vec!["The sender's domain is two days old".into()];
    })
    .await;
    let body = "Hello Kim,\n\nyour order left us this morning and will be with you on Thursday.\n\nBest wishes\nAnna";
    at_a_browser(&fixture, &browser, fixture.reply(body), "send", shots.path()).await;
    let keep = |shot: &str, name: &str| {
        let shot = fs::read(shots.path().join(format!("page-{shot}.png"))).unwrap();
        assert!(shot.starts_with(b"\x89PNG") && shot.len() < 200_000, "{name}: {}", shot.len());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(pictures.join(format!("{name}.png")), shot).unwrap();
        }
    };
    keep("light", "question-light");
    keep("send", "decided-light");
    // Read for the question and when the yes comes, and not once more after the response was lost.
    let lost = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/*");
    let reads = FaultRule::new(Effect::status(404)).method("GET").path("/conversations/*").always().skip(2);
    for rule in [lost, reads] {
        fixture.mock.control().add_fault(rule).await.unwrap();
    }
    let call = fixture.reply(&body.replace("Thursday", "Friday"));
    let (_, shown) = at_a_browser(&fixture, &browser, call, "send", shots.path()).await;
    assert!(shown["end"].as_str().unwrap().contains("not known"), "{shown}");
    keep("send", "unknown-light");
    for page in ["docs/safety.md", "mcp-bridge/README.md"] {
        let shown = fs::read_to_string(root.join(page)).unwrap();
        let names: Vec<_> =
            shown.split("consent/").skip(1).filter_map(|rest| rest.split(".png").next()).collect();
        assert!(!names.is_empty(), "{page} shows the page");
        for name in names {
            assert!(pictures.join(format!("{name}.png")).is_file(), "{name}");
        }
    }
}
