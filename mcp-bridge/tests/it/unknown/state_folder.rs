//! What stays in the state folder, and what a damaged one does.

use super::*;

/// The content of all files in a state folder.
fn state_of(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

#[tokio::test]
async fn the_words_of_what_was_found_do_not_stay_in_the_state_folder() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let client = remembering(&fixture, &Person::who(Answer::Yes), folder.path(), &["--send=allow"]).await;
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("xylophone")).await);
    assert!(state_of(folder.path()).iter().any(|text| text.contains("xylophone")));
    fixture.mock.control().clear_faults().await;
    let found = client.call("reply", fixture.reply("xylophone")).await;
    assert!(text(&found).contains("repeats a call"), "{}", text(&found));
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
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let client = remembering(&fixture, &Person::who(Answer::Yes), folder.path(), &["--send=allow"]).await;
    assert!(!is_error(&client.call("reply", fixture.reply("xylophone")).await));
    let note = json!({ "id": fixture.conversation, "body": "xylophone" });
    assert!(!is_error(&client.call("add_note", note).await));
    until(async || {
        let texts = state_of(folder.path());
        texts.len() > 4 && texts.iter().all(|text| !text.contains("xylophone"))
    })
    .await;
}

#[tokio::test]
async fn a_state_folder_that_is_damaged_sends_nothing_twice_and_claims_nothing() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let person = Person::who(Answer::Yes);
    let client = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
    fixture.mock.control().clear_faults().await;
    drop(client);
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|kind| kind == "record") {
            std::fs::write(file, "{").unwrap();
        }
    }
    let client = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
    assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
    assert!(!is_error(&client.call("reply", fixture.reply("Another")).await), "another email is not held up");
    assert_eq!(fixture.mails().await.sent, ["Once", "Another"]);
}
