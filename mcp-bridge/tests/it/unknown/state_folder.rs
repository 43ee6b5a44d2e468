//! What stays in the state folder, and what a damaged one does.

use super::*;

/// The content of all files in a state folder.
fn state_of(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

/// A folder for the state, and a bridge that sends without a question and keeps it there.
async fn sending() -> (Fixture, tempfile::TempDir, Client) {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let client = remembering(&fixture, &Person::who(Answer::Yes), folder.path(), &["--send=allow"]).await;
    (fixture, folder, client)
}

#[tokio::test]
async fn the_words_of_what_was_found_do_not_stay_in_the_state_folder() {
    let (fixture, folder, client) = sending().await;
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("xylophone")).await);
    assert!(state_of(folder.path()).iter().any(|text| text.contains("xylophone")));
    fixture.mock.control().clear_faults().await;
    assert_repeats(&client.call("reply", fixture.reply("xylophone")).await);
    assert!(!state_of(folder.path()).iter().any(|text| text.contains("xylophone")));
}

#[tokio::test]
async fn the_words_that_a_bridge_left_are_removed_by_the_next() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let before = with_store(&fixture, folder.path(), LeapingClock::new());
    let id = fixture.conversation.parse().unwrap();
    before.conversation(&id).add_note("xylophone").once("a key").await.unwrap();
    assert!(state_of(folder.path()).iter().any(|text| text.contains("xylophone")));
    let client = remembering(&fixture, &Person::who(Answer::Yes), folder.path(), &[]).await;
    client.call("list_mailboxes", json!({})).await;
    until(async || !state_of(folder.path()).iter().any(|text| text.contains("xylophone"))).await;
}

#[tokio::test]
async fn the_words_of_what_was_made_do_not_stay_in_the_state_folder() {
    let (fixture, folder, client) = sending().await;
    assert_done(&client.call("reply", fixture.reply("xylophone")).await);
    let note = json!({ "id": fixture.conversation, "body": "xylophone" });
    assert_done(&client.call("add_note", note).await);
    until(async || {
        let texts = state_of(folder.path());
        texts.len() > 4 && texts.iter().all(|text| !text.contains("xylophone"))
    })
    .await;
}

#[tokio::test]
async fn a_state_folder_that_is_damaged_sends_nothing_twice_and_claims_nothing() {
    let (fixture, folder, client) = sending().await;
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
    fixture.mock.control().clear_faults().await;
    drop(client);
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|kind| kind == "record") {
            std::fs::write(file, "{").unwrap();
        }
    }
    let client = remembering(&fixture, &Person::who(Answer::Yes), folder.path(), &["--send=allow"]).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
    assert!(!is_error(&client.call("reply", fixture.reply("Another")).await), "another email is not held up");
    assert_eq!(fixture.mails().await.sent, ["Once", "Another"]);
}

/// A folder in which another email's record is damaged.
fn damaged_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    FileStore::open(folder.path()).unwrap();
    std::fs::write(folder.path().join("0123.record"), "{ xylophone").unwrap();
    folder
}

#[tokio::test]
async fn a_refused_email_that_another_bridge_may_have_made_is_unknown_in_the_audit_too() {
    let (fixture, folder, file) = (Fixture::new().await, damaged_folder(), AuditFile::new());
    let service = with_store(&fixture, folder.path(), LeapingClock::new());
    let person = Person::who(Answer::Yes);
    let client = fixture.start_over(Some(service), &person, Older, &[&file.option()]).await;
    fixture.fault(creates(Effect::status(409))).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
    let lines = file.lines();
    assert_eq!(lines.last().unwrap()["outcome"], "unknown", "{lines:?}");
    assert_eq!(lines[0]["call"], lines.last().unwrap()["call"], "{lines:?}");
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn doctor_names_a_damaged_record_and_what_to_do_and_shows_none_of_its_text() {
    let (fixture, folder) = (Fixture::new().await, damaged_folder());
    let said = run(fixture.program().arg("doctor").arg("--state").arg(folder.path()), "").await.1;
    let line = said.lines().find(|line| line.contains("0123.record")).unwrap_or_else(|| panic!("{said}"));
    assert_says(
        line,
        &["state: ", &*folder.path().to_string_lossy(), "damaged", "Look in the conversation", "remove"],
    );
    assert!(!said.contains("xylophone") && !said.contains("a restart forgets"), "{said}");
}

#[tokio::test]
async fn an_email_whose_record_cannot_be_written_is_not_sent_and_the_answer_says_what_to_do() {
    for arguments in [&["--send=allow"][..], &[]] {
        let (fixture, folder, file) = (Fixture::new().await, tempfile::tempdir().unwrap(), AuditFile::new());
        let service = with_store(&fixture, folder.path(), LeapingClock::new());
        let option = file.option();
        let arguments = [&[option.as_str()], arguments].concat();
        let client = fixture.start_over(Some(service), &Person::who(Answer::Yes), Older, &arguments).await;
        // A file that cannot be written, as on a full disk, in a folder that can be read.
        let in_the_way = folder.path().join("step.tmp");
        std::fs::create_dir(&in_the_way).unwrap();
        let result = client.call("reply", fixture.reply("Once")).await;
        assert!(is_error(&result), "{}", text(&result));
        assert_says(
            text(&result),
            &["Nothing was done by this call", "state folder", "--state", "same call again"],
        );
        assert_eq!(file.lines().last().unwrap()["outcome"], "failed");
        assert_eq!(fixture.mails().await, Mails::none());

        std::fs::remove_dir(&in_the_way).unwrap();
        let result = client.call("reply", fixture.reply("Once")).await;
        assert!(!is_error(&result) && !text(&result).contains("repeats"), "{}", text(&result));
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
}

#[tokio::test]
async fn while_the_state_folder_is_gone_nothing_is_sent_and_the_answer_says_what_to_do() {
    let (fixture, folder, file) = (Fixture::new().await, tempfile::tempdir().unwrap(), AuditFile::new());
    let state = folder.path().join("state");
    let arguments = ["--send=allow", &file.option()];
    let client = remembering(&fixture, &Person::who(Answer::Yes), &state, &arguments).await;
    assert!(!is_error(&client.call("reply", fixture.reply("Before")).await));
    std::fs::rename(&state, folder.path().join("gone")).unwrap();
    for call in [fixture.reply("Once"), json!({ "id": fixture.conversation, "body": "A draft" })] {
        let result = client.call("reply", call).await;
        assert_says_how_to_look(&result);
        assert_says(text(&result), &["state folder", "start the client again"]);
        assert_eq!(file.lines().last().unwrap()["outcome"], "unknown");
    }
    assert_eq!(fixture.mails().await, Mails::sent("Before"));
    FileStore::open(&state).unwrap();
    for call in [fixture.reply("Once"), fixture.reply("Once"), fixture.reply("Before")] {
        let result = client.call("reply", call).await;
        assert!(!is_error(&result), "{}", text(&result));
    }
    assert_eq!(fixture.mails().await.sent, ["Before", "Once"]);
}
