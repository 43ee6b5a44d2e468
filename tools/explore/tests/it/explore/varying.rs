//! Apps whose words are different at every run, as those with a model are: planted faults are found, and
//! chance is no finding.

use std::{
    hash::{BuildHasher, DefaultHasher, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use shared_inbox_explore::explore::{AppContext, Explore, Oracle, Report, Scenario};

use crate::explore::{
    apps::{
        Api, AppFuture, AppResult, RequestError, answer, asked_orders, id, is_for_people, items, open_orders,
        order,
    },
    assert_replay,
    correct::holds,
    find, sample,
};

/// A number that nobody knows.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What an app decides by chance, the same at each run of its test: so many draws were made.
struct Draws(AtomicU64);

impl Draws {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns a number below another.
    fn below(&self, end: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0.fetch_add(1, Ordering::Relaxed));
        hasher.finish() % end
    }
}

/// The same with words of its own.
pub(crate) fn vary(text: &str) -> String {
    format!("{text} (said in {:x})", chance())
}

pub(crate) type App = fn(AppContext) -> AppFuture;

fn two_mails() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

/// A fault: its name, the rule that it breaks, a schedule that shows it, the days that pass, and the app.
pub(crate) struct Planted(&'static str, Oracle, &'static str, u32, App);

pub(crate) const PLANTED: [Planted; 7] = [
    Planted("a blind retry", Oracle::NeverTwice, "1_0.1_lost-after@reply.0", 0, |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    let lost = Err(RequestError::Lost);
                    if api.draft(id(&conversation), &vary(&answer(order))).await == lost {
                        api.draft(id(&conversation), &vary(&answer(order))).await?;
                    }
                }
            }
            Ok(())
        })
    }),
    Planted("forgotten after a kill", Oracle::NobodyForgotten, "1_0.1_kill@reply.0", 0, |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    let mark = api.file(&format!("{}-{order}", id(&conversation)));
                    if !mark.exists() {
                        std::fs::write(mark, "").map_err(|error| error.to_string())?;
                        api.draft(id(&conversation), &vary(&answer(order))).await?;
                    }
                }
            }
            Ok(())
        })
    }),
    Planted("writes over a person", Oracle::PersonsWord, "1_0.1_assign:0@run.0", 0, |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for entry in api.open_and_waiting().await? {
                let conversation = api.read(id(&entry)).await?;
                for order in open_orders(&conversation) {
                    if conversation["risk"].is_null() {
                        api.draft(id(&conversation), &vary(&answer(order))).await?;
                    }
                }
            }
            Ok(())
        })
    }),
    Planted(
        "closes over an unread email",
        Oracle::NobodyForgotten,
        "1_0.1_other:0@set_status.0",
        0,
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for conversation in api.conversations().await? {
                    for order in open_orders(&conversation) {
                        api.draft(id(&conversation), &vary(&answer(order))).await?;
                    }
                    if !asked_orders(&conversation).is_empty() {
                        api.set_status(id(&conversation), "closed").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("a duplicate note", Oracle::NeverTwice, "1_0.1_lost-after@add_note.0", 0, |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    api.note(id(&conversation), &vary("The app answers")).await?;
                    api.draft(id(&conversation), &vary(&answer(order))).await?;
                }
            }
            Ok(())
        })
    }),
    Planted("a reminder twice", Oracle::NeverTwice, "1_0_lost-after@reply.1", 4, |context| {
        Box::pin(async move {
            let now = context.time;
            let api = Api::new(context);
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    api.send(id(&conversation), &vary(&answer(order))).await?;
                }
                let own = items(&conversation["timeline"]).iter().filter(|item| item["status"] == "sent");
                let own: Vec<&Value> = own.collect();
                let [answered] = own[..] else { continue };
                let at: shared_inbox::Timestamp =
                    answered["at"].as_str().and_then(|at| at.parse().ok()).ok_or("a time")?;
                if order(&answered["text"]).is_some()
                    && at + std::time::Duration::from_secs(3 * 86_400) <= now
                {
                    let lost = Err(RequestError::Lost);
                    if api.send(id(&conversation), &vary("Did it help?")).await == lost {
                        api.send(id(&conversation), &vary("Did it help?")).await?;
                    }
                }
            }
            Ok(())
        })
    }),
    Planted("an answer to a risk", Oracle::PersonsWord, "1_0.1_risk:0@run.0", 0, |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for entry in api.open_and_waiting().await? {
                let conversation = api.read(id(&entry)).await?;
                for order in open_orders(&conversation) {
                    if conversation["assignee"]["type"] != "user" {
                        api.draft(id(&conversation), &vary(&answer(order))).await?;
                    }
                }
            }
            Ok(())
        })
    }),
];

