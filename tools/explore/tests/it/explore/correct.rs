//! Correct apps: whatever happens, nothing is found.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use shared_inbox::{
    Client, Error, View,
    clock::{BoxFuture, Clock},
};
use shared_inbox_explore::explore::{AppContext, Explore, ExploreError, GridCell, Oracle, Scenario};
use shared_inbox_mock::Expectation;

use crate::explore::{
    apps::{
        Api, AppResult, answer, asked_orders, id, is_dealt_with, is_for_people, items, open_orders, order,
        since_last_order,
    },
    assert_replay, long_schedules,
    server_apps::{look_after, look_after_with_sdk},
};

/// Reads a conversation before it drafts, and sets the status last. What fails is made good by the next run.
pub(crate) async fn drafts(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        look_after(&api, id(&entry)).await?;
    }
    Ok(())
}

/// Sends, tags and leaves a note, each only if it is not there yet.
async fn sends(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        if asked_orders(&conversation).is_empty() || is_for_people(&conversation) {
            continue;
        }
        for order in open_orders(&conversation) {
            api.send(id(&entry), &answer(order)).await?;
        }
        for order in asked_orders(&conversation) {
            let said = format!("Told them about {order}");
            if !items(&conversation["timeline"]).iter().any(|item| item["body"] == said.as_str()) {
                api.note(id(&entry), &said).await?;
            }
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
    let mut all: Vec<_> = inbox.conversations().limit(100).await.map_err(message)?.into_iter().collect();
    for entry in inbox.conversations().view(View::Waiting).limit(100).await.map_err(message)? {
        // One that has left meanwhile is in both lists.
        if !all.iter().any(|known| known.id == entry.id) {
            all.push(entry);
        }
    }
    for entry in all {
        look_after_with_sdk(&inbox, &entry.id).await.map_err(message)?;
    }
    Ok(())
}

/// Takes the conversation first, asks for a document, and closes nothing.
async fn asks_for_documents(context: AppContext) -> AppResult {
    let api = Api::new(context);
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_order(&conversation);
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

/// Says once in each conversation that the mail has come, whatever comes later; an automatic reply gets no
/// answer.
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
        if is_for_people(&conversation) {
            continue;
        }
        let mut open = open_orders(&conversation);
        for mail in items(&conversation["timeline"]).iter().filter(|item| item["direction"] == "inbound") {
            let answered = api.file(id(mail));
            let Some(order) = order(&mail["text"]).filter(|_| !answered.exists()) else { continue };
            if open.contains(&order) {
                api.draft(id(&entry), &answer(order)).await?;
                // One answer is to all mails that ask for this order.
                open.retain(|other| *other != order);
            }
            std::fs::write(answered, "").map_err(|error| error.to_string())?;
        }
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

/// Explores a correct app, in which nothing is found though something was tried: it answers its customers,
/// and made further requests after a step had struck, at which second steps are planned.
pub(crate) async fn holds(explore: Explore) {
    let began = Instant::now();
    let report =
        explore.max_schedules(long_schedules().unwrap_or(1)).seconds(7200.0).run().await.expect("it ran");
    println!("{} schedules, {} states, {:?}", report.schedules, report.states, began.elapsed());
    assert!(report.held(), "{report}");
    let answers_nobody = report.note.as_ref().is_some_and(|note| note.contains("answers nobody"));
    assert!(!answers_nobody && report.coverage.pairs.of > 0, "it tried nothing: {report}");
}

#[tokio::test]
async fn an_app_that_only_reads_does_not_pass_for_a_correct_one() {
    let reads = |context| async { Api::new(context).open().await.map(drop).map_err(String::from) };
    let held = tokio::spawn(holds(Explore::function(scenario(), reads))).await;
    let panic = held.expect_err("there is nothing that it could do wrong").into_panic();
    let said = panic.downcast_ref::<String>().expect("a message");
    assert!(said.contains("it tried nothing"), "{said}");
}

#[tokio::test]
async fn each_schedule_is_counted_once_as_a_single_step_a_pair_or_at_random() {
    let app =
        async |context: AppContext| Api::new(context).open().await.map(drop).map_err(|_| "lost".to_owned());
    let explore = Explore::function(Scenario::new(["Hello"]), app).seed(4).max_schedules(90).seconds(3600.0);
    let report = explore.run().await.expect("it ran");
    let (singles, pairs, random) = (report.coverage.singles, report.coverage.pairs, report.coverage.random);
    assert_eq!((singles.tried, singles.tried + pairs.tried + random), (singles.of, 90), "{report}");
    assert!(pairs.tried <= pairs.of && random > 0, "{report}");
}

#[tokio::test]
async fn pairs_around_a_create_come_before_the_single_steps_at_reads() {
    let app = async |context: AppContext| Api::new(context).answer_what_the_list_shows().await;
    let rules = [
        Oracle::NeverTwice,
        Oracle::NobodyForgotten,
        Oracle::PersonsWord,
        Oracle::WellBehaved,
        Oracle::SameEnd,
    ];
    let scenario = Scenario::new(["Where is my order 1042?"]).nobody_approves().without_rules(rules);
    // A slow response takes as long as an app may.
    let explore = Explore::function(scenario, app).seconds(3600.0).app_timeout(Duration::from_secs(1));
    let all = explore.clone().max_schedules(1).run().await.expect("it ran").coverage.singles.of as u64;
    let coverage = explore.max_schedules(all).run().await.expect("it ran").coverage;
    let is_at_read = |it: &&GridCell| it.kind == "failure" && it.place.starts_with("GET");
    let at_reads: Vec<&GridCell> = coverage.grid.iter().filter(is_at_read).collect();
    assert!(!at_reads.is_empty() && coverage.pairs.tried > 0, "{coverage}");
    assert!(at_reads.iter().all(|it| it.tried == 0), "{at_reads:?}");
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
async fn how_often_the_service_has_reminded_a_customer_is_not_held_against_the_app() {
    let token =
        "1_0.1_mail:0@end.0_lost-after@request_documents.2_lost-after@list_conversations.3_new-mail:1@end.2";
    assert_replay(Explore::function(scenario(), asks_for_documents), token, None).await;
}

#[tokio::test]
async fn what_a_client_reads_to_check_a_lost_reply_is_not_held_against_the_app() {
    for lost in ["lost-after", "cut-off"] {
        let token = format!("1_1.2_{lost}@reply.0_mail:1@get_conversation.2");
        assert_replay(Explore::function(scenario(), with_the_sdk), &token, None).await;
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
    assert_replay(Explore::function(scenario(), asks_for_documents), token, None).await;
}

#[tokio::test]
async fn a_function_that_panics_is_a_failed_run() {
    let app = |_: AppContext| async { panic!("no such order") };
    let why = Explore::function(scenario(), app).run().await.expect_err("it fails without trouble");
    assert!(why.to_string().contains("it panicked"), "{why}");
}

#[tokio::test]
async fn a_function_that_blocks_its_thread_is_given_up_after_the_timeout() {
    let blocked = Arc::new(Mutex::new(()));
    let app = {
        let blocked = Arc::clone(&blocked);
        move |_: AppContext| {
            let blocked = Arc::clone(&blocked);
            async move { blocked.lock().map(drop).map_err(|error| error.to_string()) }
        }
    };
    let explore = Explore::function(scenario(), app).app_timeout(Duration::from_millis(50));
    let held = blocked.lock();
    let why = explore.run().await.expect_err("it never ends");
    drop(held);
    assert!(why.to_string().contains("does not end"), "{why}");
}

#[tokio::test]
async fn an_expectation_counts_from_the_arrival_of_an_email() {
    let expects = |seconds: u32| {
        let text = format!(
            "mails = [\"Where is my order 1042?\"]\nexpect = [{{ of = \"outbox\", after = \"mail.0\", withinSeconds = {seconds}, count = 1 }}]"
        );
        Explore::function(Scenario::parse(&text).expect("a scenario"), drafts)
    };
    assert_replay(expects(3600), "1_0", None).await;
    let why = expects(60).replay("1_0").await.expect_err("it leaves after the undo window");
    assert!(matches!(why, ExploreError::BrokenWithoutTrouble { oracle: Oracle::Expect, .. }), "{why}");
    let typed = |seconds: u64| {
        let scenario = Scenario::new(["Where is my order 1042?"]);
        let one_email = Expectation::outbox().times(1);
        Explore::function(scenario.expect_after(0, Duration::from_secs(seconds), one_email), drafts)
            .replay("1_0")
    };
    assert!(typed(3600).await.expect("it ran").held());
    typed(60).await.expect_err("it leaves after the undo window");
}

#[tokio::test]
async fn events_count_by_the_time_at_which_they_happened() {
    let expects = |seconds: u32, count: &str| {
        let text = format!(
            "mails = [\"Where is my order 1042?\"]\nexpect = [{{ of = \"events\", where = {{ type = \"turn.changed\", \"data.turn\" = \"theirs\" }}, after = \"mail.0\", withinSeconds = {seconds}{count} }}]"
        );
        Explore::function(Scenario::parse(&text).expect("a scenario"), drafts).replay("1_0")
    };
    let report = expects(3600, "").await.expect("it ran");
    assert!(report.held(), "{report}");
    let report = expects(30, ", count = 0").await.expect("it ran");
    assert!(report.held(), "{report}");
    assert!(expects(30, "").await.is_err(), "at least one, unless a count is given");
}

#[tokio::test]
async fn an_expectation_that_nothing_could_meet_is_a_mistake_in_the_scenario() {
    for after in ["", ", after = \"mail.0\", withinSeconds = 60"] {
        let text = format!(
            "mails = [\"Where is my order 1042?\"]\nexpect = [{{ of = \"outbox\", where = {{ subjct = \"Order\" }}{after} }}]"
        );
        let explore = Explore::function(Scenario::parse(&text).expect("a scenario"), drafts);
        let why = explore.replay("1_0").await.expect_err("refused");
        assert!(matches!(why, ExploreError::Scenario(_)), "{why}");
        let said = why.to_string();
        assert!(said.contains("expect[0].where.subjct: "), "{said}");
    }
}

#[tokio::test]
async fn what_only_the_service_refuses_is_named_at_once_before_the_app_runs() {
    let text = "mails = [{ text = \"Hi\", urgency = \"hgh\" }, { text = \"Hello\", urgency = \"lw\" }]\n\
        expect = [{ of = \"outbox\", where = { recipient = \"x\" } }, { of = \"requests\", where = { metod = \"x\" } }, { of = \"outbox\", count = { atLeast = 3, atMost = 1 } }]\n";
    let ran = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let app = {
        let ran = std::sync::Arc::clone(&ran);
        move |_| {
            ran.store(true, std::sync::atomic::Ordering::Relaxed);
            std::future::ready(Ok(()))
        }
    };
    let explore = Explore::function(Scenario::parse(text).expect("texts"), app);
    let why = explore.replay("1_0").await.expect_err("refused");
    let ExploreError::Scenario(error) = why else { panic!("{why}") };
    let keys: Vec<&str> = error.problems.iter().map(|it| it.key.as_str()).collect();
    let wanted = [
        "mails[0].urgency",
        "mails[1].urgency",
        "expect[0].where.recipient",
        "expect[1].where.metod",
        "expect[2].count",
    ];
    assert!(wanted.iter().all(|key| keys.contains(key)), "{error}");
    assert!(!ran.load(std::sync::atomic::Ordering::Relaxed), "the app ran");
}

#[test]
fn everything_that_is_wrong_with_a_scenario_is_named_at_once_with_its_line() {
    let text = "mails = [\n  \"Hi\",\n  { text = \"Hello\", urgncy = \"high\" },\n]\npeople = 1\ndayz = 2\nexpect = [{ off = \"outbox\" }]\ndays = 2000\n";
    let error = Scenario::parse(text).expect_err("it is wrong");
    let said = error.to_string();
    for problem in [
        "line 3: mails[1].urgncy: is no field of a mail; did you mean `urgency`?",
        "line 5: people: must be",
        "line 6: dayz: is no key of a scenario; did you mean `days`?",
        "line 7: expect[0]",
        "line 8: days: must be a whole number from 0 to 100\n  |\n8 | days = 2000\n  | ^^^^",
    ] {
        assert!(said.contains(problem), "{problem}: {said}");
    }
    assert!(error.problems.len() == 5 && error.problems.is_sorted_by_key(|it| it.line), "{said}");
    assert!(!format!("{error:?}").contains("Hello"), "an email's words are not in Debug");
    let unreadable = Scenario::parse("mails = [{ text = 1 }, 2]\n").expect_err("it is wrong");
    assert_eq!(unreadable.problems.len(), 2, "one problem for what could not be read: {unreadable}");
}

#[tokio::test]
async fn a_bad_field_of_an_email_is_named_with_its_file_when_it_is_read_and_when_the_service_refuses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |urgency: &str| {
        let file = folder.path().join("bad.toml");
        let text = format!("mails = [\"Hi\", {{ text = \"Hello\", urgency = {urgency} }}]");
        std::fs::write(&file, text).expect("written");
        Scenario::from_file(&file)
    };
    let said = read("1").expect_err("it is no text").to_string();
    assert!(said.contains("bad.toml: line 1: mails[1].urgency: "), "{said}");
    let scenario = read("\"huge\"").expect("a text");
    let why = Explore::function(scenario, drafts).replay("1_0.1").await.expect_err("refused");
    assert!(matches!(why, ExploreError::Scenario(_)), "{why}");
    let said = why.to_string();
    assert!(said.contains("bad.toml: line 1: mails[1].urgency: "), "{said}");
}
