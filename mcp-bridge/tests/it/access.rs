//! Keys and addresses that do not work, what is shown then, and what `doctor` says about it.

use std::{fs, process::Output, time::Duration};

use rmcp::model::{ServerNotification, SubscriptionFilter};
use serde_json::json;
use shared_inbox::Scope;

use crate::fixture::{
    Answer, ERAS, Fixture, LeapingClock, Newer, Older, Person, assert_done, assert_refused, connect, items,
    text,
};

const READING: [&str; 5] =
    ["list_conversations", "get_conversation", "list_mailboxes", "list_tags", "search_documents"];

fn wrong_key() -> String {
    format!("rk_live_{}", "0".repeat(48))
}

#[tokio::test]
async fn without_a_working_key_only_reading_tools_show_and_every_call_explains() {
    let fixture = Fixture::new().await;
    for era in ERAS {
        for (key, hint) in [
            (Some(wrong_key()), "Put a valid key"),
            (Some("nonsense".into()), "rk_live_"),
            (None, "SHARED_INBOX_API_KEY"),
        ] {
            println!("{era:?}, {hint}");
            let mut command = fixture.program();
            match &key {
                Some(key) => command.env("SHARED_INBOX_API_KEY", key),
                None => command.env_remove("SHARED_INBOX_API_KEY"),
            };
            let client = connect(command, &Person::who(Answer::No), era).await;
            assert_eq!(client.tools().await, READING);
            for tool in ["list_tags", "add_note"] {
                let result = client.call(tool, json!({ "id": fixture.conversation, "body": "x" })).await;
                assert_refused(&result, hint);
                let is_repeated = key.as_ref().is_some_and(|key| text(&result).contains(key.as_str()));
                assert!(!is_repeated, "{tool}: the key is repeated");
            }
        }
    }
}

#[tokio::test]
#[cfg(unix)]
async fn doctor_says_when_others_can_read_the_key_file() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let file = folder.path().join("key");
    fs::write(&file, fixture.mock.live_key()).unwrap();
    for (mode, is_said) in [(0o600, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let output = fixture.program().arg("--api-key-file").arg(&file).arg("doctor").output().await.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.contains("others on this machine can read"), is_said, "{mode:o}: {said}");
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_explained() {
    let fixture = Fixture::new().await;
    // The discard port: nobody listens.
    let service = shared_inbox::Client::builder("http://127.0.0.1:9/api/v1", fixture.mock.live_key());
    let service = service.clock(LeapingClock::new()).build().unwrap();
    let client = fixture.start_over(Some(service), &Person::who(Answer::No), Older, &[]).await;
    assert_eq!(client.tools().await, READING);
    assert_refused(&client.call("list_tags", json!({})).await, "SHARED_INBOX_BASE_URL");
}

#[tokio::test]
async fn a_key_file_that_is_put_right_works_without_a_restart_and_a_client_that_listens_is_told() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let client = fixture.start_with_key_file(&file, &Person::who(Answer::No), Newer).await;
    let wanted = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
    let mut subscription = client.service.listen(wanted).await.unwrap();
    let accepted = subscription.acknowledged();
    let accepted = (accepted.tools_list_changed, accepted.prompts_list_changed);
    assert_eq!(accepted, (Some(true), None));
    assert_refused(&client.call("list_tags", json!({})).await, "--api-key-file");
    assert_eq!(client.tools().await, READING);

    fs::write(&file, format!("{}\n", fixture.mock.live_key())).unwrap();
    assert_done(&client.call("list_tags", json!({})).await);
    let notified =
        tokio::time::timeout(Duration::from_secs(20), subscription.next()).await.expect("a notification");
    assert!(matches!(notified, Ok(Some(ServerNotification::ToolListChangedNotification(_)))), "{notified:?}");
    assert_eq!(client.tools().await.len(), 12);
}

