//! How events are delivered: requests, signatures, and what counts as delivered.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    check::session::Session,
    rule::{SHARED, Table, WORLD},
    rule_abort::{RuleAbort, must},
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
};

/// Returns a webhook, its receiver and its secret.
pub(crate) async fn hooked(
    s: &Session,
    answer: Answer,
    more: Value,
) -> Result<(Receiver, String, String), RuleAbort> {
    let receiver = Receiver::start(answer).await?;
    let (id, secret) = s.hook(&receiver, more).await?;
    Ok((receiver, id, secret))
}

/// Ends a check with a difference.
pub(crate) fn differs<T>(
    request: &str,
    expected: impl Into<String>,
    received: impl std::fmt::Display,
) -> Result<T, RuleAbort> {
    Err(RuleAbort::differs(request, expected, received))
}

/// Adds a rule that every delivery of the scenario must keep.
fn each(
    table: &mut Table,
    id: &str,
    says: &str,
    expected: &'static str,
    fits: fn(&ReceivedWebhook, &str) -> bool,
    shown: fn(&ReceivedWebhook) -> String,
) {
    table.demand(id, says, SHARED, move |s| async move {
        let scenario = s.webhook_scenario().await?;
        match scenario.got.iter().find(|it| !fits(it, &scenario.secret)) {
            None if scenario.got.is_empty() => differs("what webhooks tell of", "a delivery", "none"),
            None => Ok(()),
            Some(it) => differs(&it.described(), expected, shown(it)),
        }
    });
}

pub(crate) fn add(table: &mut Table) {
    table.section("6.1");
    requests(table);
    signatures(table);
    rotations(table);
    answers(table);
}

fn requests(table: &mut Table) {
    each(
        table,
        "webhook.post",
        "Each event is an HTTP POST",
        "POST",
        |it, _| it.method == "POST",
        |it| it.method.clone(),
    );
    each(
        table,
        "webhook.json",
        "Each event is JSON",
        "a JSON object with the content type application/json",
        |it, _| it.event().is_object() && it.header("content-type").starts_with("application/json"),
        |it| it.header("content-type").to_owned(),
    );
    each(
        table,
        "webhook.id",
        "`webhook-id` equals `id`",
        "the id of the event",
        |it, _| !it.header("webhook-id").is_empty() && it.event()["id"] == it.header("webhook-id"),
        |it| it.header("webhook-id").to_owned(),
    );
    each(
        table,
        "webhook.timestamp",
        "`webhook-timestamp` is in seconds",
        "seconds since 1970",
        |it, _| {
            it.header("webhook-timestamp")
                .parse::<u64>()
                .is_ok_and(|it| (1_500_000_000..10_000_000_000).contains(&it))
        },
        |it| it.header("webhook-timestamp").to_owned(),
    );
    each(
        table,
        "webhook.signature",
        "`webhook-signature` is `v1,` and the HMAC-SHA256 of id, timestamp and body, by the secret",
        "a signature that fits",
        |it, secret| it.is_signed_with(secret),
        |it| it.header("webhook-signature").to_owned(),
    );
    table.demand("webhook.redirect", "Redirects are not followed", WORLD, |s| async move {
        let elsewhere = Receiver::start(Answer::Status(200)).await?;
        let (receiver, hook, _) = hooked(&s, Answer::Redirect(elsewhere.url()), json!({})).await?;
        s.test_event(&hook).await?;
        match (receiver.got().len(), elsewhere.got().len()) {
            (1, 0) => Ok(()),
            (first, second) => differs(
                "a receiver that redirects",
                "one request, none elsewhere",
                format!("{first}, and {second} elsewhere"),
            ),
        }
    });
    table.demand(
        "webhook.timestamp.attempt",
        "`webhook-timestamp` is when this attempt was sent",
        WORLD,
        |s| async move {
            let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
            s.test_event(&hook).await?;
            s.advance(40).await?;
            let times: Vec<i64> =
                receiver.got().iter().filter_map(|it| it.header("webhook-timestamp").parse().ok()).collect();
            match times.as_slice() {
                [first, second] if (20..=40).contains(&second.saturating_sub(*first)) => Ok(()),
                times => differs(
                    "two attempts, about 30 seconds apart",
                    "timestamps as far apart",
                    format!("{times:?}"),
                ),
            }
        },
    );
    for (id, says, url) in [
        (
            "webhook.url.private",
            "A private network is refused when the webhook is added",
            "https://10.0.0.1/hook",
        ),
        ("webhook.url.link-local", "A link-local address is refused", "https://169.254.169.254/hook"),
        ("webhook.url.http", "A public address must be `https://`", "http://203.0.113.7/hook"),
    ] {
        table.demand(id, says, WORLD, move |s| async move {
            // A call that refuses every address would refuse this one too.
            hooked(&s, Answer::Status(200), json!({})).await?;
            let hook = json!({ "url": url, "livemode": true, "scope": "team" });
            must(
                s.control()?.refuses("/webhooks", hook).await?,
                format!("a webhook for {url}"),
                "a refusal",
                "accepted",
            )
        });
    }
}

