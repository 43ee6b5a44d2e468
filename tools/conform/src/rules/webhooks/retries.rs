//! Retries, the delivery log, and what turns a webhook off.

use std::collections::BTreeSet;

use serde_json::json;

use super::delivery::{differs, hooked};
use crate::{
    check::session::{Session, text},
    rule::{Table, WORLD},
    rule_abort::{RuleAbort, must},
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
};

/// The waits between attempts, in seconds.
const WAITS: [f64; 8] = [30.0, 120.0, 600.0, 1_800.0, 3_600.0, 10_800.0, 21_600.0, 43_200.0];

async fn state(s: &Session, hook: &str) -> Result<String, RuleAbort> {
    let hooks = s.control()?.list("/webhooks").await?;
    Ok(hooks.iter().find(|it| it["id"] == hook).map(|it| text(&it["state"])).unwrap_or_default())
}

pub(crate) fn add(table: &mut Table) {
    table.section("6.1");
    retries(table);
    endings(table);
}

fn retries(table: &mut Table) {
    table.demand(
        "retry.schedule",
        "Retries come after about 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h and 12 h, each varying by 20%",
        WORLD,
        |s| async move {
            let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
            s.test_event(&hook).await?;
            s.advance(40 * 3_600).await?;
            let times: Vec<f64> =
                receiver.got().iter().filter_map(|it| it.header("webhook-timestamp").parse().ok()).collect();
            let waits: Vec<f64> =
                times.iter().zip(times.iter().skip(1)).map(|(one, next)| next - one).collect();
            let fits = |(waited, wait): (&f64, &f64)| (wait * 0.8 - 2.0..=wait * 1.2 + 2.0).contains(waited);
            must(
                waits.len() == WAITS.len() && waits.iter().zip(&WAITS).all(fits),
                "a receiver that always fails",
                format!("waits of about {WAITS:?} seconds"),
                format!("{waits:?}"),
            )
        },
    );
    table.demand("retry.varies", "The waits vary from event to event", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        for _ in 0..10 {
            s.test_event(&hook).await?;
        }
        s.advance(40).await?;
        let got = receiver.got();
        let Some((_, retries)) = got.split_at_checked(10) else {
            return differs("ten test events", "ten deliveries", format!("{} deliveries", got.len()));
        };
        let times: BTreeSet<&str> = retries.iter().map(|it| it.header("webhook-timestamp")).collect();
        must(
            retries.len() == 10 && times.len() >= 4,
            "ten events that fail at the same moment",
            "ten retries, spread over the range",
            format!("{} retries, at {} different times", retries.len(), times.len()),
        )
    });
    table.demand("retry.dropped", "After that the event is dropped", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(40 * 3_600).await?;
        let attempts = receiver.got().len();
        receiver.answer(200);
        s.advance(10 * 86_400).await?;
        match (attempts, receiver.got().len().saturating_sub(attempts)) {
            (1.., 0) => Ok(()),
            (attempts, more) => differs(
                "ten days after the last attempt",
                "attempts, and nothing more",
                format!("{attempts} attempts, and {more} more"),
            ),
        }
    });
    table.demand("retry.same", "`id` and body are identical on every attempt", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        let got = receiver.got();
        let same = |one: &ReceivedWebhook, next: &ReceivedWebhook| {
            one.header("webhook-id") == next.header("webhook-id") && one.body == next.body
        };
        must(
            got.len() > 2 && got.iter().zip(got.iter().skip(1)).all(|(one, next)| same(one, next)),
            "an hour of attempts",
            "the same id and body",
            format!("{} attempts that differ", got.len()),
        )
    });
    table.demand("retry.signed", "Each attempt is signed anew", WORLD, |s| async move {
        let (receiver, hook, secret) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        let got = receiver.got();
        let fitting = got.iter().filter(|it| it.is_signed_with(&secret)).count();
        match (got.len(), got.len().saturating_sub(fitting)) {
            (1.., 0) => Ok(()),
            (attempts, _) => differs(
                "an hour of attempts",
                "a signature that fits on each",
                format!("{fitting} that fit, on {attempts} attempts"),
            ),
        }
    });
    table.demand("retry.until", "Nothing follows a 2xx", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        receiver.answer(200);
        s.advance(86_400).await?;
        match receiver.got().len() {
            2 => Ok(()),
            attempts => differs("a receiver that recovers", "two attempts", format!("{attempts} attempts")),
        }
    });
    table.demand("redelivery", "An event can be redelivered with the same `id`", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(200), json!({})).await?;
        s.test_event(&hook).await?;
        let Some(first) = receiver.got().first().map(|it| it.header("webhook-id").to_owned()) else {
            return differs("a test event", "a delivery", "none");
        };
        s.control()?.post(&format!("/webhooks/{hook}/deliveries/{first}/redeliver"), json!({})).await?;
        s.settle().await?;
        let got = receiver.got();
        let is_same = |one: &ReceivedWebhook, again: &ReceivedWebhook| {
            again.header("webhook-id") == first && one.body == again.body
        };
        match matches!(got.as_slice(), [one, again] if is_same(one, again)) {
            true => Ok(()),
            false => differs(
                "a manual redelivery",
                "a second delivery with the same id and body",
                format!("{} deliveries", got.len()),
            ),
        }
    });
    table.demand("log.attempts", "The delivery log shows every attempt", WORLD, |s| async move {
        let (_receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(40).await?;
        let log = s.control()?.list(&format!("/webhooks/{hook}/deliveries")).await?;
        match log.first().and_then(|it| it["attempts"].as_array()).map(Vec::len) {
            Some(2) => Ok(()),
            attempts => differs("the log after two attempts", "two attempts", format!("{attempts:?}")),
        }
    });
    table.demand("log.filter", "The delivery log is filtered by outcome and event", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(200), json!({})).await?;
        s.test_event(&hook).await?;
        receiver.answer(500);
        s.mail(json!({})).await?;
        s.settle().await?;
        let at = |query: &str| format!("/webhooks/{hook}/deliveries?{query}");
        let delivered = s.control()?.list(&at("outcome=delivered")).await?;
        let of_kind = s.control()?.list(&at("type=webhook.test")).await?;
        match (delivered.len(), of_kind.len()) {
            (1, 1) => Ok(()),
            (one, other) => {
                differs("the log by outcome and by event", "one entry each", format!("{one} and {other}"))
            }
        }
    });
    for (id, says, days, kept) in [
        ("log.kept", "The delivery log has the last 30 days", 29, true),
        ("log.dropped", "The delivery log has no more than 30 days", 31, false),
    ] {
        table.demand(id, says, WORLD, move |s| async move {
            let (_receiver, hook, _) = hooked(&s, Answer::Status(200), json!({})).await?;
            s.test_event(&hook).await?;
            s.advance(days * 86_400).await?;
            let log = s.control()?.list(&format!("/webhooks/{hook}/deliveries")).await?;
            must(
                log.is_empty() != kept,
                format!("the log after {days} days"),
                if kept { "the event" } else { "nothing" },
                format!("{} entries", log.len()),
            )
        });
    }
}

