//! Customers who write again, and people who stop an email: each app has one fault, or is the mended one.

use serde_json::{Value, json};
use shared_inbox_explore::explore::{AppContext, Explore, Oracle, Scenario};

use crate::explore::{
    apps::{
        Api, AppResult, answer, id, is_dealt_with, is_for_people, items, open_orders, order, since_last_mail,
    },
    assert_replay,
    planted::first::{answers_for_people, writes_again},
};

fn one_mail() -> Scenario {
    Scenario::new(["Where is my order 1042?"])
}

/// A customer who asks for a second order, in the same conversation.
pub(crate) const TWO_ORDERS: &str = r#"
    mails = [
        { from = "vera@customer.example", text = "Where is my order 1042?" },
        { from = "vera@customer.example", text = "And where is 1043?", follow_up = true },
    ]
"#;

fn two_orders() -> Scenario {
    Scenario::parse(TWO_ORDERS).expect("a scenario")
}

#[tokio::test]
async fn a_second_email_before_the_first_run_is_owed_an_answer() {
    let answers_first_emails_only = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            let is_first = entry["messageCount"] == 1 && !is_for_people(&entry);
            if let Some(order) = order(&entry["snippet"]).filter(|_| is_first) {
                api.draft(id(&entry), &answer(order)).await?;
            }
        }
        Ok(())
    };
    let explore = Explore::function(one_mail(), answers_first_emails_only);
    assert_replay(explore.clone(), "1_0_mail:0@run.0", Some(Oracle::NobodyForgotten)).await;
    // It would not answer the second one, but it owes an answer to the first.
    assert_replay(explore, "1_0_nudge:0@run.0", Some(Oracle::NobodyForgotten)).await;
}

#[tokio::test]
async fn a_second_email_comes_with_the_words_of_the_first_and_without() {
    let expects_an_order = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"])).ok_or("there is no order")?;
            if !is_dealt_with(since) {
                api.draft(id(&conversation), &answer(order)).await?;
            }
        }
        Ok(())
    };
    let explore = Explore::function(one_mail(), expects_an_order);
    assert_replay(explore.clone(), "1_0_mail:0@run.1", None).await;
    let report = assert_replay(explore, "1_0_nudge:0@run.1", Some(Oracle::WellBehaved)).await;
    assert_eq!(report.findings[0].steps[0]["kind"], "mail", "{report}");
}

