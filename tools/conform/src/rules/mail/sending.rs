//! Drafts, the undo window, approval, and what goes out.

use serde_json::{Value, json};

use super::replies::{REPLIES, REQUESTS, live, message, with};
use crate::{
    check::session::text,
    rule::{DRAFT, SEND, Table, WORLD},
    rule_abort::{RuleAbort, must},
    shape::time,
};

/// Adds the rules about the end of the undo window, as the response to a call that sends has it.
fn sends_at(table: &mut Table, group: &str, endpoint: (&'static str, fn() -> Value)) {
    let left_out = || RuleAbort::left_out("the service's response leaves out the optional `sendsAt`");
    table.demand(
        format!("{group}.sendsAt.live"),
        "`sendsAt` is the end of the undo window, 10 minutes on",
        WORLD,
        move |s| async move {
            let now = s.control()?.now().await?;
            let (what, body) = with(endpoint, json!({ "send": true }));
            let (_, made) = live(&s, what, body).await?;
            let at = made["sendsAt"].as_str().and_then(time).ok_or_else(left_out)?;
            must(
                (at - now - 600.0).abs() < 2.0,
                format!("POST …/{what} with send"),
                "`sendsAt` 600 seconds from now",
                format!("{} seconds", at - now),
            )
        },
    );
    table.demand(
        format!("{group}.sendsAt.sandbox"),
        "`sendsAt` is the end of the undo window, 5 seconds on in the sandbox",
        WORLD,
        move |s| async move {
            let id = s.conversation().await?;
            let now = s.control()?.now().await?;
            let (what, body) = with(endpoint, json!({ "send": true }));
            let made = s.act(&id, what, &body).await?;
            let at = made.done()?["sendsAt"].as_str().and_then(time).ok_or_else(left_out)?;
            must(
                (at - now - 5.0).abs() < 0.5,
                &made.request,
                "`sendsAt` 5 seconds from now",
                format!("{:.1} seconds", at - now),
            )
        },
    );
}

pub(crate) fn add(table: &mut Table) {
    table.section("3.3");
    for (id, says, endpoint, send, expected, needs) in [
        ("reply.is-draft", "Without `send` a reply is a draft", REPLIES, None, "draft", DRAFT),
        (
            "reply.is-draft.false",
            "With `send: false` a reply is a draft",
            REPLIES,
            Some(false),
            "draft",
            DRAFT,
        ),
        (
            "reply.is-scheduled",
            "With `send: true` a reply is scheduled",
            REPLIES,
            Some(true),
            "scheduled",
            SEND,
        ),
        ("request.is-draft", "Without `send` a document request is a draft", REQUESTS, None, "draft", DRAFT),
        (
            "request.is-scheduled",
            "With `send: true` a document request is scheduled",
            REQUESTS,
            Some(true),
            "scheduled",
            SEND,
        ),
    ] {
        table.demand(id, says, needs, move |s| async move {
            s.api().reserve(4).await;
            let id = s.conversation().await?;
            let more = send.map_or(json!({}), |send| json!({ "send": send }));
            let (what, body) = with(endpoint, more);
            let made = s.act(&id, what, &body).await?;
            made.equals("/status", &json!(expected))?;
            let item = message(s.api(), &id, &made.text_at("/messageId")?).await?;
            match (item["direction"] == "outbound", item["status"] == expected) {
                (true, true) => Ok(()),
                _ => Err(RuleAbort::differs(
                    &made.request,
                    format!("an outbound message, {expected}, in the timeline"),
                    item,
                )),
            }
        });
    }
    table.demand(
        "reply.undo.sandbox",
        "A sent reply leaves after 5 seconds in the sandbox",
        SEND,
        |s| async move {
            s.api().reserve(4).await;
            let id = s.conversation().await?;
            let made = s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?;
            let sent = made.text_at("/messageId")?;
            let early = message(s.api(), &id, &sent).await?["status"].clone();
            s.wait(std::time::Duration::from_secs(7)).await?;
            let late = message(s.api(), &id, &sent).await?["status"].clone();
            must(
                early == "scheduled" && late == "sent",
                &made.request,
                "scheduled at once, and sent 7 seconds later",
                format!("{early}, then {late}"),
            )
        },
    );
    table.demand(
        "reply.undo.sandbox.window",
        "It leaves neither earlier nor later than after 5 seconds in the sandbox",
        WORLD,
        |s| async move {
            let id = s.conversation().await?;
            let made = s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?;
            let sent = made.text_at("/messageId")?;
            s.advance(4).await?;
            let early = message(s.api(), &id, &sent).await?["status"].clone();
            s.advance(1).await?;
            let late = message(s.api(), &id, &sent).await?["status"].clone();
            must(
                early == "scheduled" && late == "sent",
                &made.request,
                "scheduled after 4 seconds, sent after 5",
                format!("{early}, then {late}"),
            )
        },
    );
    table.demand("reply.undo.live", "A sent reply leaves after 10 minutes", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
        let (api, sent) = (s.live()?, text(&made["messageId"]));
        s.advance(595).await?;
        let early = message(&api, &id, &sent).await?["status"].clone();
        s.advance(10).await?;
        let late = message(&api, &id, &sent).await?["status"].clone();
        must(
            early == "scheduled" && late == "sent",
            "POST …/replies with send",
            "scheduled after 9:55, sent after 10:05",
            format!("{early}, then {late}"),
        )
    });
    for (group, endpoint) in [("reply", REPLIES), ("request", REQUESTS)] {
        sends_at(table, group, endpoint);
    }
    table.demand(
        "reply.stop",
        "Anyone on the team can stop a reply during the window",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let sent = text(&made["messageId"]);
            s.control()?.post(&format!("/messages/{sent}/stop"), json!({})).await?;
            s.advance(86_400).await?;
            let status = message(&s.live()?, &id, &sent).await?["status"].clone();
            match status == "sent" || !s.control()?.list("/outbox").await?.is_empty() {
                false => Ok(()),
                true => Err(RuleAbort::differs(
                    "POST …/replies with send, stopped within the window",
                    "nothing leaves",
                    status,
                )),
            }
        },
    );
    table.demand("draft.silent", "Nothing of a draft reaches the customer", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
        s.advance(8 * 86_400).await?;
        let status = message(&s.live()?, &id, &text(&made["messageId"])).await?["status"].clone();
        must(
            s.control()?.list("/outbox").await?.is_empty() && status == "draft",
            "POST …/replies, and eight days later",
            "a draft, and no mail",
            status,
        )
    });
    table.demand(
        "draft.queue",
        "A draft waits in the approval queue with its summary",
        WORLD,
        |s| async move {
            let (_, made) = live(&s, "replies", json!({ "body": "Hello", "summary": "Says hello" })).await?;
            let queue = s.control()?.list("/approvals").await?;
            let there =
                queue.iter().any(|it| it["messageId"] == made["messageId"] && it["summary"] == "Says hello");
            must(
                there,
                "POST …/replies with a summary",
                "the draft in the queue, with its summary",
                json!(queue),
            )
        },
    );
    table.demand(
        "draft.approved",
        "A draft that a person approves goes out after the undo window",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
            let (api, draft) = (s.live()?, text(&made["messageId"]));
            s.control()?.post(&format!("/messages/{draft}/approve"), json!({})).await?;
            s.advance(595).await?;
            let early = message(&api, &id, &draft).await?["status"].clone();
            s.advance(10).await?;
            let late = message(&api, &id, &draft).await?["status"].clone();
            must(
                early == "scheduled" && late == "sent",
                "a draft, approved by a person",
                "scheduled after 9:55, sent after 10:05",
                format!("{early}, then {late}"),
            )
        },
    );
    table.demand("draft.edited", "A person may edit a draft before approving it", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
        let draft = text(&made["messageId"]);
        s.control()?.post(&format!("/messages/{draft}/approve"), json!({ "body": "Good day" })).await?;
        s.advance(600).await?;
        let shown = message(&s.live()?, &id, &draft).await?["text"].clone();
        must(shown == "Good day", "a draft, edited and approved", "the edited text", shown)
    });
    table.observe(
        "reply.conversation-status",
        "The status of an open conversation after mail went out",
        "waiting",
        WORLD,
        |s| async move {
            let (id, _) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            s.advance(605).await?;
            s.live()?.get(format!("/conversations/{id}")).await?.text_at("/status")
        },
    );
    table.observe(
        "reply.closed-status",
        "The status of a conversation that was closed before its mail went out",
        "closed",
        WORLD,
        |s| async move {
            let (id, _) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let closed = json!({ "status": "closed" });
            s.live()?.post(format!("/conversations/{id}/status"), &closed).await?.done()?;
            s.advance(605).await?;
            s.live()?.get(format!("/conversations/{id}")).await?.text_at("/status")
        },
    );
    table.observe(
        "reply.stopped.status",
        "The status of a message that was stopped",
        "draft",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let sent = text(&made["messageId"]);
            s.control()?.post(&format!("/messages/{sent}/stop"), json!({})).await?;
            Ok(text(&message(&s.live()?, &id, &sent).await?["status"]))
        },
    );
}
