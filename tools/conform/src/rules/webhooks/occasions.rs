//! When an event is told, how often, and with which values.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::request_id,
    check::session::{Session, text},
    rule::{Table, WORLD},
    rule_abort::{RuleAbort, must},
    wire::receiver::{Answer, ReceivedWebhook, Receiver},
};

/// A live webhook, and a conversation that was there before it.
pub(crate) struct Stage {
    receiver: Receiver,
    pub(crate) conversation: String,
}

pub(crate) async fn stage(s: &Session) -> Result<Stage, RuleAbort> {
    let receiver = Receiver::start(Answer::Status(200)).await?;
    let conversation = s.live_conversation().await?;
    s.hook(&receiver, json!({})).await?;
    Ok(Stage { receiver, conversation })
}

impl Stage {
    pub(crate) fn path(&self, what: &str) -> String {
        format!("/conversations/{}/{what}", self.conversation)
    }

    pub(crate) async fn of_kind(&self, s: &Session, kind: &str) -> Result<Vec<Value>, RuleAbort> {
        s.settle().await?;
        Ok(self.receiver.got().iter().map(ReceivedWebhook::event).filter(|it| it["type"] == kind).collect())
    }

    /// Returns the `data` of the only event of this kind.
    pub(crate) async fn one(&self, s: &Session, kind: &'static str, after: &str) -> Result<Value, RuleAbort> {
        match self.of_kind(s, kind).await?.as_slice() {
            [event] => Ok(event["data"].clone()),
            events => Err(RuleAbort::differs(
                after,
                format!("one `{kind}` event"),
                format!("{} of them", events.len()),
            )),
        }
    }

    /// Nothing of this kind is told by a webhook that tells of the customer's next reply.
    async fn untold(&self, s: &Session, kind: &'static str, after: &str) -> Result<(), RuleAbort> {
        self.none(s, kind, after).await?;
        s.mail(json!({ "conversationId": self.conversation })).await?;
        self.one(s, "client.replied", "a reply").await.map(drop)
    }

    async fn none(&self, s: &Session, kind: &'static str, after: &str) -> Result<(), RuleAbort> {
        match self.of_kind(s, kind).await?.len() {
            0 => Ok(()),
            count => Err(RuleAbort::differs(after, format!("no `{kind}` event"), format!("{count} of them"))),
        }
    }
}

pub(crate) fn equal(after: &str, name: &str, value: &Value, expected: &Value) -> Result<(), RuleAbort> {
    must(value == expected, after, format!("`{name}`: {expected}"), value.to_string())
}

pub(crate) fn add(table: &mut Table) {
    table.section("6.2");
    occasions(table);
    turns(table);
}