fn explore(planted: &Planted) -> Explore {
    let Planted(_, _, _, days, app) = *planted;
    let scenario = if days > 0 { Scenario::new(["Where is my order 1042?"]).days(days) } else { two_mails() };
    Explore::function(scenario, app)
}

#[tokio::test]
async fn each_planted_fault_shows_though_no_text_is_written_twice() {
    for planted in &PLANTED {
        let Planted(name, oracle, token, ..) = planted;
        let report = explore(planted).replay(token).await.unwrap_or_else(|why| panic!("{name}: {why}"));
        let found = report.findings.first().map(|finding| finding.oracle);
        assert_eq!(found, Some(*oracle), "{name}: {report}");
        assert!(report.varies.contains(&"outbox.text".to_owned()), "{name}: {:?}", report.varies);
    }
}

#[tokio::test]
async fn a_webhook_that_comes_twice_is_found_though_no_text_is_written_twice() {
    let scenario = crate::explore::servers::scenario();
    let explore = Explore::function(scenario, |context| {
        crate::explore::server_apps::run("no_dedupe_varied", context.into())
    });
    assert_replay(explore, "1_0_twice@turn-changed.0", Some(Oracle::NeverTwice)).await;
}

#[tokio::test]
async fn each_planted_fault_is_found_by_exploring_though_words_vary() {
    for planted in sample(&PLANTED) {
        find(planted.0, planted.1, explore(planted)).await;
    }
}

/// Drafts an answer to each open order, with words of its own.
async fn draft_answers(api: &Api, conversation: &Value) -> AppResult {
    for order in open_orders(conversation) {
        api.draft(id(conversation), &vary(&answer(order))).await?;
    }
    Ok(())
}

