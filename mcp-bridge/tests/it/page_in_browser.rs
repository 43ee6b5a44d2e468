//! How the page gets into the person's browser.

use std::{fs, time::Duration};

use serde_json::json;

use crate::{
    browser::{opener, start_with_browser},
    fixture::{
        Answer, Fixture, Mails, Newer, Older, Person, assert_refused, connect, in_process, params,
        structured, text, until,
    },
    window::{BODY, Window, link, reply},
};

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
    for answer in ["send", "refuse"] {
        let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
        let call = params("reply", reply(&fixture));
        let (state, url) = link(client.service.call_tool_once(call.clone()).await.unwrap());
        // Long after it was asked, and too soon after it was shown.
        person.clock.forward(Duration::from_secs(60));
        let window = Window::open(&url).await;
        person.clock.forward(Duration::from_millis(900));
        window.press(answer).await;
        let result = client.answer(call, &state.unwrap(), json!({ "action": "accept" })).await;
        assert!(text(&result).contains("less than a second"), "{}", text(&result));
        assert_eq!(fixture.mails().await, Mails::draft(BODY));
    }
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
