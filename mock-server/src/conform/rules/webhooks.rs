//! How events are delivered: headers, signatures, retries, the end of a webhook, and who hears what.

use std::time::Duration;

use serde_json::{Value, json};

use crate::conform::{
    receiver::{Answer, Delivery, Receiver},
    rule::{SHARED, Table, WORLD},
    session::{Session, text},
    shape::time,
    stop::Stop,
};

/// The waits between tries, in seconds.
const WAITS: [f64; 8] = [30.0, 120.0, 600.0, 1_800.0, 3_600.0, 10_800.0, 21_600.0, 43_200.0];

/// A webhook, its receiver and its secret.
async fn hooked(s: &Session, answer: Answer, more: Value) -> Result<(Receiver, String, String), Stop> {
    let receiver = Receiver::start(answer).await?;
    let (id, secret) = s.hook(&receiver, more).await?;
    Ok((receiver, id, secret))
}

async fn state(s: &Session, hook: &str) -> Result<String, Stop> {
    let hooks = s.control()?.list("/webhooks").await?;
    Ok(hooks.iter().find(|it| it["id"] == hook).map(|it| text(&it["state"])).unwrap_or_default())
}

fn unlike<T>(request: &str, expected: impl Into<String>, received: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::differs(request, expected, received))
}

/// Every delivery of the scene.
fn each(
    table: &mut Table,
    id: &str,
    says: &str,
    expected: &'static str,
    fits: fn(&Delivery, &str) -> bool,
    shown: fn(&Delivery) -> String,
) {
    table.demand(id, says, SHARED, move |s| async move {
        let scene = s.scene().await?;
        match scene.got.iter().find(|it| !fits(it, &scene.secret)) {
            None if scene.got.is_empty() => unlike("what webhooks tell of", "a delivery", "none"),
            None => Ok(()),
            Some(it) => unlike(&it.described(), expected, shown(it)),
        }
    });
}

pub(super) fn add(table: &mut Table) {
    table.section("6.1");
    requests(table);
    signatures(table);
    answers(table);
    retries(table);
    endings(table);
    scoping(table);
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
            (first, second) => unlike(
                "a receiver that redirects",
                "one request, none elsewhere",
                format!("{first}, and {second} elsewhere"),
            ),
        }
    });
    table.demand(
        "webhook.timestamp.try",
        "`webhook-timestamp` is when this try was sent",
        WORLD,
        |s| async move {
            let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
            s.test_event(&hook).await?;
            s.advance(40).await?;
            let times: Vec<i64> =
                receiver.got().iter().filter_map(|it| it.header("webhook-timestamp").parse().ok()).collect();
            match times.as_slice() {
                [first, second] if (20..=40).contains(&(second - first)) => Ok(()),
                times => unlike(
                    "two tries, about 30 seconds apart",
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
            let hook = json!({ "url": url, "livemode": true, "scope": "team" });
            match s.control()?.status_of("/webhooks", hook).await? {
                200..=299 => unlike(&format!("a webhook for {url}"), "a refusal", "accepted"),
                _ => Ok(()),
            }
        });
    }
}