async fn doctor(fixture: &Fixture, key: &str, arguments: &[&str]) -> Output {
    let mut command = fixture.program();
    command.env("SHARED_INBOX_API_KEY", key).arg("doctor").args(arguments);
    // What a proxy says about an address is another matter.
    command.env("NO_PROXY", "*").env("no_proxy", "*");
    command.stderr(std::process::Stdio::piped()).output().await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn doctor_tells_a_working_setup() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Write]).await;
    let output = doctor(&fixture, &key, &["--exclude-tools", "list_tags"]).await;
    let said = said(&output).replace(fixture.mock.base_url(), "<base>");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines: Vec<_> =
        said.lines().filter(|line| !line.contains("clock:") && !line.contains("agent")).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(said.contains("agent \"Bridge\" (agt_"), "{said}");
    assert!(said.contains("clock: within"), "{said}");
}

#[tokio::test]
async fn doctor_tells_what_is_wrong_with_status_1() {
    let fixture = Fixture::new().await;
    let wrong_key = wrong_key();
    for (key, arguments, expected) in [
        (&*wrong_key, &[][..], ["FAIL  key:", "Put a valid key"]),
        (fixture.mock.live_key(), &["--tools", "reply", "--read-only"], ["FAIL  ", "none is left"]),
    ] {
        let output = doctor(&fixture, key, arguments).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{said}");
        assert!(!said.contains(&wrong_key) && !said.contains("GET /"), "{said}");
    }
}

#[tokio::test]
async fn doctor_tells_an_unknown_host_a_closed_port_and_tls_to_a_plain_port_apart() {
    let fixture = Fixture::new().await;
    // Too long to be a name: nobody is asked.
    let unknown = format!("http://{}.example/api/v1", "x".repeat(64));
    let plain = fixture.mock.base_url().replace("http://", "https://");
    for (address, expected) in [
        (unknown.as_str(), "name is not known"),
        ("http://127.0.0.1:9/api/v1", "nothing listens"),
        (plain.as_str(), "does not speak TLS"),
    ] {
        let output =
            doctor(&fixture, fixture.mock.live_key(), &["--allow-plain-http", "--base-url", address]).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("FAIL  network:") && said.contains(expected), "{address}: {said}");
        assert!(!said.contains("GET /me"), "{said}");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn doctor_looks_whether_a_browser_can_be_opened_and_in_private() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().unwrap();
    let doctor = async |path: &std::path::Path| {
        let mut command = fixture.program();
        command
            .args(["--ask=browser", "doctor"])
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("DISPLAY", ":0");
        command.stderr(std::process::Stdio::piped()).output().await.unwrap()
    };
    let output = doctor(folder.path()).await;
    let without = said(&output);
    assert!(without.contains("FAIL  browser: ") && without.contains("xdg-open"), "{without}");
    assert_eq!(output.status.code(), Some(1), "{without}");

    crate::browser::opener(folder.path(), "");
    let output = doctor(folder.path()).await;
    let with = said(&output);
    assert!(with.contains("a page in the browser (--ask=browser)"), "{with}");
    assert!(with.contains("ok    browser: ") && with.contains("ok    page: "), "{with}");
    assert_eq!(output.status.code(), Some(0), "{with}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "it opens nothing and leaves nothing behind");
}

#[tokio::test]
async fn the_sandbox_needs_nothing() {
    let mut command = tokio::process::Command::from(crate::fixture::program());
    command.arg("--sandbox").stderr(std::process::Stdio::null()).kill_on_drop(true);
    let client = connect(command, &Person::who(Answer::No), Older).await;
    assert_eq!(client.tools().await.len(), 12);
    let result = client.call("list_conversations", json!({})).await;
    assert!(!items(&result).is_empty(), "{}", text(&result));
    let start = &result.content[1].as_text().unwrap().text;
    let mut doctor = crate::fixture::program();
    let doctor = said(&doctor.args(["--sandbox", "doctor"]).output().unwrap());
    assert!(!doctor.contains("state:"), "it keeps nothing, and misses nothing: {doctor}");
    for shown in [start, &doctor] {
        assert!(shown.contains("on a demo inbox") && !shown.contains("live data"), "{shown}");
    }
}
