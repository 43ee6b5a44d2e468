//! Answers that come late, twice, or to a question that was asked anew.

use super::*;
use crate::fixture::structured;

#[tokio::test]
async fn an_answer_that_is_brought_too_late_or_twice_is_not_told_that_nothing_was_sent() {
    for is_restarted in [true, false] {
        let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
        let person = Person::who_follows_links(Answer::Yes);
        let mut client = remembering(&fixture, &person, folder.path(), &[]).await;
        let call = || params("reply", fixture.reply("Once"));
        let (state, url) = link(client.service.call_tool_once(call()).await.unwrap());
        let window = Window::open(&url).await;
        person.clock.forward(Duration::from_secs(2));
        window.press("send").await;
        assert!(window.again().await.contains("goes out at"));
        person.clock.forward(Duration::from_secs(3600));
        if is_restarted {
            client = remembering(&fixture, &person, folder.path(), &[]).await;
        }
        let accepted: InputResponses = [("consent".to_owned(), json!({ "action": "accept" }))].into();
        let late = call().with_request_state(state.unwrap()).with_input_responses(accepted);
        assert_only_this_call_sent_nothing(&client.call_once(late).await);
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
    let fixture = Fixture::new().await;
    let person = Person::who(Answer::Yes);
    let client = fixture.start_in_process(&person, Newer, &[]).await;
    let call = || params("reply", fixture.reply("Once"));
    let CallToolResponse::InputRequired(question) = client.service.call_tool_once(call()).await.unwrap()
    else {
        panic!("a question")
    };
    let yes: InputResponses =
        [("consent".to_owned(), json!({ "action": "accept", "content": { "send": true } }))].into();
    let answered = call().with_request_state(question.request_state.unwrap()).with_input_responses(yes);
    person.clock.forward(Duration::from_secs(2));
    assert!(!is_error(&client.call_once(answered.clone()).await));
    let twice = client.call_once(answered.clone()).await;
    assert!(text(&twice).contains("repeats a call"), "{}", text(&twice));
    person.clock.forward(Duration::from_secs(3600));
    assert_only_this_call_sent_nothing(&client.call_once(answered).await);
    assert_eq!(fixture.mails().await, Mails::sent("Once"));
}

/// The handle of a question that travels as a form.
fn form(response: CallToolResponse) -> String {
    let CallToolResponse::InputRequired(question) = response else { panic!("a question, not {response:?}") };
    question.request_state.unwrap()
}

#[tokio::test]
async fn a_form_that_is_asked_anew_is_not_answered_within_a_second_either() {
    let fixture = Fixture::new().await;
    let person = Person::who(Answer::Yes);
    let client = fixture.start_over(Some(service(&fixture)), &person, Newer, &[]).await;
    let call = || params("reply", fixture.reply("Once"));
    let agree = async |handle: String| {
        let yes: InputResponses =
            [("consent".to_owned(), json!({ "action": "accept", "content": { "send": true } }))].into();
        client.call_once(call().with_request_state(handle).with_input_responses(yes)).await
    };
    let first = form(client.service.call_tool_once(call()).await.unwrap());
    person.clock.forward(Duration::from_secs(2));
    lose(&fixture, Effect::drop_before(), Effect::status(503)).await;
    assert_says_how_to_look(&agree(first).await);
    fixture.mock.control().clear_faults().await;
    person.clock.forward(Duration::from_secs(60));
    let again = form(client.service.call_tool_once(call()).await.unwrap());
    let result = agree(again).await;
    assert!(!is_error(&result) && structured(&result)["status"] == "draft", "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::draft("Once"));
}

#[tokio::test]
async fn a_page_that_asks_anew_tells_of_its_own_question_alone() {
    let fixture = Fixture::new().await;
    let person = Person::who_follows_links(Answer::Yes);
    let client = fixture.start_over(Some(service(&fixture)), &person, Newer, &[]).await;
    let ask = async || {
        let call = params("reply", fixture.reply("Once"));
        Window::open(&link(client.service.call_tool_once(call).await.unwrap()).1).await
    };
    let first = ask().await;
    person.clock.forward(Duration::from_secs(2));
    lose(&fixture, Effect::drop_before(), Effect::status(503)).await;
    first.press("send").await;
    assert!(first.again().await.contains("not known whether the email was sent"));
    fixture.mock.control().clear_faults().await;
    person.clock.forward(Duration::from_secs(400));
    let second = ask().await;
    let page = second.again().await;
    assert!(page.contains("5 minutes"), "{page}");
    let page = first.again().await;
    assert!(page.contains("Nothing was sent by this question"), "the first window learns it: {page}");
    person.clock.forward(Duration::from_secs(2));
    second.press("refuse").await;
    let page = second.again().await;
    assert!(page.contains("You said no") && !page.contains("You agreed"), "{page}");
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn an_answer_that_is_brought_after_another_call_found_the_email_is_told_of_it() {
    let fixture = Fixture::new().await;
    let person = Person::who_follows_links(Answer::Yes);
    let client = fixture.start_over(Some(service(&fixture)), &person, Newer, &[]).await;
    let call = params("reply", fixture.reply("Once"));
    let (handle, url) = link(client.service.call_tool_once(call.clone()).await.unwrap());
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_secs(2));
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    window.press("send").await;
    assert!(window.again().await.contains("not known whether the email was sent"));
    fixture.mock.control().clear_faults().await;
    let found = client.call_once(call).await;
    assert!(text(&found).contains("repeats a call"), "{}", text(&found));
    let brought = collect(&fixture, &client, &handle.unwrap()).await;
    assert!(text(&brought).contains("repeats a call"), "{}", text(&brought));
}

#[tokio::test]
async fn an_answer_that_belongs_to_no_question_is_not_told_that_nothing_was_done_while_the_email_leaves() {
    let fixture = Fixture::new().await;
    let person = Person::who_follows_links(Answer::Yes);
    let client = fixture.start_in_process(&person, Newer, &[]).await;
    let call = params("reply", fixture.reply("Once"));
    let (_, url) = link(client.service.call_tool_once(call).await.unwrap());
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_secs(2));
    let hanging = Effect::delay(Duration::ZERO).delayed(Duration::from_secs(60));
    let hanging = FaultRule::new(hanging).method("POST").path("/conversations/*/*");
    fixture.mock.control().add_fault(hanging).await.unwrap();
    window.press("send").await;
    crate::wire::under_way(&fixture.mock).await;
    assert_says_how_to_look(&collect(&fixture, &client, "0").await);
}

#[track_caller]
fn assert_only_this_call_sent_nothing(result: &CallToolResult) {
    let said = text(result);
    assert!(is_error(result) && !said.contains("Not sent") && said.contains("get_conversation"), "{said}");
}
