//! A disk that takes a minute for a line of the audit.

use std::time::Duration;

use serde_json::json;

use super::fixture::{Answer, Fixture, Mails, Older, Person, assert_done, connect, params, until};

#[tokio::test]
async fn other_calls_are_answered_while_a_slow_disk_holds_an_email_up() {
    let strace = std::process::Command::new("strace").arg("-V").output();
    strace.expect("strace is installed: a package of most systems");
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let file = folder.path().join("audit.jsonl");
    let bridge = fixture.program();
    const DELAY: &str = "inject=fdatasync:delay_enter=60000000"; // a minute
    let slow = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", DELAY];
    let mut command = tokio::process::Command::new("strace");
    command
        .args(slow)
        .arg(bridge.as_std().get_program())
        .args(["--send=allow", &format!("--audit={}", file.display())]);
    command.envs(bridge.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    let client = connect(command, &Person::who(Answer::No), Older).await;
    let _reply = client.start(params("reply", fixture.reply("On its way"))).await;
    until(async || {
        std::fs::read_to_string(&file).is_ok_and(|lines| lines.contains("\"outcome\":\"intent\""))
    })
    .await;
    let other = tokio::time::timeout(Duration::from_secs(30), client.call("list_tags", json!({}))).await;
    assert_done(&other.expect("a response before the disk's"));
    assert_eq!(fixture.mails().await, Mails::none(), "the email waits for the disk");
}