fn signatures(table: &mut Table) {
    table.demand("secret.form", "The secret starts `whsec_`", WORLD, |s| async move {
        let (_receiver, _, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
        match secret.starts_with("whsec_") && secret.len() > 20 {
            true => Ok(()),
            false => unlike("a new webhook", "`whsec_` and the secret in base64", "another form"),
        }
    });
    table.demand("secret.once", "The secret is shown once", WORLD, |s| async move {
        let (_receiver, _, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
        let shown = s.control()?.get("/webhooks").await?.to_string().contains(&secret);
        if shown { unlike("the list of webhooks", "no secret", "the secret") } else { Ok(()) }
    });
    for (id, says, hours, old) in [
        ("secret.rotated", "After a rotation both secrets sign", 0, true),
        ("secret.rotated.day", "Both secrets sign for 24 hours", 23, true),
        ("secret.rotated.over", "After 24 hours the new secret signs alone", 25, false),
    ] {
        table.demand(id, says, WORLD, move |s| async move {
            let (receiver, hook, secret) = hooked(&s, Answer::Status(200), json!({})).await?;
            let new =
                text(&s.control()?.post(&format!("/webhooks/{hook}/rotate"), json!({})).await?["secret"]);
            s.advance(hours * 3_600).await?;
            s.test_event(&hook).await?;
            let got = receiver.got();
            let Some(last) = got.last() else { return unlike("a test event", "a delivery", "none") };
            let signed = (last.is_signed_with(&new), last.is_signed_with(&secret), last.signatures().len());
            match signed == (true, old, if old { 2 } else { 1 }) {
                true => Ok(()),
                false => unlike(
                    &format!("an event {hours} hours after a rotation"),
                    if old {
                        "two signatures, one of each secret"
                    } else {
                        "one signature, of the new secret"
                    },
                    format!("{} signatures; new: {}, old: {}", signed.2, signed.0, signed.1),
                ),
            }
        });
    }
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
                    tries => unlike(
                        &format!("a receiver that answers {status}"),
                        "one try",
                        format!("{tries} tries"),
                    ),
                }
            },
        );
    }
    for status in [302_u16, 400, 404, 429, 500, 503] {
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
                    tries => unlike(
                        &format!("a receiver that answers {status}"),
                        "two tries in 40 seconds",
                        format!("{tries} tries"),
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
                tries => {
                    unlike("a receiver that takes 11.5 seconds", "a second try", format!("{tries} tries"))
                }
            }
        },
    );
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
            let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let fits = |(waited, wait): (&f64, &f64)| (wait * 0.8 - 2.0..=wait * 1.2 + 2.0).contains(waited);
            match waits.len() == WAITS.len() && waits.iter().zip(&WAITS).all(fits) {
                true => Ok(()),
                false => unlike(
                    "a receiver that always fails",
                    format!("waits of about {WAITS:?} seconds"),
                    format!("{waits:?}"),
                ),
            }
        },
    );
    table.demand("retry.dropped", "After that the event is dropped", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(40 * 3_600).await?;
        let tries = receiver.got().len();
        receiver.answer(200);
        s.advance(10 * 86_400).await?;
        match receiver.got().len() == tries {
            true => Ok(()),
            false => unlike(
                "ten days after the last try",
                "nothing more",
                format!("{} more", receiver.got().len() - tries),
            ),
        }
    });
    table.demand("retry.same", "`id` and body are identical on every try", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        let got = receiver.got();
        match got.len() > 2
            && got
                .iter()
                .all(|it| it.header("webhook-id") == got[0].header("webhook-id") && it.body == got[0].body)
        {
            true => Ok(()),
            false => {
                unlike("an hour of tries", "the same id and body", format!("{} tries that differ", got.len()))
            }
        }
    });
    table.demand("retry.signed", "Each try is signed anew", WORLD, |s| async move {
        let (receiver, hook, secret) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        match receiver.got().iter().all(|it| it.is_signed_with(&secret)) {
            true => Ok(()),
            false => unlike("an hour of tries", "a signature that fits on each", "one that does not fit"),
        }
    });
    table.demand("retry.until", "Nothing follows a 2xx", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        receiver.answer(200);
        s.advance(86_400).await?;
        match receiver.got().len() {
            2 => Ok(()),
            tries => unlike("a receiver that recovers", "two tries", format!("{tries} tries")),
        }
    });
    table.demand("redelivery", "An event can be redelivered with the same `id`", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(200), json!({})).await?;
        s.test_event(&hook).await?;
        let first = receiver.got().first().map(|it| it.header("webhook-id").to_owned()).unwrap_or_default();
        s.control()?.post(&format!("/webhooks/{hook}/deliveries/{first}/redeliver"), json!({})).await?;
        s.settle().await?;
        let ids: Vec<String> = receiver.got().iter().map(|it| it.header("webhook-id").to_owned()).collect();
        match ids.len() == 2 && ids[1] == first {
            true => Ok(()),
            false => unlike(
                "a manual redelivery",
                "a second delivery with the same id",
                format!("{} deliveries", ids.len()),
            ),
        }
    });
    table.demand("log.tries", "The delivery log shows every try", WORLD, |s| async move {
        let (_receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        s.test_event(&hook).await?;
        s.advance(40).await?;
        let log = s.control()?.list(&format!("/webhooks/{hook}/deliveries")).await?;
        match log.first().and_then(|it| it["tries"].as_array()).map(Vec::len) {
            Some(2) => Ok(()),
            tries => unlike("the log after two tries", "two tries", format!("{tries:?}")),
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
                unlike("the log by outcome and by event", "one entry each", format!("{one} and {other}"))
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
            match log.is_empty() != kept {
                true => Ok(()),
                false => unlike(
                    &format!("the log after {days} days"),
                    if kept { "the event" } else { "nothing" },
                    format!("{} entries", log.len()),
                ),
            }
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
            (state, tries) => unlike(
                "a receiver that answers 410",
                "off, and one try",
                format!("{state}, and {tries} tries"),
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
            let tries = receiver.got().len();
            receiver.answer(200);
            s.mail(json!({})).await?;
            s.advance(86_400).await?;
            match (state(&s, &hook).await?.as_str(), receiver.got().len() - tries) {
                ("paused", 0) => Ok(()),
                (state, more) => unlike(
                    "a day of failures",
                    "paused, and nothing sent",
                    format!("{state}, and {more} sent"),
                ),
            }
        },
    );
    table.demand("day.notice", "A pause e-mails the owner of the webhook", WORLD, |s| async move {
        let (_receiver, _, _) = failing_for_a_day(&s).await?;
        notices(&s, 1, "a day of failures").await
    });
    table.demand("day.resumed", "Someone can resume a paused webhook", WORLD, |s| async move {
        let (receiver, hook, _) = failing_for_a_day(&s).await?;
        let tries = receiver.got().len();
        receiver.answer(200);
        s.control()?.post(&format!("/webhooks/{hook}/resume"), json!({})).await?;
        s.test_event(&hook).await?;
        match receiver.got().len() - tries {
            1 => Ok(()),
            more => unlike("a test event after the resume", "one delivery", format!("{more}")),
        }
    });
    table.demand("day.success", "One success within the day keeps the webhook on", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        for hour in 0..30_u64 {
            receiver.answer(if hour == 12 { 200 } else { 500 });
            s.mail(json!({})).await?;
            s.advance(3_600).await?;
        }
        match state(&s, &hook).await?.as_str() {
            "on" => Ok(()),
            state => unlike("failures with a success after 12 hours", "on", state),
        }
    });
}

/// A webhook whose receiver fails every hour for more than a day.
async fn failing_for_a_day(s: &Session) -> Result<(Receiver, String, String), Stop> {
    let hook = hooked(s, Answer::Status(500), json!({})).await?;
    for _ in 0..27 {
        s.mail(json!({})).await?;
        s.advance(3_600).await?;
    }
    Ok(hook)
}

async fn notices(s: &Session, expected: usize, after: &str) -> Result<(), Stop> {
    let outbox = s.control()?.list("/outbox").await?;
    let notices = outbox.iter().filter(|it| it["kind"] == "notice").count();
    match notices == expected {
        true => Ok(()),
        false => unlike(after, format!("{expected} notice"), format!("{notices} notices")),
    }
}

fn scoping(table: &mut Table) {
    table.demand(
        "scoping.private",
        "A webhook for team inboxes never hears about a private inbox",
        WORLD,
        |s| async move {
            let (team, own) = private(&s).await?;
            s.mail(json!({ "to": "ben@acme.example" })).await?;
            s.settle().await?;
            match (team.got().len(), own.got().is_empty()) {
                (0, false) => Ok(()),
                (team, _) => unlike(
                    "mail to a private inbox",
                    "its maker's webhook hears, the team's does not",
                    format!("the team's: {team}, its own: {}", own.got().len()),
                ),
            }
        },
    );
    table.demand(
        "scoping.team",
        "A private webhook hears about its maker's private inboxes and nothing else",
        WORLD,
        |s| async move {
            let (team, own) = private(&s).await?;
            s.live_conversation().await?;
            s.settle().await?;
            match (team.got().is_empty(), own.got().len()) {
                (false, 0) => Ok(()),
                (_, own) => unlike(
                    "mail to a team inbox",
                    "the team's webhook hears, the private one does not",
                    format!("the private one: {own}, the team's: {}", team.got().len()),
                ),
            }
        },
    );
    table.demand("scoping.bookings", "Bookings outside a conversation are told to the team's webhooks alone", WORLD, |s| async move {
        let (team, own) = private(&s).await?;
        let booking = json!({ "hostUserId": s.person().await?, "startsAt": "2036-03-01T09:30:00Z", "endsAt": "2036-03-01T10:00:00Z" });
        s.control()?.post("/bookings", booking).await?;
        s.settle().await?;
        match (team.got().len(), own.got().len()) {
            (1, 0) => Ok(()),
            (team, own) => unlike("a booking", "one event, to the team's webhook", format!("the team's: {team}, the private one: {own}")),
        }
    });
    for (id, says, test_event) in [
        ("scoping.sandbox", "Sandbox events go only to test endpoints", true),
        ("scoping.live", "Live events go only to live endpoints", false),
    ] {
        table.demand(id, says, WORLD, move |s| async move {
            let (live, _, _) = hooked(&s, Answer::Status(200), json!({})).await?;
            let (test, _, _) = hooked(&s, Answer::Status(200), json!({ "livemode": false })).await?;
            if test_event {
                drop(s.conversation().await?)
            } else {
                drop(s.live_conversation().await?)
            }
            s.settle().await?;
            let (heard, other) = if test_event { (test, live) } else { (live, test) };
            let marked = heard.got().iter().all(|it| it.event()["livemode"] == !test_event);
            match (heard.got().is_empty(), other.got().len(), marked) {
                (false, 0, true) => Ok(()),
                _ => unlike(
                    "new mail",
                    "its own endpoint hears it, marked as such, and no other",
                    format!("its own: {}, the other: {}", heard.got().len(), other.got().len()),
                ),
            }
        });
    }
    table.demand("scoping.plan", "Webhooks are not sent on the free plan", WORLD, |s| async move {
        let (receiver, _, _) = hooked(&s, Answer::Status(200), json!({})).await?;
        s.control()?.put("/plan", json!({ "plan": "free" })).await?;
        s.mail(json!({})).await?;
        s.settle().await?;
        match receiver.got().len() {
            0 => Ok(()),
            told => unlike("mail on the free plan", "no event", format!("{told} events")),
        }
    });
    table.demand("created_at", "`created_at` is when it happened", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        let now = time(&text(&s.control()?.get("/clock").await?["now"])).unwrap_or_default();
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        let apart =
            |it: &Delivery| time(&text(&it.event()["created_at"])).map_or(f64::MAX, |at| (at - now).abs());
        match receiver.got().iter().all(|it| apart(it) < 2.0) {
            true => Ok(()),
            false => unlike("an hour of tries", "`created_at` of the event itself", "another time"),
        }
    });
}

/// A private inbox; a receiver of the team's webhook, and one of its owner's private webhook.
async fn private(s: &Session) -> Result<(Receiver, Receiver), Stop> {
    let owner = text(&s.control()?.post("/users", json!({ "name": "Ben" })).await?["id"]);
    let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
    s.control()?.post("/mailboxes", inbox).await?;
    let (team, _, _) = hooked(s, Answer::Status(200), json!({})).await?;
    let (own, _, _) = hooked(s, Answer::Status(200), json!({ "scope": "private", "owner": owner })).await?;
    Ok((team, own))
}
