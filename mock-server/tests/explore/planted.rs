//! Apps with one realistic fault each. The explorer finds it, and shrinks it.

use std::{fs, future::Future};

use serde_json::json;
use shared_inbox_mock::explore::{AppContext, Explore, Finding, Oracle, Scenario};

use crate::apps::{
    Api, Done, Failed, answer, id, is_dealt_with, is_for_people, items, order, since_last_mail,
};

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

/// Finds the fault, and checks that the token stands for it.
async fn found<F, R>(scenario: Scenario, oracle: Oracle, app: F) -> Finding
where
    F: Fn(AppContext) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Done> + Send + 'static,
{
    let began = std::time::Instant::now();
    let explore = Explore::function(scenario.clone(), app.clone()).seconds(600.0).max_schedules(3000);
    let report = explore.run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("nothing found: {report}") };
    println!(
        "{}: {} schedules, {} of {} steps, {}, {:?}",
        finding.replay,
        report.schedules,
        finding.steps.len(),
        finding.shrunk_from,
        finding.reproduced,
        began.elapsed()
    );
    assert_eq!(finding.oracle, oracle, "{report}");
    assert_eq!(finding.reproduced, "5 of 5");
    assert!(finding.steps.len() <= 3, "{report}");
    let again = Explore::function(scenario, app).replay(&finding.replay).await.expect("it ran");
    assert_eq!(again.findings[0].summary, finding.summary);
    finding.clone()
}

/// What an app would answer: the conversation, and the order.
async fn open_orders(api: &Api) -> Done<Vec<(String, String)>> {
    let mut orders = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_mail(&conversation);
        let order = mail.and_then(|mail| order(&mail["text"]));
        if let Some(order) = order.filter(|_| !is_for_people(&conversation) && !is_dealt_with(since)) {
            orders.push((id(&entry).to_owned(), order.to_owned()));
        }
    }
    Ok(orders)
}

#[tokio::test]
async fn a_create_that_is_retried_without_looking() {
    let finding = found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            if api.draft(&id, &answer(&order)).await == Err(Failed::Lost) {
                api.draft(&id, &answer(&order)).await?;
            }
            api.set_status(&id, "waiting").await?;
        }
        Ok(())
    })
    .await;
    assert_eq!(finding.steps.len(), 1);
    assert!(finding.timeline.iter().any(|line| line.contains("was taken, then the response was lost")));
}

