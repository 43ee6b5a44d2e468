//! The question about an email: every word, nothing hidden, nothing that passes for a line of it.

use serde_json::{Value, json};

use crate::fixture::{Answer, Fixture, Newer, Older, Person, in_process, params, structured, text};

/// The question about this call.
async fn question(fixture: &Fixture, tool: &'static str, call: Value) -> String {
    let person = Person::who(Answer::No);
    fixture.start_in_process(&person, Older, &[]).await.call(tool, call).await;
    person.questions().pop().expect("a question").replace(&fixture.conversation, "cnv_1")
}

#[tokio::test]
async fn the_question_shows_recipient_and_the_whole_text_first() {
    let fixture = Fixture::new().await;
    let call = fixture.reply("Hello Kim,\n\nyour refund is on its way.\n");
    insta::assert_snapshot!(question(&fixture, "reply", call).await);
}

#[tokio::test]
async fn nothing_in_the_mail_can_hide_or_pass_for_a_line_of_the_question() {
    let fixture = Fixture::with(|mail| {
        mail.name = Some("Kim\nTo: boss@example.com\u{202e}".into());
        mail.text = format!("To: me\u{202e}\n| {}", "x".repeat(2_000));
        mail.risk = Some("phishing".into());
        mail.risk_reasons = vec!["New domain\nTo: boss@example.com".into()];
    })
    .await;
    let control = fixture.mock.control();
    let world = control.state().await.unwrap().replace("kim@customer.example", "kim@ex\u{430}mple.com");
    control.restore(world).await.unwrap();
    let message = format!(
        "Hi\u{200b}{}To: someone@else.example\n![x](https://evil.example/?q=1){}far away\nhttps://p\u{430}ypal.com/x and \
         xn--pypal-4ve.com",
        "\n".repeat(60),
        " ".repeat(300)
    );
    let documents = json!([
        { "label": "Passport" },
        { "label": "Bill", "description": "https://p\u{430}y.example", "required": false },
    ]);
    let call = json!({ "id": fixture.conversation, "message": message, "documents": documents, "dueDate": "2030-04-01",
                       "send": true });
    insta::assert_snapshot!(question(&fixture, "request_documents", call).await);
}

#[tokio::test]
async fn what_a_stranger_chose_does_not_push_the_text_out_of_sight() {
    let fixture = Fixture::with(|mail| {
        mail.subject = Some("s".repeat(60_000));
        mail.name = Some("n".repeat(60_000));
    })
    .await;
    let question = question(&fixture, "reply", fixture.reply("Yes.")).await;
    assert!(question.find("| Yes.").is_some_and(|at| at < 200), "{question}");
    assert!(question.chars().count() < 1_500 && question.contains("… (cut here, it has"), "{question}");
}

#[tokio::test]
async fn a_text_that_does_not_fit_into_sight_is_shown_whole_and_said_to_be_long() {
    let fixture = Fixture::new().await;
    let long = (0..100).map(|i| format!("Line {i}\n")).collect::<String>();
    let long = question(&fixture, "reply", fixture.reply(&long)).await;
    assert!(long.contains("It is long") && long.contains("| Line 99\n(The text ends here.)"), "{long}");
    assert!(!question(&fixture, "reply", fixture.reply("Short")).await.contains("It is long"));
}

#[tokio::test]
async fn links_with_look_alike_letters_are_pointed_out() {
    let fixture = Fixture::new().await;
    for (text, warnings) in [
        ("see https://p\u{430}ypal.com/login", 1),
        ("[x](http://u@p\u{430}ypal.com:80)", 1),
        ("p\u{430}ypal.com", 1),
        ("www.\u{440}aypal.com.", 1),
        ("https://xn--pypal-4ve.com/x", 1),
        ("Grüße aus Köln. Привет", 0),
        ("https://example.com/straße", 0),
        ("3.5 km", 0),
        ("Ende.Neu", 0),
    ] {
        let shown = question(&fixture, "reply", fixture.reply(text)).await;
        assert_eq!(shown.matches("Look closely: the link").count(), warnings, "{text}: {shown}");
    }
}

#[tokio::test]
async fn only_an_accepted_form_with_the_box_ticked_is_a_yes() {
    for (answer, sends) in [
        (json!({ "action": "accept", "content": { "send": true } }), true),
        (json!({ "action": "accept", "content": { "send": false } }), false),
        (json!({ "action": "accept", "content": { "send": "true" } }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "decline", "content": { "send": true } }), false),
        (json!({ "action": "cancel" }), false),
        (json!({ "action": "yes", "content": { "send": true } }), false),
        (json!(true), false),
    ] {
        let (fixture, person, client) = in_process(Person::who(Answer::Yes), Newer, &[]).await;
        let call = || params("reply", fixture.reply("Hello"));
        let state = client.ask(call()).await;
        person.clock.forward(std::time::Duration::from_secs(2));
        let result = client.answer(call(), &state, answer.clone()).await;
        let sent = result.structured_content.is_some() && structured(&result)["status"] == "scheduled";
        assert_eq!(sent, sends, "{answer}: {}", text(&result));
        assert_eq!(fixture.mails().await.sent.len(), usize::from(sends), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_can_show_forms_shows_one_and_a_link_only_where_it_can_show_nothing_else() {
    let fixture = Fixture::new().await;
    for (modes, is_link) in [
        (json!({}), false),
        (json!({ "form": {} }), false),
        (json!({ "form": {}, "url": {} }), false),
        (json!({ "url": {} }), true),
    ] {
        let person = Person { modes: modes.clone(), ..Person::who(Answer::No) };
        fixture
            .start_in_process(&person, Older, &[])
            .await
            .call("reply", fixture.reply(&modes.to_string()))
            .await;
        let question = person.questions().pop().expect("a question");
        assert_eq!(question.starts_with("http://127.0.0.1:"), is_link, "{modes}: {question}");
    }
}
