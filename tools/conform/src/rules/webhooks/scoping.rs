//! Which webhook hears what.

use serde_json::json;

use super::delivery::{differs, hooked};
use crate::{
    check::session::{Session, text},
    rule::{Table, WORLD},
    rule_abort::RuleAbort,
    shape::time,
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
};

pub(crate) fn add(table: &mut Table) {
    table.section("6.1");
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
                (team, _) => differs(
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
                (_, own) => differs(
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
            (team, own) => differs("a booking", "one event, to the team's webhook", format!("the team's: {team}, the private one: {own}")),
        }
    });
    table.demand(
        "scoping.other",
        "A private webhook hears nothing of another person's private inbox",
        WORLD,
        |s| async move {
            let (team, own) = private(&s).await?;
            let other = s.control()?.post_for("/users", json!({ "name": "Cleo" }), "id").await?;
            let inbox = json!({ "address": "cleo@acme.example", "name": "Cleo", "owner": other });
            s.control()?.post("/mailboxes", inbox).await?;
            s.mail(json!({ "to": "cleo@acme.example" })).await?;
            s.settle().await?;
            let (of_team, of_other) = (team.got().len(), own.got().len());
            // A webhook that hears nothing at all would hear nothing of that inbox either.
            s.mail(json!({ "to": "ben@acme.example" })).await?;
            s.settle().await?;
            match (of_team, of_other, own.got().len()) {
                (0, 0, 1..) => Ok(()),
                (team, other, own) => differs(
                    "mail to another person's private inbox, then to its maker's",
                    "no event for either webhook, then one for the private one",
                    format!("the team's: {team}, the private one: {other}, then {own}"),
                ),
            }
        },
    );
    table.demand(
        "scoping.new",
        "A private webhook hears about a private inbox that its maker adds later",
        WORLD,
        |s| async move {
            let owner = s.control()?.post_for("/users", json!({ "name": "Ben" }), "id").await?;
            let scope = json!({ "scope": "private", "owner": owner });
            let (own, _, _) = hooked(&s, Answer::Status(200), scope).await?;
            let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
            s.control()?.post("/mailboxes", inbox).await?;
            s.mail(json!({ "to": "ben@acme.example" })).await?;
            s.settle().await?;
            match own.got().is_empty() {
                false => Ok(()),
                true => differs("mail to a private inbox that was added later", "an event", "none"),
            }
        },
    );
    table.demand(
        "scoping.bookings.private",
        "A booking in a private conversation is told to its maker's webhook alone",
        WORLD,
        |s| async move {
            let (team, own) = private(&s).await?;
            let id = s.mail(json!({ "to": "ben@acme.example" })).await?["conversationId"].clone();
            s.settle().await?;
            let before = own.got().len();
            let booking = json!({
                "hostUserId": s.person().await?, "conversationId": id,
                "startsAt": "2036-03-01T09:30:00Z", "endsAt": "2036-03-01T10:00:00Z",
            });
            s.control()?.post("/bookings", booking).await?;
            s.settle().await?;
            match (team.got().len(), own.got().len().saturating_sub(before)) {
                (0, 1) => Ok(()),
                (team, own) => differs(
                    "a booking in a private conversation",
                    "one event, to the private webhook",
                    format!("the team's: {team}, the private one: {own}"),
                ),
            }
        },
    );
    table.observe(
        "scoping.test",
        "Whether a test event goes to other webhooks too",
        "no",
        WORLD,
        |s| async move {
            let (_one, hook, _) = hooked(&s, Answer::Status(200), json!({})).await?;
            let (other, _, _) = hooked(&s, Answer::Status(200), json!({})).await?;
            s.test_event(&hook).await?;
            Ok(if other.got().is_empty() { "no" } else { "yes" }.into())
        },
    );
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
                _ => differs(
                    "new mail",
                    "its own endpoint hears it, marked as such, and no other",
                    format!("its own: {}, the other: {}", heard.got().len(), other.got().len()),
                ),
            }
        });
    }
    table.demand("scoping.plan", "Webhooks are not sent on the free plan", WORLD, |s| async move {
        let (receiver, _, _) = hooked(&s, Answer::Status(200), json!({})).await?;
        s.mail(json!({})).await?;
        s.settle().await?;
        let before = receiver.got().len();
        s.control()?.put("/plan", json!({ "plan": "free" })).await?;
        s.mail(json!({})).await?;
        s.settle().await?;
        match (before, receiver.got().len().saturating_sub(before)) {
            (1.., 0) => Ok(()),
            (before, told) => differs(
                "mail before the free plan, and on it",
                "events, then none",
                format!("{before}, then {told}"),
            ),
        }
    });
    table.demand("created_at", "`created_at` is when it happened", WORLD, |s| async move {
        let (receiver, hook, _) = hooked(&s, Answer::Status(500), json!({})).await?;
        let now = s.control()?.now().await?;
        s.test_event(&hook).await?;
        s.advance(3_600).await?;
        let apart = |it: &ReceivedWebhook| {
            time(&text(&it.event()["created_at"])).map_or(f64::MAX, |at| (at - now).abs())
        };
        let got = receiver.got();
        match got.iter().all(|it| apart(it) < 2.0) {
            true if got.is_empty() => differs("an hour of attempts", "a delivery", "none"),
            true => Ok(()),
            false => differs("an hour of attempts", "`created_at` of the event itself", "another time"),
        }
    });
}

/// Returns a private inbox; a receiver of the team's webhook, and one of its owner's private webhook.
async fn private(s: &Session) -> Result<(Receiver, Receiver), RuleAbort> {
    let owner = s.control()?.post_for("/users", json!({ "name": "Ben" }), "id").await?;
    let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
    s.control()?.post("/mailboxes", inbox).await?;
    let (team, _, _) = hooked(s, Answer::Status(200), json!({})).await?;
    let (own, _, _) = hooked(s, Answer::Status(200), json!({ "scope": "private", "owner": owner })).await?;
    Ok((team, own))
}
