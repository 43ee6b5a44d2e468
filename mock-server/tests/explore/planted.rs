//! Apps with one realistic fault each. The explorer finds it, and shrinks it.

use std::{fs, future::Future, pin::Pin};

use shared_inbox_mock::explore::{AppContext, Explore, Finding, Oracle, Scenario};

use crate::apps::{
    Api, Done, Failed, answer, id, is_dealt_with, is_for_people, items, order, since_last_mail,
};

type App = fn(AppContext) -> Pin<Box<dyn Future<Output = Done> + Send>>;

/// A fault: its name, the rule that it breaks, a schedule that shows it, and the app.
struct Planted(&'static str, Oracle, &'static str, App);

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

async fn replay(planted: &Planted) -> Option<Finding> {
    let Planted(name, _, token, app) = planted;
    let report = Explore::function(scenario(), *app).replay(token).await;
    report.unwrap_or_else(|why| panic!("{name}: {why}")).findings.first().cloned()
}

#[tokio::test]
async fn each_planted_fault_shows_in_its_schedule() {
    for planted in PLANTED {
        let Planted(name, oracle, token, _) = planted;
        let finding = replay(planted).await.unwrap_or_else(|| panic!("{name}: nothing found"));
        assert_eq!(finding.oracle, *oracle, "{name}: {finding}");
        assert_eq!(finding.replay, *token);
    }
}

#[tokio::test]
async fn a_replay_shows_the_same_twenty_times_of_twenty() {
    let planted = &PLANTED[0];
    let first = replay(planted).await.expect("a finding");
    for _ in 1..20 {
        let again = replay(planted).await.expect("a finding");
        assert_eq!((again.summary, again.timeline), (first.summary.clone(), first.timeline.clone()));
    }
}

#[tokio::test]
async fn what_is_found_is_shrunk_told_in_plain_words_and_written_as_a_test() {
    let Planted(_, oracle, _, app) = PLANTED[0];
    let report = Explore::function(scenario(), app).seconds(600.0).run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert_eq!((finding.oracle, finding.steps.len(), finding.reproduced.as_str()), (oracle, 1, "5 of 5"));
    let told = finding.timeline.join("\n");
    for line in [
        "customer  customer",
        "app       run 1 begins",
        "→ was taken, then the response was lost",
        "person    approves",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("cnv_"), "people know customers, not ids: {told}");
    assert!(finding.tests.python.contains("def test_nobody_gets_the_same_text_twice(shared_inbox"));
    assert!(finding.tests.typescript.contains("test('nobody gets the same text twice', async ({ world })"));
    assert!(finding.tests.rust.contains("async fn nobody_gets_the_same_text_twice()"));
}

#[tokio::test]
#[ignore = "needs minutes and a quiet machine"]
async fn each_planted_fault_is_found_by_exploring() {
    let (mut found, mut small) = (0, 0);
    for Planted(name, oracle, _, app) in PLANTED {
        let report = Explore::function(scenario(), *app).seconds(60.0).run().await.expect("it ran");
        let Some(finding) = report.findings.first() else {
            println!("{name}: nothing found, {} schedules", report.schedules);
            continue;
        };
        found += 1;
        small += usize::from(finding.steps.len() <= 3);
        println!(
            "{name}: {} {} after {} schedules, {:.1} s, {} of {} steps, {}",
            finding.oracle,
            finding.replay,
            report.schedules,
            report.seconds,
            finding.steps.len(),
            finding.shrunk_from,
            finding.reproduced
        );
        assert_eq!(finding.reproduced, "5 of 5", "{name}");
        assert_eq!(finding.oracle, *oracle, "{name}: {report}");
    }
    println!("{found} of {} found, {small} with 3 steps or fewer", PLANTED.len());
    assert_eq!(found, PLANTED.len());
}

/// What an app would answer: the conversation, the order, and whether that is done.
async fn orders(api: &Api) -> Done<Vec<(String, String, bool)>> {
    let mut orders = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_mail(&conversation);
        let order = mail.and_then(|mail| order(&mail["text"]));
        if let Some(order) = order.filter(|_| !is_for_people(&conversation)) {
            orders.push((id(&entry).to_owned(), order.to_owned(), is_dealt_with(since)));
        }
    }
    Ok(orders)
}