#[tokio::test]
async fn an_app_that_knows_what_it_did_only_by_the_status() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            if let Some(order) = order(&entry["snippet"]).filter(|_| !is_for_people(&entry)) {
                api.draft(id(&entry), &answer(order)).await?;
                api.set_status(id(&entry), "waiting").await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_mark_before_the_effect() {
    found(scenario(), Oracle::NobodyForgotten, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            api.set_status(&id, "waiting").await?;
            api.draft(&id, &answer(&order)).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_file_that_says_done_before_it_is() {
    found(scenario(), Oracle::NobodyForgotten, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            let done = api.file(&id);
            if !done.exists() {
                fs::write(done, "").map_err(|error| error.to_string())?;
                api.draft(&id, &answer(&order)).await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_file_that_says_done_only_when_the_response_came() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            let done = api.file(id(&entry));
            let order = order(&entry["snippet"]).filter(|_| !is_for_people(&entry) && !done.exists());
            if let Some(order) = order {
                api.draft(id(&entry), &answer(order)).await?;
                fs::write(done, "").map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_app_that_answers_what_a_person_has_taken_over() {
    found(scenario(), Oracle::PersonsWord, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"]));
            if let Some(order) = order.filter(|_| entry["risk"].is_null() && !is_dealt_with(since)) {
                api.draft(id(&entry), &answer(order)).await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_app_that_answers_held_mail() {
    let finding = found(scenario(), Oracle::PersonsWord, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"]));
            let for_people = conversation["assignee"]["type"] == "user";
            if let Some(order) = order.filter(|_| !for_people && !is_dealt_with(since)) {
                api.draft(id(&entry), &answer(order)).await?;
            }
        }
        Ok(())
    })
    .await;
    assert!(finding.summary.contains("risk"), "{}", finding.summary);
}

#[tokio::test]
async fn a_draft_that_is_written_again_when_a_person_has_discarded_it() {
    found(scenario(), Oracle::PersonsWord, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"]));
            let answered = since.iter().any(|item| item["direction"] == "outbound");
            if let Some(order) = order.filter(|_| !is_for_people(&conversation) && !answered) {
                api.draft(id(&entry), &answer(order)).await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_429_that_is_taken_for_an_answer() {
    found(scenario(), Oracle::NobodyForgotten, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            match api.draft(&id, &answer(&order)).await {
                Ok(_) | Err(Failed::Status(429)) => {}
                Err(failed) => return Err(failed.into()),
            }
            api.set_status(&id, "closed").await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_an_automatic_reply() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            let (mail, since) = since_last_mail(&conversation);
            if mail.is_some() && !is_for_people(&conversation) && !is_dealt_with(since) {
                api.draft(id(&entry), "Thank you, we are on it.").await?;
            }
            api.set_status(id(&entry), "waiting").await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_note_that_is_written_again_by_the_next_run() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            api.note(&id, &format!("The app answers about {order}")).await?;
            api.draft(&id, &answer(&order)).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_tag_that_is_forgotten_once_the_answer_is_there() {
    let finding = found(scenario(), Oracle::SameEnd, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            api.draft(&id, &answer(&order)).await?;
            api.tag(&id, "answered").await?;
        }
        Ok(())
    })
    .await;
    assert!(finding.summary.contains("tags is nothing instead of \"answered\""), "{}", finding.summary);
}

#[tokio::test]
async fn a_lock_that_a_killed_run_leaves_behind() {
    let finding = found(scenario(), Oracle::WellBehaved, |context| async move {
        let api = Api::new(context);
        let lock = api.file("lock");
        if lock.exists() {
            return Err("another run is under way".to_owned());
        }
        fs::write(&lock, "").map_err(|error| error.to_string())?;
        let done = async {
            for (id, order) in open_orders(&api).await? {
                api.draft(&id, &answer(&order)).await?;
            }
            Ok(())
        }
        .await;
        fs::remove_file(&lock).map_err(|error| error.to_string())?;
        done
    })
    .await;
    assert_eq!(finding.steps[0]["kind"], "kill");
}

#[tokio::test]
async fn a_page_that_is_full_of_what_people_have() {
    found(scenario(), Oracle::NobodyForgotten, |context| async move {
        let api = Api::new(context);
        for entry in items(&api.get("/conversations?limit=1").await?) {
            let conversation = api.read(id(entry)).await?;
            let (mail, since) = since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"]));
            if let Some(order) = order.filter(|_| !is_for_people(&conversation)) {
                if !is_dealt_with(since) {
                    api.draft(id(entry), &answer(order)).await?;
                }
                api.set_status(id(entry), "waiting").await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_close_that_overlooks_a_mail_that_it_has_read() {
    found(scenario(), Oracle::NobodyForgotten, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            api.draft(&id, &answer(&order)).await?;
        }
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            if items(&conversation["timeline"]).iter().any(|item| item["direction"] == "outbound") {
                api.set_status(id(&entry), "closed").await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_draft_in_place_of_a_send_that_seems_to_have_failed() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            if api.send(&id, &answer(&order)).await.is_err() {
                api.post(&format!("/conversations/{id}/replies"), json!({ "body": answer(&order) })).await?;
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_look_for_drafts_alone_after_a_lost_response() {
    found(scenario(), Oracle::NeverTwice, |context| async move {
        let api = Api::new(context);
        for (id, order) in open_orders(&api).await? {
            if api.draft(&id, &answer(&order)).await.is_err() {
                let conversation = api.read(&id).await?;
                let (_, since) = since_last_mail(&conversation);
                if !since.iter().any(|item| item["status"] == "draft" || item["event"] == "draft-discarded") {
                    api.draft(&id, &answer(&order)).await?;
                }
            }
        }
        Ok(())
    })
    .await;
}