/// Answers each open order with words of its own, and sometimes more: notes, a tag, in an order of its own.
async fn answers(context: AppContext, and: fn(&Api) -> bool, extra: Extra) -> AppResult {
    let api = Api::new(context);
    for conversation in api.conversations().await? {
        let id = id(&conversation);
        for order in open_orders(&conversation) {
            let text = vary(&answer(order));
            if and(&api) {
                api.send(id, &text).await?
            } else {
                api.draft(id, &text).await?
            };
        }
        if asked_orders(&conversation).is_empty() {
            continue;
        }
        let own = items(&conversation["timeline"]).iter().filter(|item| item["type"] == "note").count();
        match extra {
            Extra::Nothing => {}
            // It writes down how many it wants first, and looks how many there are.
            Extra::Notes(draws) => {
                let file = api.file(id);
                let wanted = std::fs::read_to_string(&file).ok().and_then(|it| it.parse().ok());
                let wanted: u64 = wanted.unwrap_or_else(|| 1 + draws.below(3));
                std::fs::write(file, wanted.to_string()).map_err(|error| error.to_string())?;
                for _ in (own as u64)..wanted {
                    api.note(id, &vary("Thinking")).await?;
                }
            }
            Extra::Tag(draws) => {
                let file = api.file(id);
                let decided = std::fs::read_to_string(&file).unwrap_or_else(|_| draws.below(8).to_string());
                std::fs::write(file, &decided).map_err(|error| error.to_string())?;
                if decided == "0" {
                    api.tag(id, "lucky").await?;
                }
            }
            Extra::Order(draws) => {
                let note = own == 0;
                if draws.below(2) == 0 {
                    api.tag(id, "order").await?;
                    if note {
                        api.note(id, &vary("Answered")).await?;
                    }
                } else {
                    if note {
                        api.note(id, &vary("Answered")).await?;
                    }
                    api.tag(id, "order").await?;
                }
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Extra {
    Nothing,
    Notes(&'static Draws),
    Tag(&'static Draws),
    Order(&'static Draws),
}

#[tokio::test]
async fn nothing_is_found_in_an_app_whose_drafts_vary() {
    holds(Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Nothing)).seed(21))
        .await;
}

#[tokio::test]
async fn one_answer_is_enough_for_a_question_that_came_twice() {
    let token = "1_0_other:0@list_conversations.0_other:0@reply.0";
    let explore = Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Nothing));
    assert_replay(explore, token, None).await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_whose_emails_vary() {
    holds(Explore::function(two_mails(), |context| answers(context, |_| true, Extra::Nothing)).seed(22))
        .await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_whose_number_of_notes_varies() {
    static DRAWS: Draws = Draws::new();
    holds(
        Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Notes(&DRAWS))).seed(23),
    )
    .await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_that_sets_a_tag_by_chance() {
    static DRAWS: Draws = Draws::new();
    holds(Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Tag(&DRAWS))).seed(24))
        .await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_whose_order_of_calls_varies() {
    static DRAWS: Draws = Draws::new();
    holds(
        Explore::function(two_mails(), |context| answers(context, |_| true, Extra::Order(&DRAWS))).seed(25),
    )
    .await;
}

#[tokio::test]
async fn nothing_is_found_in_an_app_whose_emails_vary_when_nobody_approves() {
    static DRAWS: Draws = Draws::new();
    let scenario = two_mails().nobody_approves();
    holds(Explore::function(scenario, |context| answers(context, |_| false, Extra::Order(&DRAWS))).seed(26))
        .await;
}

/// The number of the app's world, from 0.
fn number_of_world(api: &Api, worlds: &AtomicUsize) -> AppResult<usize> {
    let file = api.file("world");
    if let Some(number) = std::fs::read_to_string(&file).ok().and_then(|it| it.parse().ok()) {
        return Ok(number);
    }
    let number = worlds.fetch_add(1, Ordering::Relaxed);
    std::fs::write(file, number.to_string()).map_err(|error| error.to_string())?;
    Ok(number)
}

/// An app that is told the number of its world.
fn in_worlds(app: fn(Api, usize) -> AppFuture) -> Explore {
    let worlds = Arc::new(AtomicUsize::new(0));
    Explore::function(two_mails(), move |context| {
        let api = Api::new(context);
        let number = number_of_world(&api, &worlds);
        async move { app(api, number?).await }
    })
}

/// Leaves notes until there are so many.
async fn note_until(api: &Api, conversation: &Value, wanted: usize) -> AppResult {
    let own = items(&conversation["timeline"]).iter().filter(|item| item["type"] == "note").count();
    for _ in own..wanted {
        api.note(id(conversation), &vary("Thinking")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_the_app_does_more_of_later_is_not_blamed_on_trouble() {
    // One note in the runs that come first, two in all others, with trouble or without.
    let explore = in_worlds(|api, world| {
        Box::pin(async move {
            let wanted = if world < 6 { 1 } else { 2 };
            for conversation in api.conversations().await? {
                draft_answers(&api, &conversation).await?;
                note_until(&api, &conversation, wanted).await?;
            }
            Ok(())
        })
    });
    let report = explore.max_schedules(3).run().await.expect("it ran");
    assert!(report.held(), "{report}");
    assert!(report.varies.contains(&"notes.count".to_owned()), "{report}");
}

/// The same interference without trouble is run a few times only. What its customer asks, a customer of the
/// undisturbed runs asked too.
#[tokio::test]
async fn how_many_notes_another_customer_has_by_chance_is_not_blamed_on_trouble() {
    let explore = in_worlds(|api, world| {
        Box::pin(async move {
            for conversation in api.conversations().await? {
                let from = conversation["contact"]["email"].as_str().unwrap_or_default();
                // One note or two; for another customer, three once, and one in the four runs in which
                // nothing fails.
                let wanted = match world {
                    6 if from.starts_with("another") => 3,
                    7..11 if from.starts_with("another") => 1,
                    _ if from.starts_with("another") => 2,
                    world => 1 + world % 2,
                };
                draft_answers(&api, &conversation).await?;
                note_until(&api, &conversation, wanted).await?;
            }
            Ok(())
        })
    });
    let report =
        explore.replay("1_0.1_new-mail:0@run.0_lost-before@list_conversations.0").await.expect("it ran");
    assert!(report.held() && report.unstable.len() == 1, "{report}");
}

/// What chance does to another customer can be seen only where there is one: in a quiet moment, tried as
/// often.
#[tokio::test]
async fn what_another_customer_gets_by_chance_is_not_blamed_on_the_moment_of_its_email() {
    let explore = in_worlds(|api, world| {
        Box::pin(async move {
            for conversation in api.conversations().await? {
                draft_answers(&api, &conversation).await?;
                let from = conversation["contact"]["email"].as_str().unwrap_or_default();
                // Every other time, but by chance not in the first four runs of it in which nothing fails.
                if from.starts_with("another") && world % 2 == 0 && !(7..11).contains(&world) {
                    api.tag(id(&conversation), "lucky").await?;
                }
            }
            Ok(())
        })
    });
    let report = explore.replay("1_0.1_new-mail:0@run.0").await.expect("it ran");
    assert!(report.held() && report.unstable.len() == 1, "{report}");
}

/// A test that replays a token must not fail by chance.
#[tokio::test]
async fn a_replay_that_breaks_a_rule_by_chance_holds_and_lists_it_as_unstable() {
    let explore = in_worlds(|api, world| {
        Box::pin(async move {
            // The first after the undisturbed runs.
            let is_odd = world == 6;
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    api.draft(id(&conversation), &vary(&answer(order))).await?;
                    if is_odd {
                        api.tag(id(&conversation), "odd").await?;
                    }
                }
            }
            Ok(())
        })
    });
    let report = assert_replay(explore, "1_0.1_busy@list_conversations.1", None).await;
    assert_eq!(report.unstable.iter().map(|it| it.oracle).collect::<Vec<_>>(), [Oracle::SameEnd], "{report}");
    assert!(report.to_string().contains("0 of 5 times, 0 of 5 without trouble"), "{report}");
}

#[tokio::test]
async fn what_is_allowed_because_the_number_varies_is_named() {
    static DRAWS: Draws = Draws::new();
    let report = Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Notes(&DRAWS)));
    let report = report.replay("1_0.1").await.expect("it ran");
    let rules: Vec<Oracle> =
        report.not_judged.iter().filter(|it| it.part == "notes.count").map(|it| it.rule).collect();
    assert_eq!(rules, [Oracle::SameEnd, Oracle::NeverTwice], "{report}");
}

#[tokio::test]
async fn ids_times_and_links_do_not_make_a_text_vary_and_words_do() {
    let explore = |words: fn(&str) -> String| {
        Explore::function(two_mails(), move |context: AppContext| async move {
            let api = Api::new(context);
            for conversation in api.conversations().await? {
                for order in open_orders(&conversation) {
                    let time =
                        shared_inbox::Timestamp::from_millis(i64::try_from(chance() >> 24).unwrap_or(0));
                    let link = format!("https://upload.example/{:x}", chance());
                    let said =
                        format!("{} ({}, {time}): see {link} or a_b.", answer(order), id(&conversation));
                    api.draft(id(&conversation), &words(&said)).await?;
                }
            }
            Ok(())
        })
    };
    let report = explore(str::to_owned).max_schedules(1).run().await.expect("it ran");
    assert!(report.held_strictly() && report.varies.is_empty(), "{report}");
    let report = explore(vary).max_schedules(1).run().await.expect("it ran");
    assert_eq!(report.varies, ["outbox.text"], "{report}");
}

fn varied() -> Explore {
    Explore::function(two_mails(), |context| answers(context, |_| false, Extra::Nothing))
}

#[tokio::test]
async fn what_could_not_be_judged_is_named_in_the_last_line_and_is_no_strict_pass() {
    let report: Report = varied().max_schedules(1).run().await.expect("it ran");
    assert!(report.held() && !report.held_strictly(), "{report}");
    assert!(
        report.not_judged.iter().any(|it| it.rule == Oracle::SameEnd && it.part == "outbox.text"),
        "{report}"
    );
    assert!(report.summary().contains("not judged: same-end of outbox.text"), "{}", report.summary());
    let fixed = Explore::function(two_mails(), crate::explore::correct::drafts)
        .max_schedules(1)
        .run()
        .await
        .expect("it ran");
    assert!(fixed.held_strictly() && fixed.varies.is_empty(), "{fixed}");
}

#[tokio::test]
#[cfg(unix)]
async fn a_command_says_whether_two_texts_are_the_same() {
    // Texts are the same when they name the same order; what chance adds may hold the same digits.
    let script =
        r#"said=$(cat); test "$(echo "$said" | grep -o 'order 10[0-9][0-9]' | sort -u | wc -l)" = 1"#;
    let scenario = two_mails().same(["sh", "-c", script]);
    let right = Explore::function(scenario.clone(), |context| answers(context, |_| false, Extra::Nothing));
    let report = right.replay("1_0.1_lost-after@reply.0").await.expect("it ran");
    assert!(report.held_strictly(), "{report}");
    // After a failure it tells each customer of the order that it looked at last.
    let wrong = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            for order in open_orders(&conversation) {
                let known = api.file("failed").exists();
                let order = if known { "1049" } else { order };
                if api.draft(id(&conversation), &vary(&answer(order))).await.is_err() {
                    std::fs::write(api.file("failed"), "").map_err(|error| error.to_string())?;
                }
                if known {
                    return Ok(());
                }
            }
        }
        Ok(())
    };
    let token = "1_1_lost-before@reply.0";
    let report = Explore::function(scenario, wrong).replay(token).await.expect("it ran");
    assert!(!report.held(), "{report}");
}