const PLANTED: &[Planted] = &[
    Planted(
        "a create that is retried without looking",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done && api.draft(&id, &answer(&order)).await == Err(Failed::Lost) {
                        api.draft(&id, &answer(&order)).await?;
                    }
                    api.set_status(&id, "waiting").await?;
                }
                Ok(())
            })
        },
    ),
    Planted(
        "an app that knows what it did only by the status",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for entry in api.open().await? {
                    if let Some(order) = order(&entry["snippet"]).filter(|_| !is_for_people(&entry)) {
                        api.draft(id(&entry), &answer(order)).await?;
                        api.set_status(id(&entry), "waiting").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("a mark before the effect", Oracle::NobodyForgotten, "1_1_lost-before@reply.0", |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for (id, order, done) in orders(&api).await? {
                api.set_status(&id, "waiting").await?;
                if !done {
                    api.draft(&id, &answer(&order)).await?;
                }
            }
            Ok(())
        })
    }),
    Planted(
        "a file that says done before it is",
        Oracle::NobodyForgotten,
        "1_1_lost-before@reply.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    let file = api.file(&id);
                    if !done && !file.exists() {
                        fs::write(file, "").map_err(|error| error.to_string())?;
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a file that says done only when the response came",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |context| {
            Box::pin(async move {
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
        },
    ),
    Planted(
        "an app that answers what a person has taken over",
        Oracle::PersonsWord,
        "1_0_assign:0@run.0",
        |context| {
            Box::pin(async move {
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
        },
    ),
    Planted("an app that answers held mail", Oracle::PersonsWord, "1_0_risk:0@run.0", |context| {
        Box::pin(async move {
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
    }),
    Planted(
        "a draft that is written again when a person has discarded it",
        Oracle::PersonsWord,
        "1_0_discard:0@end.0",
        |context| {
            Box::pin(async move {
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
        },
    ),
    Planted("a 429 that is taken for an answer", Oracle::NobodyForgotten, "1_1_busy@reply.0", |context| {
        Box::pin(async move {
            let api = Api::new(context);
            for (id, order, done) in orders(&api).await? {
                if !done {
                    match api.draft(&id, &answer(&order)).await {
                        Ok(_) | Err(Failed::Status(429)) => {}
                        Err(failed) => return Err(failed.into()),
                    }
                }
                api.set_status(&id, "closed").await?;
            }
            Ok(())
        })
    }),
    Planted("an answer to an automatic reply", Oracle::NeverTwice, "1_0_auto-reply:0@run.1", |context| {
        Box::pin(async move {
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
    }),
    Planted(
        "a note that is written again by the next run",
        Oracle::NeverTwice,
        "1_1_lost-after@add_note.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.note(&id, &format!("The app answers about {order}")).await?;
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a tag that is forgotten once the answer is there",
        Oracle::SameEnd,
        "1_1_lost-after@reply.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                        api.tag(&id, "answered").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted("a lock that a killed run leaves behind", Oracle::WellBehaved, "1_1_kill@reply.0", |context| {
        Box::pin(async move {
            let api = Api::new(context);
            let lock = api.file("lock");
            if lock.exists() {
                return Err("another run is under way".to_owned());
            }
            fs::write(&lock, "").map_err(|error| error.to_string())?;
            let done = async {
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            }
            .await;
            fs::remove_file(&lock).map_err(|error| error.to_string())?;
            done
        })
    }),
    Planted(
        "a page that is full of what people have",
        Oracle::NobodyForgotten,
        "1_0.1_assign:1@run.0",
        |context| {
            Box::pin(async move {
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
        },
    ),
    Planted(
        "a close that overlooks a mail that it has read",
        Oracle::NobodyForgotten,
        "1_1_mail:1@list_conversations.1",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                for entry in api.open().await? {
                    let conversation = api.read(id(&entry)).await?;
                    if items(&conversation["timeline"]).iter().any(|item| item["direction"] == "outbound") {
                        api.set_status(id(&entry), "closed").await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a draft in place of a send that seems to have failed",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done && api.send(&id, &answer(&order)).await.is_err() {
                        api.draft(&id, &answer(&order)).await?;
                    }
                }
                Ok(())
            })
        },
    ),
    Planted(
        "a look for drafts alone after a lost response",
        Oracle::NeverTwice,
        "1_1_lost-after@reply.0_approve:1@get_conversation.1",
        |context| {
            Box::pin(async move {
                let api = Api::new(context);
                for (id, order, done) in orders(&api).await? {
                    if !done && api.draft(&id, &answer(&order)).await.is_err() {
                        let conversation = api.read(&id).await?;
                        let (_, since) = since_last_mail(&conversation);
                        if !since
                            .iter()
                            .any(|item| item["status"] == "draft" || item["event"] == "draft-discarded")
                        {
                            api.draft(&id, &answer(&order)).await?;
                        }
                    }
                }
                Ok(())
            })
        },
    ),
];