fn signatures(table: &mut Table) {
    table.demand("secret.form", "The secret starts `whsec_`", WORLD, |s| async move {
        let (_receiver, _, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
        must(
            secret.starts_with("whsec_") && secret.len() > 20,
            "a new webhook",
            "`whsec_` and the secret in base64",
            "another form",
        )
    });
    table.demand("secret.once", "The secret is shown once", WORLD, |s| async move {
        let (_receiver, _, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
        let shown = s.control()?.get("/webhooks").await?.to_string().contains(&secret);
        if shown { differs("the list of webhooks", "no secret", "the secret") } else { Ok(()) }
    });
    for (id, says, seconds, old) in [
        ("secret.rotated", "After a rotation both secrets sign", 0, true),
        ("secret.rotated.day", "Both secrets sign for 24 hours", 86_400 - 60, true),
        ("secret.rotated.over", "After 24 hours the new secret signs alone", 86_400 + 60, false),
    ] {
        table.demand(id, says, WORLD, move |s| async move {
            let (receiver, hook, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
            let new = rotate(&s, &hook).await?;
            s.advance(seconds).await?;
            s.test_event(&hook).await?;
            let got = receiver.got();
            let Some(last) = got.last() else { return differs("a test event", "a delivery", "none") };
            let signed = (last.is_signed_with(&new), last.is_signed_with(&secret), last.signatures().len());
            must(
                signed == (true, old, if old { 2 } else { 1 }),
                format!("an event {seconds} seconds after a rotation"),
                if old { "two signatures, one of each secret" } else { "one signature, of the new secret" },
                format!("{} signatures; new: {}, old: {}", signed.2, signed.0, signed.1),
            )
        });
    }
}

async fn rotate(s: &Session, hook: &str) -> Result<String, RuleAbort> {
    s.control()?.post_for(&format!("/webhooks/{hook}/rotate"), json!({}), "secret").await
}

fn rotations(table: &mut Table) {
    table.demand(
        "secret.rotated.retry",
        "A retry is signed with the secrets of its own time",
        WORLD,
        |s| async move {
            let (receiver, hook, old) = hooked(&s, Answer::Status(500), json!({})).await?;
            s.test_event(&hook).await?;
            let new = rotate(&s, &hook).await?;
            s.advance(40).await?;
            let signed: Vec<(bool, bool)> =
                receiver.got().iter().map(|it| (it.is_signed_with(&old), it.is_signed_with(&new))).collect();
            must(
                signed == [(true, false), (true, true)],
                "an attempt before a rotation and one after it",
                "the old secret, then both",
                format!("(old, new): {signed:?}"),
            )
        },
    );
    table.observe(
        "secret.rotated.twice",
        "Which of three secrets sign after two rotations in a row",
        "the second, the third",
        WORLD,
        |s| async move {
            let (receiver, hook, first) = hooked(&s, Answer::Status(200), json!({})).await?;
            let (second, third) = (rotate(&s, &hook).await?, rotate(&s, &hook).await?);
            s.test_event(&hook).await?;
            let got = receiver.got();
            let Some(last) = got.last() else { return differs("a test event", "a delivery", "none") };
            let named = [("the first", first), ("the second", second), ("the third", third)];
            let signing =
                named.iter().filter(|(_, secret)| last.is_signed_with(secret)).map(|(name, _)| *name);
            Ok(signing.collect::<Vec<_>>().join(", "))
        },
    );
}

fn answers(table: &mut Table) {
    for status in [200_u16, 201, 204, 299] {
        table.demand(
            format!("delivered.{status}"),
            format!("{status} is delivered"),
            WORLD,
            move |s| async move {
                let (receiver, hook, _) = hooked(&s, Answer::Status(status), json!({})).await?;
                s.test_event(&hook).await?;
                s.advance(3_600).await?;
                match receiver.got().len() {
                    1 => Ok(()),
                    attempts => differs(
                        &format!("a receiver that answers {status}"),
                        "one attempt",
                        format!("{attempts} attempts"),
                    ),
                }
            },
        );
    }
    for status in [300_u16, 302, 304, 400, 401, 404, 418, 429, 500, 503, 599] {
        table.demand(
            format!("retried.{status}"),
            format!("{status} is retried"),
            WORLD,
            move |s| async move {
                let (receiver, hook, _) = hooked(&s, Answer::Status(status), json!({})).await?;
                s.test_event(&hook).await?;
                s.advance(40).await?;
                match receiver.got().len() {
                    2 => Ok(()),
                    attempts => differs(
                        &format!("a receiver that answers {status}"),
                        "two attempts in 40 seconds",
                        format!("{attempts} attempts"),
                    ),
                }
            },
        );
    }
    table.demand(
        "delivered.late",
        "An answer after more than 10 seconds is not delivered",
        WORLD,
        |s| async move {
            let (receiver, hook, _) =
                hooked(&s, Answer::Late(Duration::from_millis(11_500)), json!({})).await?;
            s.test_event(&hook).await?;
            receiver.answer(200);
            s.advance(40).await?;
            match receiver.got().len() {
                2 => Ok(()),
                attempts => differs(
                    "a receiver that takes 11.5 seconds",
                    "a second attempt",
                    format!("{attempts} attempts"),
                ),
            }
        },
    );
}
