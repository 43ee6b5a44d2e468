//! Answers that come late, twice, or to a question that was asked anew.

use super::*;
use crate::fixture::{in_process, yes};

#[tokio::test]
async fn an_answer_that_is_brought_too_late_or_twice_is_not_told_that_nothing_was_sent() {
    for is_restarted in [true, false] {
        let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
        let person = Person::who_follows_links(Answer::Yes);
        let mut client = remembering(&fixture, &person, folder.path(), &[]).await;
        let call = params("reply", fixture.reply("Once"));
        let (state, window) = ask_on_page(&client, &person, call).await;
        window.press("send").await;
        assert!(window.again().await.contains("goes out at"));
        person.clock.forward(Duration::from_secs(3600));
        if is_restarted {
            client = remembering(&fixture, &person, folder.path(), &[]).await;
        }
        assert_only_this_call_sent_nothing(&collect(&fixture, &client, &state).await);
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
    let (fixture, person, client) = in_process(Person::who(Answer::Yes), Newer, &[]).await;
    let call = || params("reply", fixture.reply("Once"));
    let state = client.ask(call()).await;
    person.clock.forward(Duration::from_secs(2));
    assert_done(&client.answer(call(), &state, yes()).await);
    assert_repeats(&client.answer(call(), &state, yes()).await);
    person.clock.forward(Duration::from_secs(3600));
    assert_only_this_call_sent_nothing(&client.answer(call(), &state, yes()).await);
    assert_eq!(fixture.mails().await, Mails::sent("Once"));
}

#[tokio::test]
async fn a_form_that_is_asked_anew_is_not_answered_within_a_second_either() {
    let (fixture, person, client) = leaping(Person::who(Answer::Yes), Newer, &[]).await;
    let call = || params("reply", fixture.reply("Once"));
    let first = client.ask(call()).await;
    person.clock.forward(Duration::from_secs(2));
    lose(&fixture, Effect::drop_before(), Effect::status(503)).await;
    assert_says_how_to_look(&client.answer(call(), &first, yes()).await);
    fixture.mock.control().clear_faults().await;
    person.clock.forward(Duration::from_secs(60));
    let again = client.ask(call()).await;
    let result = client.answer(call(), &again, yes()).await;
    assert_done(&result);
    assert_eq!(structured(&result)["status"], "draft", "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::draft("Once"));
}

#[tokio::test]
async fn a_page_that_asks_anew_tells_of_its_own_question_alone() {
    let (fixture, person, client) = leaping(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
    let call = || params("reply", fixture.reply("Once"));
    let (_, first) = ask_on_page(&client, &person, call()).await;
    lose(&fixture, Effect::drop_before(), Effect::status(503)).await;
    first.press("send").await;
    assert!(first.again().await.contains("not known whether the email was sent"));
    fixture.mock.control().clear_faults().await;
    person.clock.forward(Duration::from_secs(400));
    let (_, second) = ask_on_page(&client, &person, call()).await;
    assert!(second.shown.contains("5 minutes"), "{}", second.shown);
    let page = first.again().await;
    assert!(page.contains("Nothing was sent by this question"), "the first window learns it: {page}");
    second.press("refuse").await;
    let page = second.again().await;
    assert!(page.contains("You said no") && !page.contains("You agreed"), "{page}");
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn an_answer_that_belongs_to_no_question_is_not_told_that_nothing_was_done_while_the_email_leaves() {
    let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
    let (_, window) = ask_on_page(&client, &person, params("reply", fixture.reply("Once"))).await;
    fixture.fault(creates(hanging())).await;
    window.press("send").await;
    crate::wire::under_way(&fixture.mock).await;
    assert_says_how_to_look(&collect(&fixture, &client, "0").await);
}

#[track_caller]
fn assert_only_this_call_sent_nothing(result: &CallToolResult) {
    let said = text(result);
    assert!(is_error(result) && !said.contains("Not sent") && said.contains("get_conversation"), "{said}");
}
