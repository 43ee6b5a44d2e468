//! Days that pass: what an app does later has its bad days too.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_explore::explore::{AppContext, Explore, MarkKind, Oracle, Scenario};

use crate::explore::apps::{
    Api, AppResult, RequestError, answer, id, is_dealt_with, is_for_people, items, order, since_last_order,
};
use crate::explore::{assert_replay, long_schedules};

const REMINDER: &str = "Did our answer help you?";
const THREE_DAYS: Duration = Duration::from_secs(3 * 86_400);

fn scenario(days: u32) -> Scenario {
    Scenario::new(["Where is my order 1042?"]).days(days)
}

/// Answers, and asks three days later whether that helped. After a lost response it `looks` before it asks
/// again.
async fn asks_later(context: AppContext, now: Timestamp, looks: bool) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_order(&conversation);
        let Some(order) = mail.and_then(|mail| order(&mail["text"])) else { continue };
        if is_for_people(&conversation) {
            continue;
        }
        let own = |item: &&Value| item["status"] == "sent" && item["text"] == answer(order).as_str();
        let sent = since.iter().find(own);
        let sent_at = sent.and_then(|item| item["at"].as_str()?.parse::<Timestamp>().ok());
        let is_due = sent_at.is_some_and(|at| at + THREE_DAYS <= now);
        let asked = since.iter().any(|item| item["text"] == REMINDER);
        let is_plain = !since.iter().any(|item| item["event"] == "draft-discarded");
        // A person who edits an answer to an earlier email has written later than its place says.
        let mut all_sent = items(&conversation["timeline"]).iter().filter(|item| item["status"] == "sent");
        let nobody_else_wrote = all_sent.all(|item| item["text"] == answer(order).as_str());
        if !is_dealt_with(since) {
            api.send(id(&entry), &answer(order)).await?;
        } else if is_due && !asked && is_plain && nobody_else_wrote && since.len() == 1 {
            let outcome = api.send(id(&entry), REMINDER).await;
            if outcome == Err(RequestError::Lost) && !looks {
                api.send(id(&entry), REMINDER).await?;
            }
        }
    }
    Ok(())
}

async fn faulty(context: AppContext) -> AppResult {
    let now = context.time;
    asks_later(context, now, false).await
}

async fn mended(context: AppContext) -> AppResult {
    let now = context.time;
    asks_later(context, now, true).await
}

#[tokio::test]
async fn trouble_strikes_on_the_days_that_pass_too() {
    let token = "1_0_lost-after@reply.1";
    let report = Explore::function(scenario(4), faulty).replay(token).await.expect("it ran");
    let finding = report.findings.first().expect("a finding");
    assert_eq!(finding.oracle, Oracle::NeverTwice, "{finding}");
    let story = finding.timeline.join("\n");
    // Days on which nothing happens are one line.
    let lines = [
        "days 2 to 3 pass; the app only reads",
        "day 4 begins",
        "then the response was lost",
        "day 5 begins",
    ];
    let places: Vec<_> = lines.iter().map(|line| story.find(line)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{story}");
    let marked =
        |kind| finding.marks.iter().filter(|mark| mark.kind == kind).map(|mark| mark.line).next_back();
    let lost = finding.timeline.iter().position(|line| line.contains(lines[2]));
    assert_eq!(marked(MarkKind::Trouble), lost, "{story}");
    assert!(marked(MarkKind::Broken) > lost, "{story}");
    assert_replay(Explore::function(scenario(4), mended), token, None).await;
    // Without days nobody is asked.
    let report = Explore::function(scenario(0), faulty).replay(token).await.expect("it ran");
    assert!(report.held() && report.note.is_none(), "{report}");
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_asks_days_later() {
    let explore = Explore::function(scenario(4), mended);
    for token in [
        // Another customer writes on the second day: three days after their answer, the days are over.
        "1_0_nudge:0@run.0_new-mail:0@get_conversation.2",
        // A person stops the answer, and approves it later.
        "1_0_stop:0@end.0_approve:0@get_conversation.1",
        // The customer writes again, and a person then edits the answer to their first email.
        "1_0_stop:0@end.0_mail:0@people.0_edit:0@end.1",
    ] {
        assert_replay(explore.clone(), token, None).await;
    }
    crate::explore::correct::holds(explore.seed(9)).await;
}

#[tokio::test]
async fn a_customer_who_first_writes_on_the_first_day_is_held_to_the_same_end() {
    // It notes a conversation as tagged before the tag is set.
    let app = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            let done = api.file(id(&entry));
            if !done.exists() {
                std::fs::write(done, "").map_err(|error| error.to_string())?;
                api.tag(id(&entry), "order").await?;
            }
        }
        Ok(())
    };
    let explore = Explore::function(scenario(1), app);
    // The tag that is lost is that of the scenario's customer, then that of the other one.
    for token in [
        "1_0_new-mail:0@run.0_lost-before@tag_conversation.0",
        "1_0_new-mail:0@run.1_lost-before@tag_conversation.1",
    ] {
        assert_replay(explore.clone(), token, Some(Oracle::SameEnd)).await;
    }
    assert_replay(explore, "1_0_new-mail:0@run.2_lost-before@tag_conversation.1", None).await;
}

