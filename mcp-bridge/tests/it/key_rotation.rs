//! A key that is replaced in its file while the bridge runs.

use std::{fs, path::PathBuf, sync::atomic::Ordering};

use serde_json::json;
use shared_inbox::Scope;
use shared_inbox_mock::NewKey;

use crate::fixture::{
    Answer, Fixture, Mails, Newer, Older, Person, assert_done, assert_refused, connect, until,
};

/// A key with these scopes, and its agent.
async fn key(fixture: &Fixture, scopes: &[Scope]) -> (String, String) {
    let made = fixture.mock.control().create_key(NewKey::live("Bridge", scopes.to_vec())).await.unwrap();
    (made.key, made.agent_id.to_string())
}

/// A mock, a folder with a key of it in a file, and the key's agent.
async fn with_key_file() -> (Fixture, tempfile::TempDir, PathBuf, String) {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let file = folder.path().join("key");
    let (first, agent) = key(&fixture, &ALL).await;
    fs::write(&file, first).unwrap();
    (fixture, folder, file, agent)
}

const ALL: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];

#[tokio::test]
async fn a_key_that_is_replaced_works_in_the_next_call_and_the_client_is_told_of_other_tools() {
    let (fixture, _folder, file, agent) = with_key_file().await;
    let person = Person::who(Answer::No);
    let mut command = fixture.program();
    command.env_remove("SHARED_INBOX_API_KEY").arg("--api-key-file").arg(&file);
    let client = connect(command, &person, Older).await;
    assert_eq!(client.tools().await.len(), 12);
    assert_done(&client.call("list_tags", json!({})).await);

    fixture.mock.control().revoke_key(&agent).await.unwrap();
    assert_refused(&client.call("list_tags", json!({})).await, "--api-key-file");

    let (second, agent) = key(&fixture, &[Scope::Read, Scope::Write]).await;
    fs::write(&file, format!("{second}\n")).unwrap();
    let note = json!({ "id": fixture.conversation, "body": "With the second key" });
    // The failed call is made once more.
    assert_done(&client.call("add_note", note).await);
    assert_eq!(fixture.notes().await, ["With the second key"]);
    until(async || person.tools_changed.load(Ordering::SeqCst) == 1).await;
    let tools = client.tools().await;
    assert!(!tools.contains(&"reply".to_owned()) && tools.contains(&"add_note".to_owned()), "{tools:?}");

    fixture.mock.control().revoke_key(&agent).await.unwrap();
    let (third, _) = key(&fixture, &[Scope::Read, Scope::Write]).await;
    fs::write(&file, third).unwrap();
    assert!(client.read("inbox://mailboxes").await.is_ok(), "a resource is read once more too");
    assert_done(&client.call("list_tags", json!({})).await);
    assert_eq!(person.tools_changed.load(Ordering::SeqCst), 1, "the same tools are not told of again");
}

#[tokio::test]
async fn a_key_that_is_replaced_while_a_person_is_asked_sends_after_their_yes() {
    for era in [Older, Newer] {
        let (fixture, _folder, file, agent) = with_key_file().await;
        let person = Person::who_takes_time(Answer::Yes);
        let arguments =
            [format!("--base-url={}", fixture.mock.base_url()), format!("--api-key-file={}", file.display())];
        let client = fixture.start_over(None, &person, era, &arguments.each_ref().map(String::as_str)).await;
        let rotate = async {
            until(async || person.questions().len() == 1).await;
            fixture.mock.control().revoke_key(&agent).await.unwrap();
            fs::write(&file, key(&fixture, &ALL).await.0).unwrap();
            person.answers.add_permits(1);
        };
        let (result, ()) = tokio::join!(client.call("reply", fixture.reply("Once")), rotate);
        assert_done(&result);
        assert_eq!(fixture.mails().await.sent, ["Once"]);
        assert_eq!(person.questions().len(), 1);
    }
}

#[tokio::test]
async fn a_bridge_that_remembers_sends_nothing_without_a_record_after_its_key_was_replaced() {
    let (fixture, folder, file, agent) = with_key_file().await;
    let mut command = fixture.program();
    command.env("XDG_STATE_HOME", folder.path()).env_remove("SHARED_INBOX_API_KEY");
    command.arg("--send=allow").arg("--api-key-file").arg(&file);
    let client = connect(command, &Person::who(Answer::No), Older).await;
    assert_done(&client.call("list_tags", json!({})).await);

    let state = folder.path().join("shared-inbox-mcp");
    fs::rename(&state, folder.path().join("gone")).unwrap();
    fs::write(&state, "").unwrap();
    fixture.mock.control().revoke_key(&agent).await.unwrap();
    fs::write(&file, key(&fixture, &ALL).await.0).unwrap();
    assert_refused(&client.call("reply", fixture.reply("Once")).await, "state folder");
    assert_eq!(fixture.mails().await, Mails::none());
}