#[tokio::test]
async fn words_that_change_only_after_a_failure_are_compared_by_the_command_too() {
    // The next number of a list that outlives a failure, so that the undisturbed runs are alike.
    let numbers = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            for order in open_orders(&conversation) {
                let taken = std::fs::read_to_string(api.file("taken")).unwrap_or_default();
                std::fs::write(api.file("taken"), format!("{taken}#")).map_err(|error| error.to_string())?;
                api.draft(id(&conversation), &format!("{} Ticket {taken}", answer(order))).await?;
            }
        }
        Ok(())
    };
    let token = "1_0.1_lost-before@reply.0";
    let fixed = Explore::function(two_mails(), numbers).replay(token).await.expect("it ran");
    assert_eq!(fixed.findings.first().map(|it| it.oracle), Some(Oracle::SameEnd), "{fixed}");
    let compared =
        Explore::function(two_mails().same(["true"]), numbers).replay(token).await.expect("it ran");
    assert!(compared.held(), "{compared}");
}

#[tokio::test]
async fn an_app_whose_every_change_is_refused_is_told_that_it_changes_nothing() {
    let refused = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            _ = api.set_status(id(&entry), "answered").await;
        }
        Ok(())
    };
    let report = Explore::function(two_mails(), refused).replay("1_0.1").await.expect("it ran");
    assert!(report.note.as_ref().is_some_and(|note| note.contains("changes nothing")), "{report}");
}