fn occasions(table: &mut Table) {
    table.demand(
        "client.replied.auto",
        "`client.replied` is not told for an automatic out-of-office reply",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "conversationId": stage.conversation, "autoReply": true })).await?;
            stage.untold(&s, "client.replied", "an automatic reply").await
        },
    );
    table.demand(
        "client.replied.once",
        "`client.replied` is told once for each reply",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "conversationId": stage.conversation })).await?;
            stage.one(&s, "client.replied", "a reply").await.map(drop)
        },
    );
    table.demand(
        "assigned.once",
        "`conversation.assigned` follows each assignment, once",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.live()?.post(stage.path("assign"), &json!({ "to": "me" })).await?.done()?;
            stage.one(&s, "conversation.assigned", "POST …/assign").await.map(drop)
        },
    );
    table.demand(
        "assigned.none",
        "Giving a conversation to nobody is told, with `assignee` null",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.live()?.post(stage.path("assign"), &json!({ "to": "me" })).await?.done()?;
            s.live()?.post(stage.path("assign"), &json!({ "to": "none" })).await?.done()?;
            let told = stage.of_kind(&s, "conversation.assigned").await?;
            must(
                told.iter().any(|it| it["data"]["assignee"].is_null()),
                "POST …/assign to none",
                "`assignee`: null",
                format!("{} events", told.len()),
            )
        },
    );
    table.demand(
        "draft.approved.then-sent",
        "`message.sent` comes when it goes out, after `draft.approved`",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let draft = s
                .live()?
                .post(stage.path("replies"), &json!({ "body": "Hello" }))
                .await?
                .text_at("/messageId")?;
            s.control()?.post(&format!("/messages/{draft}/approve"), json!({})).await?;
            stage.one(&s, "draft.approved", "an approval").await?;
            stage.none(&s, "message.sent", "an approval, within the undo window").await?;
            s.advance(605).await?;
            stage.one(&s, "message.sent", "an approval, after the undo window").await.map(drop)
        },
    );
    table.demand(
        "message.sent.once",
        "`message.sent` is told once, when the email went out",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.live()?.post(stage.path("replies"), &json!({ "body": "Hello", "send": true })).await?.done()?;
            stage.none(&s, "message.sent", "a send, within the undo window").await?;
            s.advance(605).await?;
            stage.one(&s, "message.sent", "a send, after the undo window").await.map(drop)
        },
    );
    table.demand(
        "message.sent.stopped",
        "A send that was stopped within the undo window is not told as sent",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let send = json!({ "body": "Hello", "send": true });
            let sent = s.live()?.post(stage.path("replies"), &send).await?.text_at("/messageId")?;
            s.control()?.post(&format!("/messages/{sent}/stop"), json!({})).await?;
            s.advance(86_400).await?;
            stage.untold(&s, "message.sent", "a send that was stopped").await
        },
    );
    table.observe(
        "scout.held.replied",
        "What is told of a mail that is held and joins a conversation",
        "client.replied, scout.held",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "conversationId": stage.conversation, "held": true })).await?;
            s.settle().await?;
            let mut kinds: Vec<String> = stage.receiver.got().iter().map(ReceivedWebhook::kind).collect();
            kinds.sort();
            Ok(kinds.join(", "))
        },
    );
    table.demand(
        "draft.untold",
        "A draft that nobody approved is not told as approved or sent",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.live()?.post(stage.path("replies"), &json!({ "body": "Hello" })).await?.done()?;
            s.advance(86_400).await?;
            stage.none(&s, "draft.approved", "a draft").await?;
            stage.untold(&s, "message.sent", "a draft").await
        },
    );
    table.demand(
        "ask.completed.all",
        "`ask.completed` comes when everything asked is in, and once",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            let asked = json!({ "documents": [{ "label": "Passport" }, { "label": "Bill" }], "send": true });
            let asked = s.live()?.post(stage.path("document-requests"), &asked).await?;
            s.advance(605).await?;
            let uploads = format!("/document-requests/{}/uploads", request_id(asked.done()?)?);
            s.control()?.post(&uploads, json!({ "item": 0, "filename": "a.pdf" })).await?;
            stage.none(&s, "ask.completed", "one of two documents").await?;
            s.control()?.post(&uploads, json!({ "item": 1, "filename": "b.pdf" })).await?;
            let data = stage.one(&s, "ask.completed", "both documents").await?;
            equal("both documents", "ask_id", &data["ask_id"], &asked.done()?["requestId"])?;
            equal("both documents", "kind", &data["kind"], &json!("documents"))
        },
    );
    table.demand("ask.completed.optional", "What is only nice to have does not hold `ask.completed` up", WORLD, |s| async move {
        let stage = stage(&s).await?;
        let asked = json!({ "documents": [{ "label": "Passport" }, { "label": "Photo", "required": false }], "send": true });
        let asked = s.live()?.post(stage.path("document-requests"), &asked).await?;
        s.advance(605).await?;
        let uploads = format!("/document-requests/{}/uploads", request_id(asked.done()?)?);
        s.control()?.post(&uploads, json!({ "item": 0, "filename": "a.pdf" })).await?;
        stage.one(&s, "ask.completed", "the required document").await.map(drop)
    });
    for (id, says, mock, to) in [
        ("assigned.same", "Assigning to the same one again: events", "no event", "me"),
        ("assigned.nobody", "Unassigning what is assigned to nobody: events", "no event", "none"),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let stage = stage(&s).await?;
            if to == "me" {
                s.live()?.post(stage.path("assign"), &json!({ "to": to })).await?.done()?;
            }
            let before = stage.of_kind(&s, "conversation.assigned").await?.len();
            s.live()?.post(stage.path("assign"), &json!({ "to": to })).await?.done()?;
            let after = stage.of_kind(&s, "conversation.assigned").await?.len();
            Ok(if after == before { "no event".into() } else { format!("{after} instead of {before}") })
        });
    }
    table.observe(
        "client.replied.first",
        "The first mail of a conversation: `client.replied`",
        "no event",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "from": "new@customer.example" })).await?;
            let told = stage.of_kind(&s, "client.replied").await?.len();
            Ok(if told == 0 { "no event".into() } else { format!("{told} events") })
        },
    );
}

fn turns(table: &mut Table) {
    table.section("3.1");
    table.demand(
        "status.same.untold",
        "Setting the same status again tells nothing",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            for _ in 0..2 {
                s.live()?.post(stage.path("status"), &json!({ "status": "closed" })).await?.done()?;
            }
            stage.one(&s, "turn.changed", "closing twice").await.map(drop)
        },
    );
    table.section("6.2");
    for (id, says, mock, act) in [
        ("turn.first", "The turn after the first mail", "ours, before null", 0),
        ("turn.closed", "The turn after closing", "done, before ours", 1),
        ("turn.sent", "The turn after mail went out", "theirs, before ours", 2),
        ("turn.reopened", "The turn after reopening", "ours, before done", 3),
        ("turn.replied", "The turn after the customer answered mail that went out", "ours, before theirs", 4),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let stage = stage(&s).await?;
            let live = s.live()?;
            match act {
                0 => drop(s.mail(json!({ "from": "new@customer.example" })).await?),
                2 | 4 => {
                    live.post(stage.path("replies"), &json!({ "body": "Hello", "send": true }))
                        .await?
                        .done()?;
                    s.advance(605).await?;
                    if act == 4 {
                        s.mail(json!({ "conversationId": stage.conversation })).await?;
                    }
                }
                _ => {
                    live.post(stage.path("status"), &json!({ "status": "closed" })).await?.done()?;
                    if act == 3 {
                        live.post(stage.path("status"), &json!({ "status": "open" })).await?.done()?;
                    }
                }
            }
            let told = stage.of_kind(&s, "turn.changed").await?;
            let last =
                told.iter().max_by(|one, next| text(&one["created_at"]).cmp(&text(&next["created_at"])));
            let shown = |it: &Value| it.as_str().map_or("null".to_owned(), str::to_owned);
            Ok(last.map_or("no event".into(), |it| {
                format!("{}, before {}", shown(&it["data"]["turn"]), shown(&it["data"]["previous"]))
            }))
        });
    }
}