fn endings(table: &mut Table) {
    table.demand("gone.off", "410 turns the webhook off", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(410), json!({})).await?;
        s.test_event(&hook).await?;
        receiver.answer(200);
        s.mail(json!({})).await?;
        s.advance(86_400).await?;
        match (state(&s, &hook).await?.as_str(), receiver.got().len()) {
            ("off", 1) => Ok(()),
            (state, attempts) => differs(
                "a receiver that answers 410",
                "off, and one attempt",
                format!("{state}, and {attempts} attempts"),
            ),
        }
    });
    table.demand("gone.notice", "410 e-mails the owner of the webhook", WORLD, |s| async move {
        let (_receiver, hook, _) = hooked(&s, Answer::Status(410), json!({})).await?;
        s.test_event(&hook).await?;
        notices(&s, 1, "a receiver that answers 410").await
    });
    table.demand(
        "day.paused",
        "A whole day of failures without one success pauses the webhook",
        WORLD,
        |s| async move {
            let (receiver, hook, _) = failing_for_a_day(&s).await?;
            let attempts = receiver.got().len();
            receiver.answer(200);
            s.mail(json!({})).await?;
            s.advance(86_400).await?;
            match (state(&s, &hook).await?.as_str(), receiver.got().len().saturating_sub(attempts)) {
                ("paused", 0) => Ok(()),
                (state, more) => differs(
                    "a day of failures",
                    "paused, and nothing sent",
                    format!("{state}, and {more} sent"),
                ),
            }
        },
    );
    table.demand("day.early", "Less than a day of failures pauses nothing", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        for _ in 0..23 {
            s.mail(json!({})).await?;
            s.advance(3_600).await?;
        }
        still_on(&s, &hook, &receiver, "23 hours of failures").await
    });
    table.demand("day.notice", "A pause e-mails the owner of the webhook", WORLD, |s| async move {
        let (_receiver, _, _) = failing_for_a_day(&s).await?;
        notices(&s, 1, "a day of failures").await
    });
    table.demand("day.resumed", "Someone can resume a paused webhook", WORLD, |s| async move {
        let (receiver, hook, _) = failing_for_a_day(&s).await?;
        let attempts = receiver.got().len();
        receiver.answer(200);
        s.control()?.post(&format!("/webhooks/{hook}/resume"), json!({})).await?;
        s.test_event(&hook).await?;
        match receiver.got().len().saturating_sub(attempts) {
            1 => Ok(()),
            more => differs("a test event after the resume", "one delivery", format!("{more}")),
        }
    });
    table.demand("day.success", "One success within the day keeps the webhook on", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        for hour in 0..30_u64 {
            receiver.answer(if hour == 12 { 200 } else { 500 });
            s.mail(json!({})).await?;
            s.advance(3_600).await?;
        }
        still_on(&s, &hook, &receiver, "failures with a success after 12 hours").await
    });
}

/// The webhook is on, and was sent to.
async fn still_on(s: &Session, hook: &str, receiver: &Receiver, after: &str) -> Result<(), RuleAbort> {
    match (state(s, hook).await?.as_str(), receiver.got().len()) {
        ("on", 1..) => Ok(()),
        (state, attempts) => {
            differs(after, "on, after attempts", format!("{state}, after {attempts} attempts"))
        }
    }
}

/// Returns a webhook whose receiver fails every hour for more than a day.
async fn failing_for_a_day(s: &Session) -> Result<(Receiver, String, String), RuleAbort> {
    let hook = hooked(s, Answer::Status(500), json!({})).await?;
    for _ in 0..27 {
        s.mail(json!({})).await?;
        s.advance(3_600).await?;
    }
    Ok(hook)
}

async fn notices(s: &Session, expected: usize, after: &str) -> Result<(), RuleAbort> {
    let outbox = s.control()?.list("/outbox").await?;
    let notices = outbox.iter().filter(|it| it["kind"] == "notice").count();
    must(notices == expected, after, format!("{expected} notice"), format!("{notices} notices"))
}
