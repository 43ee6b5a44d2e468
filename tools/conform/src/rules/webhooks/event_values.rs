//! What is in the fields of an event.

use serde_json::{Value, json};

use super::occasions::{equal, stage};
use crate::{
    check::session::text,
    rule::{Table, WORLD},
    rule_abort::RuleAbort,
    shape::time,
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
};

pub(crate) fn add(table: &mut Table) {
    table.section("6.2");
    table.demand(
        "client.replied.values",
        "`client.replied` names the conversation and the message, and says whether it was secure",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let mail = s.mail(json!({ "conversationId": stage.conversation, "secure": true })).await?;
            let data = stage.one(&s, "client.replied", "a reply on a secure page").await?;
            equal("a reply", "conversation_id", &data["conversation_id"], &json!(stage.conversation))?;
            equal("a reply", "message_id", &data["message_id"], &mail["messageId"])?;
            let inbox = s.live()?.get("/mailboxes").await?.text_at("/0/id")?;
            equal("a reply", "mailbox_id", &data["mailbox_id"], &json!(inbox))?;
            equal("a reply on a secure page", "secure", &data["secure"], &json!(true))
        },
    );
    table.demand(
        "client.replied.insecure",
        "`secure` is false for an ordinary reply",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "conversationId": stage.conversation })).await?;
            let data = stage.one(&s, "client.replied", "a reply").await?;
            equal("a reply", "secure", &data["secure"], &json!(false))
        },
    );
    table.demand(
        "client.replied.reference.carried",
        "`client.replied` carries the reference",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let to = s.inbox().await?.replace('@', "+Order-17@");
            let first = s.mail(json!({ "to": to })).await?;
            s.mail(json!({ "conversationId": first["conversationId"] })).await?;
            let data = stage.one(&s, "client.replied", "a reply").await?;
            equal("a reply with a reference", "reference", &data["reference"], &json!("order-17"))
        },
    );
    table.demand(
        "assigned.values",
        "`conversation.assigned` says who has it and who gave it",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let person = s.person().await?;
            let live = s.live()?;
            let me = live.get("/me").await?.text_at("/agent/id")?;
            live.post(stage.path("assign"), &json!({ "to": format!("user:{person}") })).await?.done()?;
            let data = stage.one(&s, "conversation.assigned", "POST …/assign").await?;
            let after = "POST …/assign to a person";
            equal(after, "assignee.type", &data["assignee"]["type"], &json!("user"))?;
            equal(after, "assignee.id", &data["assignee"]["id"], &json!(person))?;
            equal(after, "assigned_by.type", &data["assigned_by"]["type"], &json!("agent"))?;
            equal(after, "assigned_by.id", &data["assigned_by"]["id"], &json!(me))
        },
    );
    table.demand(
        "draft.approved.values",
        "`draft.approved` says who drafted and who approved",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let (person, live) = (s.person().await?, s.live()?);
            let me = live.get("/me").await?.text_at("/agent/id")?;
            let draft =
                live.post(stage.path("replies"), &json!({ "body": "Hello" })).await?.text_at("/messageId")?;
            s.control()?.post(&format!("/messages/{draft}/approve"), json!({ "by": person })).await?;
            let data = stage.one(&s, "draft.approved", "an approval").await?;
            equal("an approval", "message_id", &data["message_id"], &json!(draft))?;
            equal("an approval", "drafted_by.id", &data["drafted_by"]["id"], &json!(me))?;
            equal("an approval", "approved_by.id", &data["approved_by"]["id"], &json!(person))?;
            equal("an approval of the draft as it is", "edited", &data["edited"], &json!(false))
        },
    );
    table.demand(
        "draft.approved.edited.true",
        "`edited` is true when the person changed the draft",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let draft = s
                .live()?
                .post(stage.path("replies"), &json!({ "body": "Hello" }))
                .await?
                .text_at("/messageId")?;
            s.control()?.post(&format!("/messages/{draft}/approve"), json!({ "body": "Good day" })).await?;
            let data = stage.one(&s, "draft.approved", "an approval").await?;
            equal("an approval with another text", "edited", &data["edited"], &json!(true))
        },
    );
    table.demand(
        "message.sent.values",
        "`message.sent` names the conversation, the message and its author",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let live = s.live()?;
            let me = live.get("/me").await?.text_at("/agent/id")?;
            let sent = live
                .post(stage.path("replies"), &json!({ "body": "Hello", "send": true }))
                .await?
                .text_at("/messageId")?;
            s.advance(605).await?;
            let data = stage.one(&s, "message.sent", "a send").await?;
            equal("a send", "conversation_id", &data["conversation_id"], &json!(stage.conversation))?;
            equal("a send", "message_id", &data["message_id"], &json!(sent))?;
            equal(
                "a send",
                "mailbox_id",
                &data["mailbox_id"],
                &json!(live.get("/mailboxes").await?.text_at("/0/id")?),
            )?;
            equal("a send", "secure", &data["secure"], &json!(false))?;
            equal("a send", "author.id", &data["author"]["id"], &json!(me))
        },
    );
    table.observe(
        "message.sent.reminder",
        "The author of a reminder, which the service itself sends",
        "null",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let asked = json!({ "documents": [{ "label": "Passport" }], "send": true });
            s.live()?.post(stage.path("document-requests"), &asked).await?.done()?;
            s.advance(2 * 86_400 + 3_600).await?;
            let told = stage.of_kind(&s, "message.sent").await?;
            Ok(told.get(1).map_or("no event".into(), |it| it["data"]["author"].to_string()))
        },
    );
    table.demand(
        "turn.changed.values",
        "`turn.changed` names the conversation and who has it",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let live = s.live()?;
            let me = live.get("/me").await?.text_at("/agent/id")?;
            live.post(stage.path("assign"), &json!({ "to": "me" })).await?.done()?;
            live.post(stage.path("status"), &json!({ "status": "closed" })).await?.done()?;
            let data = stage.one(&s, "turn.changed", "closing").await?;
            equal("closing", "conversation_id", &data["conversation_id"], &json!(stage.conversation))?;
            equal("closing", "assignee.type", &data["assignee"]["type"], &json!("agent"))?;
            equal("closing", "assignee.id", &data["assignee"]["id"], &json!(me))
        },
    );
    table.demand(
        "turn.changed.values.previous",
        "`previous` is the turn that the event before it told",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let live = s.live()?;
            // Every change of the turn that the document names: a mail that goes out, its answer, closing,
            // reopening.
            let send = json!({ "body": "Hello", "send": true });
            live.post(stage.path("replies"), &send).await?.done()?;
            s.advance(605).await?;
            s.mail(json!({ "conversationId": stage.conversation })).await?;
            for status in ["closed", "open", "closed"] {
                s.advance(1).await?;
                live.post(stage.path("status"), &json!({ "status": status })).await?.done()?;
            }
            let mut told = stage.of_kind(&s, "turn.changed").await?;
            told.sort_by_key(|event| text(&event["created_at"]));
            if told.len() < 3 {
                let told = format!("{} of them", told.len());
                return Err(RuleAbort::differs(
                    "closing, reopening and closing",
                    "three `turn.changed`",
                    told,
                ));
            }
            for (before, event) in told.iter().zip(told.iter().skip(1)) {
                let turn = &event["data"]["turn"];
                let after = format!("the turn from {} to {turn}", before["data"]["turn"]);
                equal(&after, "previous", &event["data"]["previous"], &before["data"]["turn"])?;
            }
            Ok(())
        },
    );
    table.demand(
        "webhook.test.values",
        "`webhook.test` names its webhook, and says whether that is a live or a test endpoint",
        WORLD,
        |s| async move {
            for livemode in [true, false] {
                let receiver = Receiver::start(Answer::Status(200)).await?;
                let (hook, _) = s.hook(&receiver, json!({ "livemode": livemode })).await?;
                s.test_event(&hook).await?;
                let event = receiver.got().first().map(ReceivedWebhook::event).unwrap_or_default();
                equal("a test event", "endpoint_id", &event["data"]["endpoint_id"], &json!(hook))?;
                equal("a test event", "livemode", &event["livemode"], &json!(livemode))?;
            }
            Ok(())
        },
    );
    table.demand("scout.held.values", "`scout.held` names the conversation", WORLD, |s| async move {
        let stage = stage(&s).await?;
        let mail = s.mail(json!({ "from": "thief@scam.example", "held": true, "risk": "phishing" })).await?;
        let data = stage.one(&s, "scout.held", "a held mail").await?;
        equal("a held mail", "conversation_id", &data["conversation_id"], &mail["conversationId"])
    });
    table.demand("booking.values", "A booking's events have its times, its host and its conversation", WORLD, |s| async move {
        let stage = stage(&s).await?;
        let host = s.person().await?;
        let (starts, ends) = ("2036-03-01T09:30:00.000Z", "2036-03-01T10:00:00.000Z");
        let booking = json!({ "hostUserId": host, "startsAt": starts, "endsAt": ends, "conversationId": stage.conversation });
        let made = s.control()?.post("/bookings", booking).await?;
        let data = stage.one(&s, "booking.created", "a booking").await?;
        equal("a booking", "booking_id", &data["booking_id"], &made["id"])?;
        equal("a booking", "host_user_id", &data["host_user_id"], &json!(host))?;
        equal("a booking", "conversation_id", &data["conversation_id"], &json!(stage.conversation))?;
        let at = |value: &Value| time(&text(value));
        if (at(&data["starts_at"]), at(&data["ends_at"])) != (at(&json!(starts)), at(&json!(ends))) {
            return Err(RuleAbort::differs("a booking", format!("{starts} to {ends}"), format!("{} to {}", data["starts_at"], data["ends_at"])));
        }
        s.control()?.post(&format!("/bookings/{}/cancel", text(&made["id"])), json!({})).await?;
        let cancelled = stage.one(&s, "booking.cancelled", "a booking that was cancelled").await?;
        for name in ["booking_id", "booking_type_id", "host_user_id", "conversation_id", "starts_at", "ends_at"] {
            equal("a booking that was cancelled", name, &cancelled[name], &data[name])?;
        }
        Ok(())
    });
    table.demand(
        "booking.outside",
        "`conversation_id` of a booking outside a conversation is null",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let booking = json!({
                "hostUserId": s.person().await?, "startsAt": "2036-03-01T09:30:00Z", "endsAt": "2036-03-01T10:00:00Z",
            });
            s.control()?.post("/bookings", booking).await?;
            let data = stage.one(&s, "booking.created", "a booking").await?;
            equal("a booking outside a conversation", "conversation_id", &data["conversation_id"], &Value::Null)
        },
    );
}
