//! Correct apps: whatever happens, nothing is found.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_inbox::{
    Client, Error,
    clock::{BoxFuture, Clock},
};
use shared_inbox_explore::{AppContext, Explore, Scenario};

use crate::{
    apps::{Api, AppResult, answer, id, is_dealt_with, is_for_people, items, order, since_last_mail},
    server_apps::{look_after, look_after_with_sdk},
};

/// Reads a conversation before it drafts, and sets the status last. What fails is made good by the next run.
async fn drafts(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open().await? {
        look_after(&api, id(&entry)).await?;
    }
    Ok(())
}

/// Sends, tags and leaves a note, each only if it is not there yet.
async fn sends(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_mail(&conversation);
        let Some(order) = mail.and_then(|mail| order(&mail["text"])) else { continue };
        if is_for_people(&conversation) {
            continue;
        }
        if !is_dealt_with(since) {
            api.send(id(&entry), &answer(order)).await?;
        }
        let said = format!("Told them about {order}");
        if !items(&conversation["timeline"]).iter().any(|item| item["body"] == said.as_str()) {
            api.note(id(&entry), &said).await?;
        }
        if !items(&conversation["tags"]).contains(&json!("order")) {
            api.tag(id(&entry), "order").await?;
        }
    }
    Ok(())
}

/// A clock that waits by moving its own hands, so that the client's read-backs take no time.
#[derive(Debug)]
pub(crate) struct LeapingClock(Mutex<Instant>);

impl LeapingClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now().into())
    }
}

impl Clock for LeapingClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { *self.0.lock().unwrap() += wait })
    }
}

/// The same with the client of this project, which checks before it retries.
async fn with_the_sdk(context: AppContext) -> AppResult {
    let message = |error: Error| error.to_string();
    let builder = Client::builder(&context.base_url, &context.key).clock(LeapingClock::new());
    let inbox = builder.build().map_err(message)?;
    for entry in inbox.conversations().limit(100).await.map_err(message)? {
        look_after_with_sdk(&inbox, &entry.id).await.map_err(message)?;
    }
    Ok(())
}

/// Takes the conversation first, asks for a document, and closes nothing.
async fn asks_for_documents(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_mail(&conversation);
        if mail.and_then(|mail| order(&mail["text"])).is_none() || is_for_people(&conversation) {
            continue;
        }
        if conversation["assignee"].is_null() {
            api.post(&format!("/conversations/{}/assign", id(&entry)), json!({ "to": "me" })).await?;
        }
        if !is_dealt_with(since) {
            let body =
                json!({ "documents": [{ "label": "Receipt" }], "message": "Please send us the receipt." });
            api.post(&format!("/conversations/{}/document-requests", id(&entry)), body).await?;
        }
    }
    Ok(())
}

/// Says once in each conversation that the mail has come, whatever comes later; an automatic reply gets no answer.
pub(crate) async fn acknowledges(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        if is_for_people(&conversation) {
            continue;
        }
        if !is_dealt_with(items(&conversation["timeline"])) {
            api.draft(id(&entry), "Thank you, we are on it.").await?;
        }
        api.set_status(id(&entry), "waiting").await?;
    }
    Ok(())
}

/// Remembers the ids of the mails that it has answered, and looks before it answers all the same.
async fn remembers(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (Some(mail), since) = since_last_mail(&conversation) else { continue };
        let answered = api.file(id(mail));
        let Some(order) = order(&mail["text"]) else { continue };
        if answered.exists() || is_for_people(&conversation) {
            continue;
        }
        if !is_dealt_with(since) {
            api.draft(id(&entry), &answer(order)).await?;
        }
        std::fs::write(answered, "").map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken", "Hello there"])
}

#[tokio::test]
async fn the_context_of_an_app_shows_no_key_in_its_debug_form() {
    let app = |context: AppContext| async move {
        let is_shown = format!("{context:?}").contains(&context.key);
        Api::new(context).open().await?;
        if is_shown { Err("it shows the key".to_owned()) } else { Ok(()) }
    };
    let scenario = Scenario::new(["Where is my order 1042?"]);
    let report = Explore::function(scenario, app).max_schedules(1).run().await.expect("it ran");
    assert!(report.held(), "{report}");
}