#[tokio::test]
async fn an_app_that_answers_nobody_is_told_so_and_no_schedule_is_no_pass() {
    let reads = |context: AppContext| async { Ok(Api::new(context).open().await.map(drop)?) };
    let report = Explore::function(two_mails(), reads).max_schedules(1).run().await.expect("it ran");
    assert!(report.note.as_ref().is_some_and(|note| note.contains("answers nobody")), "{report}");
    let report = varied().max_schedules(0).run().await.expect("it ran");
    assert!(!report.held() && report.to_string().contains("no schedule was run"), "{report}");
}

#[tokio::test]
async fn an_app_that_reads_only_the_newest_email_forgets_the_first() {
    let newest = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            let conversation = api.read(id(&entry)).await?;
            let (mail, since) = crate::explore::apps::since_last_mail(&conversation);
            let order = mail.and_then(|mail| order(&mail["text"])).filter(|_| !is_for_people(&conversation));
            if let Some(order) = order.filter(|_| !crate::explore::apps::is_dealt_with(since)) {
                api.draft(id(&entry), &answer(order)).await?;
            }
        }
        Ok(())
    };
    let report =
        Explore::function(two_mails(), newest).max_schedules(60).seconds(3600.0).run().await.expect("it ran");
    assert_eq!(report.findings.first().map(|it| it.oracle), Some(Oracle::NobodyForgotten), "{report}");
    for token in ["1_0.1_other:0@run.0", "1_0.1_nudge:0@run.0"] {
        assert_replay(Explore::function(two_mails(), newest), token, Some(Oracle::NobodyForgotten)).await;
        assert_replay(Explore::function(two_mails(), crate::explore::correct::drafts), token, None).await;
    }
}

#[tokio::test]
async fn an_app_that_closes_over_an_email_that_came_after_its_read_is_found_by_exploring() {
    let closes = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            for order in open_orders(&conversation) {
                api.draft(id(&conversation), &answer(order)).await?;
            }
            if !asked_orders(&conversation).is_empty() {
                api.set_status(id(&conversation), "closed").await?;
            }
        }
        Ok(())
    };
    let explore = Explore::function(two_mails(), closes).max_schedules(120).seconds(3600.0);
    let report = explore.run().await.expect("it ran");
    assert_eq!(report.findings.first().map(|it| it.oracle), Some(Oracle::NobodyForgotten), "{report}");
}

/// Where chance decides, one bad run in five is none that trouble caused.
#[tokio::test]
async fn what_happens_by_chance_is_listed_as_unstable_and_does_not_fail() {
    // Half of the time it forgets a tag, trouble or not; but the first six undisturbed runs all have it.
    use std::sync::atomic::{AtomicU64, Ordering};
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let app = |context: AppContext| async {
        let api = Api::new(context);
        for conversation in api.conversations().await? {
            let id = id(&conversation);
            for order in open_orders(&conversation) {
                api.draft(id, &answer(order)).await?;
                let n = RUNS.fetch_add(1, Ordering::Relaxed);
                if n < 3 || n.is_multiple_of(2) {
                    api.tag(id, "order").await?;
                }
            }
        }
        Ok(())
    };
    let scenario = Scenario::new(["Where is my order 1042?"]);
    let report = Explore::function(scenario, app).max_schedules(6).run().await.expect("it ran");
    assert!(report.held(), "{report}");
    assert!(!report.unstable.is_empty(), "{report}");
}