/// Closes what it has drafted an answer to; `looks` again and opens it where an email has come that it had
/// not read.
async fn closes(context: AppContext, looks: bool) -> AppResult {
    let api = Api::new(context);
    for conversation in api.conversations().await? {
        let (mail, since) = since_last_mail(&conversation);
        let Some(order) = mail.and_then(|mail| order(&mail["text"])) else { continue };
        if !is_dealt_with(since) {
            api.draft(id(&conversation), &answer(order)).await?;
        }
        api.set_status(id(&conversation), "closed").await?;
        let now = api.read(id(&conversation)).await?;
        if looks && since_last_mail(&now).0.map(id) != mail.map(id) {
            api.set_status(id(&conversation), "open").await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_conversation_that_is_closed_over_an_unread_email_forgets_its_customer() {
    let closes_unread = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            let order = order(&entry["snippet"]).filter(|_| !is_for_people(&entry));
            if let Some(order) = order {
                api.draft(id(&entry), &answer(order)).await?;
            }
            api.set_status(id(&entry), "closed").await?;
        }
        Ok(())
    };
    let token = "1_0_mail:1@set_status.0";
    assert_replay(Explore::function(two_orders(), closes_unread), token, Some(Oracle::NobodyForgotten)).await;
    let mended = |context: AppContext| closes(context, true);
    assert_replay(Explore::function(two_orders(), mended), token, None).await;
}

/// Answers each question unless its answer stands there, or a person has dealt with it.
async fn answers_each_question(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for conversation in api.conversations().await? {
        let timeline = items(&conversation["timeline"]);
        let said = |item: &Value| item["text"].as_str().is_some_and(|text| text.starts_with("Your order"));
        let by_person = |item: &Value| {
            (item["direction"] == "outbound" && !said(item)) || item["event"] == "draft-discarded"
        };
        for (n, mail) in timeline.iter().enumerate().filter(|(_, item)| item["direction"] == "inbound") {
            let Some(answer) = order(&mail["text"]).map(answer) else { continue };
            let stands = timeline.iter().any(|item| item["text"] == answer.as_str());
            if !stands && !timeline[n..].iter().any(by_person) {
                api.send(id(&conversation), &answer).await?;
                break;
            }
        }
    }
    Ok(())
}

const STOPPED_FIRST: &str = "1_0.1_stop:0@end.1_lost-before@reply.0";

/// Answers each question as long as its answer has not left and will not, whatever a person did.
async fn ignores_a_stop(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for conversation in api.conversations().await? {
        let timeline = items(&conversation["timeline"]);
        for mail in timeline.iter().filter(|item| item["direction"] == "inbound") {
            let Some(answer) = order(&mail["text"]).map(answer) else { continue };
            let leaves = |item: &&Value| item["status"] == "scheduled" || item["status"] == "sent";
            if !timeline.iter().filter(leaves).any(|item| item["text"] == answer.as_str()) {
                api.send(id(&conversation), &answer).await?;
                break;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_that_a_person_stopped_is_not_written_again_beside_another_question() {
    let explore = Explore::function(two_orders(), ignores_a_stop);
    // An approval that comes after it was written again cancels nothing.
    for token in [STOPPED_FIRST, "1_0_stop:0@end.0_approve:0@end.1"] {
        assert_replay(explore.clone(), token, Some(Oracle::PersonsWord)).await;
    }
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_answers_each_question() {
    let explore = Explore::function(two_orders(), answers_each_question);
    // The first question again, after the second one: its answer stands there.
    assert_replay(explore.clone(), "1_0.1_mail:0@end.1", None).await;
    // Both questions came before the first answer, and a person stopped that one: the second question is
    // still owed its own.
    assert_replay(explore.clone(), STOPPED_FIRST, None).await;
    // So it is when the first question came again behind it.
    let asked_again = "1_0.1_mail:0@end.1_lost-after@list_conversations.0_lost-before@reply.0_stop:0@end.2";
    assert_replay(explore.clone(), asked_again, None).await;
    crate::explore::correct::holds(explore.seed(8)).await;
}

#[tokio::test]
async fn a_second_question_that_came_during_the_reply_is_not_answered_by_that_reply() {
    let looks_where_the_reply_stands = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"]));
            if let Some(order) = order.filter(|_| !is_dealt_with(since)) {
                api.send(id(&conversation), &answer(order)).await?;
            }
        }
        Ok(())
    };
    let token = "1_0_mail:1@reply.0";
    let explore = Explore::function(two_orders(), looks_where_the_reply_stands);
    assert_replay(explore.clone(), token, Some(Oracle::NobodyForgotten)).await;
    // The same question once more has its answer.
    assert_replay(explore, "1_0_mail:0@reply.0", None).await;
    let mended = Explore::function(two_orders(), answers_each_question);
    assert_replay(mended, token, None).await;
}

#[tokio::test]
async fn a_follow_up_of_the_scenario_comes_in_its_conversation_when_the_first_email_was_dealt_with() {
    let server = format!("mode = \"server\"\n{TWO_ORDERS}");
    let server = Explore::function(Scenario::parse(&server).expect("a scenario"), |context| {
        crate::explore::server_apps::run("correct", context.into())
    });
    let job = Explore::function(two_orders(), |context: AppContext| closes(context, true));
    for explore in [job, server] {
        let report = assert_replay(explore, "1_0.1", None).await;
        let story = report.timeline.join("\n");
        let (first, second) =
            (story.find("\"Where is my order 1042?\""), story.find("writes again: \"And where is 1043?\""));
        let answered =
            story.find("service   mails vera@customer.example: \"Your order 1042 is on its way.\"");
        assert!(first < answered && answered < second && second.is_some(), "{story}");
        assert!(story.contains("\"Your order 1043 is on its way.\" → 201"), "{story}");
    }
}

#[test]
fn a_follow_up_without_an_email_before_it_is_refused() {
    let mails = r#"mails = [{ from = "vera@customer.example", text = "And 1043?", follow_up = true }]"#;
    let why = Scenario::parse(mails).expect_err("refused");
    assert!(
        why.to_string().contains("line 1: mails[0].follow_up: there is no earlier mail by that customer"),
        "{why}"
    );
}

#[tokio::test]
async fn a_follow_up_needs_no_second_acknowledgement_from_an_app_that_gives_none() {
    for token in ["1_0.1", "1_0.1_lost-after@reply.0", "1_0_mail:1@reply.0", "1_0_mail:1@end.0"] {
        assert_replay(Explore::function(two_orders(), crate::explore::correct::acknowledges), token, None)
            .await;
    }
}

#[tokio::test]
async fn what_a_person_discarded_after_the_second_email_was_answered_is_not_written_again() {
    let explore = Explore::function(one_mail(), |context| writes_again(Api::new(context), true));
    assert_replay(explore.clone(), "1_0_mail:0@run.0_discard:0@end.0", Some(Oracle::PersonsWord)).await;
    // The API shows no sign of a discard: another draft, which a person sees, is no fault.
    let drafts = Explore::function(one_mail(), |context| writes_again(Api::new(context), false));
    assert_replay(drafts, "1_0_discard:0@end.0", None).await;
    // A second email that comes later asks for an answer of its own.
    assert_replay(explore, "1_0_discard:0@end.0_mail:0@run.1", None).await;
}

/// Only a read after a create that failed, and after the app has read and decided in the same work, may be
/// the client's own check.
#[tokio::test]
async fn a_read_that_checks_no_failed_create_is_held_against_the_app() {
    let answers_for_people = |context| answers_for_people(Api::new(context));
    let reads_twice = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            let again = api.read(id(&conversation)).await?;
            for order in open_orders(&again) {
                api.draft(id(&again), &answer(order)).await?;
            }
        }
        Ok(())
    };
    let server = |context: AppContext| crate::explore::server_apps::run("believes_the_event", context.into());
    // It is the first of the run that tries again; no create has failed; it is the first since the event came
    // again.
    for (explore, token) in [
        (
            Explore::function(one_mail(), answers_for_people),
            "1_0_lost-before@reply.0_assign:0@get_conversation.1",
        ),
        (Explore::function(one_mail(), reads_twice), "1_0_assign:0@get_conversation.1"),
        (
            Explore::function(one_mail().server(), server),
            "1_0_lost-before@reply.0_assign:0@get_conversation.1",
        ),
    ] {
        assert_replay(explore, token, Some(Oracle::PersonsWord)).await;
    }
}

/// Remembers how many questions it has answered, before it answers.
async fn marks_before_it_answers(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for conversation in api.conversations().await? {
        let inbound = items(&conversation["timeline"]).iter().filter(|item| item["direction"] == "inbound");
        let mark = api.file(&inbound.count().to_string());
        if !mark.exists() {
            std::fs::write(mark, "").map_err(|error| error.to_string())?;
            api.send(id(&conversation), &answer("1042")).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn interference_of_which_nothing_came_excuses_no_forgotten_follow_up() {
    let same_question_twice = TWO_ORDERS.replace("And where is 1043?", "Where is my order 1042?");
    let scenario = Scenario::parse(&same_question_twice).expect("a scenario");
    // Nobody was asked for a document.
    let token = "1_0.1_upload:0@run.0_lost-before@reply.1";
    assert_replay(Explore::function(scenario, marks_before_it_answers), token, Some(Oracle::NobodyForgotten))
        .await;
}

#[tokio::test]
async fn nobody_approves_again_what_a_person_stopped() {
    // Asks for a document, and reminds of it once that email has left.
    let asks_and_reminds = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            let path = format!("/conversations/{}/replies", id(&conversation));
            let own = items(&conversation["timeline"]).iter().filter(|item| item["direction"] == "outbound");
            let own: Vec<&Value> = own.collect();
            let documents = json!([{ "label": "Receipt" }]);
            match &own[..] {
                [] => {
                    let body =
                        json!({ "body": "Please send the receipt.", "documents": documents, "send": true });
                    api.post(&path, body).await?;
                }
                [asked] if asked["status"] == "sent" => {
                    api.send(id(&conversation), "We still wait for the receipt.").await?;
                }
                _ => {}
            }
        }
        Ok(())
    };
    let explore = Explore::function(one_mail(), asks_and_reminds);
    let report = assert_replay(explore, "1_0_stop:0@end.0", None).await;
    assert!(!report.timeline.iter().any(|line| line.contains("service   mails")), "{report}");
}

#[tokio::test]
async fn a_rule_that_is_switched_off_is_not_checked() {
    let mails = r#"mails = ["Where is my order 1042?"]"#;
    for (rules, found) in [("", Some(Oracle::PersonsWord)), ("\nrules = { persons-word = false }", None)] {
        let scenario = Scenario::parse(&format!("{mails}{rules}")).expect("a scenario");
        let explore = Explore::function(scenario, |context| answers_for_people(Api::new(context)));
        assert_replay(explore, "1_0_assign:0@run.0", found).await;
    }
}