#[tokio::test]
async fn what_goes_wrong_on_a_later_day_is_found_by_exploring() {
    let explore = Explore::function(scenario(4), faulty).seconds(3600.0).max_schedules(100);
    let report = explore.run().await.expect("it ran");
    let finding = report.findings.first().expect("a finding");
    assert_eq!((finding.oracle, finding.replay.as_str()), (Oracle::NeverTwice, "1_0_lost-after@reply.1"));
}

#[tokio::test]
async fn an_app_that_goes_by_the_clock_of_the_machine_is_told_where_the_time_is() {
    let app = |context: AppContext| asks_later(context, Timestamp::now(), true);
    let report = Explore::function(scenario(4), app).max_schedules(1).run().await.expect("it ran");
    let note = report.note.as_deref().unwrap_or_default();
    assert!(note.contains("SHARED_INBOX_TIME") && note.contains("Date"), "{report}");
    assert!(report.to_string().contains(note), "{report}");
}

/// Asks for a receipt; `knows` that a customer may upload it.
async fn asks_for_a_receipt(context: AppContext, knows: bool) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        if !knows && items(&conversation["timeline"]).iter().any(|item| item["event"] == "upload") {
            return Err("there is no such event".to_owned());
        }
        let (mail, since) = since_last_order(&conversation);
        let is_question = mail.is_some_and(|mail| order(&mail["text"]).is_some());
        if is_question && !is_for_people(&conversation) && !is_dealt_with(since) {
            let body = json!({ "documents": [{ "label": "Receipt" }], "send": true });
            api.post(&format!("/conversations/{}/document-requests", id(&entry)), body).await?;
        }
    }
    Ok(())
}

/// Asks for a receipt and thanks for it, once more when the response was lost.
async fn thanks_blindly(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        let timeline = items(&conversation["timeline"]);
        let has_come = timeline.iter().any(|item| item["event"] == "upload");
        let (mail, since) = since_last_order(&conversation);
        if mail.is_none() || is_for_people(&conversation) {
            continue;
        }
        if !is_dealt_with(since) {
            let body = json!({ "documents": [{ "label": "Receipt" }], "send": true });
            api.post(&format!("/conversations/{}/document-requests", id(&entry)), body).await?;
        } else if has_come && !timeline.iter().any(|item| item["text"] == THANKS) {
            let lost = Err(crate::explore::apps::RequestError::Lost);
            if api.send(id(&entry), THANKS).await == lost {
                api.send(id(&entry), THANKS).await?;
            }
        }
    }
    Ok(())
}

const THANKS: &str = "Thank you for the receipt.";

/// A plain run replays the schedule that a long one searches for.
#[tokio::test]
async fn what_takes_an_upload_and_then_a_lost_response_is_found_before_the_last_single_steps() {
    let explore = Explore::function(scenario(0), thanks_blindly);
    let Some(_) = long_schedules() else {
        assert_replay(explore, "1_0_upload:0@end.0_lost-after@reply.0", Some(Oracle::NeverTwice)).await;
        return;
    };
    let report = explore.seconds(3600.0).max_schedules(1_000).run().await.expect("it ran");
    let finding = report.findings.first().unwrap_or_else(|| panic!("{report}"));
    println!("{}", finding.replay);
    assert_eq!((finding.oracle, finding.steps.len()), (Oracle::NeverTwice, 2), "{report}");
    assert!(finding.replay.contains("upload:") && finding.replay.contains("_lost-after@reply."), "{report}");
    assert!(report.coverage.singles.tried < report.coverage.singles.of, "{report}");
}

#[tokio::test]
async fn the_customer_uploads_what_was_asked_for_and_the_service_reminds_them() {
    let explore = Explore::function(scenario(0), |context| asks_for_a_receipt(context, false));
    let report = explore.clone().replay("1_0_upload:0@run.1").await.expect("it ran");
    let finding = report.findings.first().expect("a finding");
    assert_eq!(finding.oracle, Oracle::WellBehaved, "{finding}");
    assert!(finding.timeline.join("\n").contains("customer1@customer.example uploads"), "{finding}");
    let report = assert_replay(explore, "1_0_reminder:0@run.1", None).await;
    let story = report.timeline.join("\n");
    assert!(story.contains("mails customer1@customer.example: \"This is a reminder"), "{story}");
    let mended = Explore::function(scenario(8), |context| asks_for_a_receipt(context, true));
    crate::explore::correct::holds(mended.seed(10)).await;
}