/// Schedules of each app; the variable is for a longer run.
fn schedules() -> u64 {
    std::env::var("EXPLORE_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(1)
}

pub(crate) async fn holds(explore: Explore) {
    let began = std::time::Instant::now();
    let report = explore.max_schedules(schedules()).seconds(7200.0).run().await.expect("it ran");
    println!("{} schedules, {} states, {:?}", report.schedules, report.states, began.elapsed());
    assert!(report.held(), "{report}");
}

#[tokio::test]
async fn each_schedule_is_counted_once_as_a_single_step_a_pair_or_at_random() {
    let app =
        async |context: AppContext| Api::new(context).open().await.map(drop).map_err(|_| "lost".to_owned());
    let scenario = Scenario::new(["Hello"]);
    let explore = Explore::function(scenario, app).seed(4).max_schedules(90).seconds(3600.0);
    let report = explore.run().await.expect("it ran");
    let coverage = report.coverage;
    assert_eq!(coverage.singles.tried, coverage.singles.of, "{report}");
    assert!(coverage.pairs.tried <= coverage.pairs.of && coverage.random > 0, "{report}");
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_reads_before_it_drafts() {
    holds(Explore::function(scenario(), drafts)).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_reads_before_it_drafts_when_nobody_approves() {
    holds(Explore::function(scenario().nobody_approves(), drafts).seed(2)).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_sends_tags_and_notes() {
    holds(Explore::function(scenario(), sends).seed(3)).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_with_the_client() {
    holds(Explore::function(scenario(), with_the_sdk).seed(4)).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_asks_for_documents() {
    holds(Explore::function(scenario(), asks_for_documents).seed(5)).await;
}

#[tokio::test]
async fn what_a_client_reads_to_check_a_lost_reply_is_not_held_against_the_app() {
    for lost in ["lost-after", "cut-off"] {
        let token = format!("1_1.2_{lost}@reply.0_mail:1@get_conversation.2");
        let report = Explore::function(scenario(), with_the_sdk).replay(&token).await.expect("it ran");
        assert!(report.held(), "{report}");
    }
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_acknowledges_each_conversation_once() {
    holds(Explore::function(scenario(), acknowledges).seed(6)).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_remembers_what_it_answered() {
    holds(Explore::function(scenario(), remembers).seed(7)).await;
}

#[tokio::test]
async fn an_automatic_reply_is_not_held_against_an_app_that_does_not_answer_it() {
    for place in ["end.0", "people.0", "run.1", "list_conversations.1"] {
        for (apps, explore) in [
            ("drafts", Explore::function(scenario(), drafts)),
            ("acknowledges", Explore::function(scenario(), acknowledges)),
        ] {
            let report = explore.replay(&format!("1_0_auto-reply:0@{place}")).await.expect("it ran");
            assert!(report.held(), "{apps}: {report}");
        }
    }
}

#[tokio::test]
async fn a_conversation_that_a_person_took_unseen_and_the_app_took_after_them_is_the_apps() {
    let token = "1_0.1.2_mail:0@run.1_assign:0@get_conversation.2.after";
    let report = Explore::function(scenario(), asks_for_documents).replay(token).await.expect("it ran");
    assert!(report.held(), "{report}");
}

#[tokio::test]
async fn a_function_that_panics_is_a_failed_run() {
    let app = |_: AppContext| async { panic!("no such order") };
    let why = Explore::function(scenario(), app).run().await.expect_err("it fails without trouble");
    assert!(why.contains("it panicked"), "{why}");
}

#[tokio::test]
async fn a_function_that_blocks_its_thread_is_given_up_after_the_timeout() {
    let app = |_: AppContext| async {
        std::thread::sleep(std::time::Duration::from_secs(30));
        Ok(())
    };
    let explore = Explore::function(scenario(), app).app_timeout(std::time::Duration::from_millis(50));
    let why = explore.run().await.expect_err("it never ends");
    assert!(why.contains("does not end"), "{why}");
}
