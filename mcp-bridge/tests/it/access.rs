//! Keys and addresses that do not work, what is shown then, and what `doctor` says about it.

use std::{fs, time::Duration};

use rmcp::model::{ServerNotification, SubscriptionFilter};
use serde_json::json;
use shared_inbox::Scope;
use tokio::process::Command;

use crate::fixture::{
    Answer, ERAS, Fixture, LeapingClock, Newer, Older, Person, assert_done, assert_lacks, assert_refused,
    assert_says, connect, items, out, program, run, text,
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
        let (_, said) = doctor(&fixture, |command| _ = command.arg("--api-key-file").arg(&file)).await;
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
    let mut command = fixture.program();
    command.env_remove("SHARED_INBOX_API_KEY").arg("--api-key-file").arg(&file);
    let client = connect(command, &Person::who(Answer::No), Newer).await;
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

/// What `doctor` says with these options, and its status.
async fn doctor(fixture: &Fixture, change: impl FnOnce(&mut Command)) -> (Option<i32>, String) {
    let mut command = fixture.program();
    // What a proxy says about an address is another matter.
    command.arg("doctor").env("NO_PROXY", "*").env("no_proxy", "*");
    change(&mut command);
    run(&mut command, "").await
}

#[tokio::test]
async fn doctor_tells_a_working_setup() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Write]).await;
    let options = ["--exclude-tools", "list_tags"];
    let (status, said) =
        doctor(&fixture, |command| _ = command.args(options).env("SHARED_INBOX_API_KEY", key)).await;
    let said = said.replace(fixture.mock.base_url(), "<base>");
    assert_eq!(status, Some(0), "{said}");
    let lines: Vec<_> =
        said.lines().filter(|line| !line.contains("clock:") && !line.contains("agent")).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_says(&said, &["agent \"Bridge\" (agt_", "clock: within"]);
}

#[tokio::test]
async fn doctor_tells_what_is_wrong_with_status_1_and_an_unknown_host_a_closed_port_and_tls_apart() {
    let fixture = Fixture::new().await;
    let wrong_key = wrong_key();
    // Too long to be a name: nobody is asked.
    let unknown = format!("--base-url=http://{}.example/api/v1", "x".repeat(64));
    let plain = format!("--base-url={}", fixture.mock.base_url().replace("http://", "https://"));
    let live = fixture.mock.live_key();
    for (key, options, expected) in [
        (&*wrong_key, &[][..], ["FAIL  key:", "Put a valid key"]),
        (live, &["--tools=reply", "--read-only"], ["FAIL  ", "none is left"]),
        (live, &["--allow-plain-http", &unknown], ["FAIL  network:", "name is not known"]),
        (live, &["--base-url=http://127.0.0.1:9/api/v1"], ["FAIL  network:", "nothing listens"]),
        (live, &[&plain], ["FAIL  network:", "does not speak TLS"]),
    ] {
        let (status, said) =
            doctor(&fixture, |command| _ = command.args(options).env("SHARED_INBOX_API_KEY", key)).await;
        assert_eq!(status, Some(1), "{said}");
        assert_says(&said, &expected);
        assert_lacks(&said, &[&wrong_key, "GET /"]);
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn doctor_looks_whether_a_browser_can_be_opened_and_in_private() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let environment = [("PATH", folder.path()), ("HOME", folder.path()), ("DISPLAY", ":0".as_ref())];
    let look = async || doctor(&fixture, |command| _ = command.arg("--ask=browser").envs(environment)).await;
    let (status, without) = look().await;
    assert_eq!(status, Some(1), "{without}");
    assert_says(&without, &["FAIL  browser: ", "xdg-open"]);

    crate::browser::opener(folder.path(), "");
    let (status, with) = look().await;
    assert_eq!(status, Some(0), "{with}");
    assert_says(&with, &["a page in the browser (--ask=browser)", "ok    browser: ", "ok    page: "]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "it opens nothing and leaves nothing behind");
}

#[tokio::test]
async fn the_sandbox_needs_nothing() {
    let mut command = Command::from(program());
    command.arg("--sandbox").stderr(std::process::Stdio::null()).kill_on_drop(true);
    let client = connect(command, &Person::who(Answer::No), Older).await;
    assert_eq!(client.tools().await.len(), 12);
    let result = client.call("list_conversations", json!({})).await;
    assert!(!items(&result).is_empty(), "{}", text(&result));
    let start = &result.content[1].as_text().unwrap().text;
    let doctor = out(&program().args(["--sandbox", "doctor"]).output().unwrap()).0;
    assert!(!doctor.contains("state:"), "it keeps nothing, and misses nothing: {doctor}");
    for shown in [start, &doctor] {
        assert!(shown.contains("on a demo inbox") && !shown.contains("live data"), "{shown}");
    }
}
