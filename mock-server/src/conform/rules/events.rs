//! The ten kinds of event: their envelope, their fields, and when each happens.

use serde_json::{Value, json};

use crate::conform::{
    receiver::{Answer, Delivery, Receiver},
    rule::{SHARED, Table, WORLD},
    session::{Session, text},
    shape::{
        Field,
        Type::{Bool, Id, Integer, Nullable, Object, OneOf, Text, Time},
        field, optional,
    },
    stop::Stop,
};

const ENVELOPE: &[Field] = &[
    field("id", Id("evt_")),
    field("type", Text),
    field("version", Integer),
    field("created_at", Time),
    field("workspace", Id("wsp_")),
    field("livemode", Bool),
    field("data", Object),
];

const WHO: &[&str] = &["user", "agent"];
const WHO_OR_SYSTEM: &[&str] = &["user", "agent", "system"];
const TURN: &[&str] = &["ours", "theirs", "done"];
const BOOKING: &[Field] = &[
    field("booking_id", Id("bkg_")),
    field("booking_type_id", Id("bkt_")),
    field("host_user_id", Id("usr_")),
    field("conversation_id", Nullable(&Id("cnv_"))),
    field("starts_at", Time),
    field("ends_at", Time),
];

/// The fields of `data` beside `summary` and `url`.
const DATA: &[(&str, &[Field])] = &[
    (
        "ask.completed",
        &[field("ask_id", Id("req_")), field("kind", Text), field("conversation_id", Id("cnv_"))],
    ),
    (
        "client.replied",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("mailbox_id", Id("mbx_")),
            field("secure", Bool),
            optional("reference", Text),
        ],
    ),
    (
        "conversation.assigned",
        &[
            field("conversation_id", Id("cnv_")),
            field("assignee", Nullable(&Object)),
            field("assignee.type", OneOf(WHO)),
            field("assignee.id", Text),
            field("assignee.name", Nullable(&Text)),
            field("assigned_by", Object),
            field("assigned_by.type", OneOf(WHO_OR_SYSTEM)),
            field("assigned_by.id", Nullable(&Text)),
            field("assigned_by.name", Text),
        ],
    ),
    (
        "turn.changed",
        &[
            field("conversation_id", Id("cnv_")),
            field("turn", OneOf(TURN)),
            field("previous", Nullable(&OneOf(TURN))),
            field("assignee", Nullable(&Object)),
        ],
    ),
    (
        "draft.approved",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("drafted_by", Object),
            field("drafted_by.type", Nullable(&OneOf(WHO))),
            field("drafted_by.id", Nullable(&Text)),
            field("approved_by", Object),
            field("approved_by.type", OneOf(WHO_OR_SYSTEM)),
            field("approved_by.id", Nullable(&Text)),
            field("approved_by.name", Text),
            field("edited", Bool),
        ],
    ),
    (
        "message.sent",
        &[
            field("conversation_id", Id("cnv_")),
            field("message_id", Id("msg_")),
            field("mailbox_id", Id("mbx_")),
            field("author", Nullable(&Object)),
            field("author.type", OneOf(WHO)),
            field("author.id", Nullable(&Text)),
            field("secure", Bool),
        ],
    ),
    ("booking.created", BOOKING),
    ("booking.cancelled", BOOKING),
    ("scout.held", &[field("conversation_id", Id("cnv_"))]),
    ("webhook.test", &[field("endpoint_id", Id("whk_"))]),
];

pub(super) fn add(table: &mut Table) {
    table.section("6.1");
    table.fields("envelope", ENVELOPE, SHARED, |s| s.told("", ""));
    table.demand("envelope.version.one", "`version` is 1 for all events", SHARED, |s| async move {
        let found = s.told("", "version").await?;
        match found.items.iter().find(|it| **it != 1) {
            None => Ok(()),
            Some(other) => Err(found.reply.differs_in("`version`: 1", "version", other)),
        }
    });
    table.demand("envelope.livemode.live", "`livemode` is true for live events", SHARED, |s| async move {
        let found = s.told("", "livemode").await?;
        match found.items.iter().find(|it| **it != true) {
            None => Ok(()),
            Some(other) => Err(found.reply.differs_in("`livemode`: true", "livemode", other)),
        }
    });
    table.demand(
        "data.thin",
        "`data` never has an email's words, a note, a file or an attachment",
        SHARED,
        |s| async move {
            let scene = s.scene().await?;
            for delivery in &scene.got {
                let data = delivery.event()["data"].to_string();
                if let Some(word) = scene.words.iter().find(|word| data.contains(word.as_str())) {
                    return Err(Stop::differs(
                        delivery.described(),
                        "no words of a mail, a note or a file",
                        format!("the words of a {word}"),
                    ));
                }
            }
            Ok(())
        },
    );

    table.section("6.2");
    for (kind, fields) in DATA {
        table.demand(
            format!("{kind}.told"),
            format!("`{kind}` is told when it happens"),
            SHARED,
            move |s| async move { s.told(kind, "").await.map(drop) },
        );
        table.fields(kind, fields, SHARED, move |s| s.told(kind, "data"));
        table.demand(
            format!("{kind}.summary"),
            "`summary` is a string of at most 200 characters",
            SHARED,
            move |s| async move {
                let found = s.told(kind, "data").await?;
                let fits = |it: &Value| {
                    it["summary"].as_str().is_some_and(|it| it.chars().count() <= 200 && !it.is_empty())
                };
                match found.items.iter().find(|it| !fits(it)) {
                    None => Ok(()),
                    Some(data) => Err(found.reply.differs_in(
                        "a `summary` of at most 200 characters",
                        "summary",
                        &data["summary"],
                    )),
                }
            },
        );
        table.demand(
            format!("{kind}.url"),
            "`url` is a link, when it is there",
            SHARED,
            move |s| async move {
                let found = s.told(kind, "data").await?;
                let fits = |it: &Value| {
                    it.get("url").is_none_or(|it| it.as_str().is_some_and(|it| it.contains("://")))
                };
                match found.items.iter().find(|it| !fits(it)) {
                    None => Ok(()),
                    Some(data) => Err(found.reply.differs_in("`url`: a link", "url", &data["url"])),
                }
            },
        );
    }
    occasions(table);
    values(table);
}

/// A live webhook, and a conversation that was there before it.
struct Stage {
    receiver: Receiver,
    conversation: String,
}

async fn stage(s: &Session) -> Result<Stage, Stop> {
    let receiver = Receiver::start(Answer::Status(200)).await?;
    let conversation = s.live_conversation().await?;
    s.hook(&receiver, json!({})).await?;
    Ok(Stage { receiver, conversation })
}

impl Stage {
    fn path(&self, what: &str) -> String {
        format!("/conversations/{}/{what}", self.conversation)
    }

    async fn of_kind(&self, s: &Session, kind: &str) -> Result<Vec<Value>, Stop> {
        s.settle().await?;
        Ok(self.receiver.got().iter().map(Delivery::event).filter(|it| it["type"] == kind).collect())
    }

    /// The `data` of the only event of this kind.
    async fn one(&self, s: &Session, kind: &'static str, after: &str) -> Result<Value, Stop> {
        match self.of_kind(s, kind).await?.as_slice() {
            [event] => Ok(event["data"].clone()),
            events => {
                Err(Stop::differs(after, format!("one `{kind}` event"), format!("{} of them", events.len())))
            }
        }
    }

    async fn none(&self, s: &Session, kind: &'static str, after: &str) -> Result<(), Stop> {
        match self.of_kind(s, kind).await?.len() {
            0 => Ok(()),
            count => Err(Stop::differs(after, format!("no `{kind}` event"), format!("{count} of them"))),
        }
    }
}

fn equal(after: &str, name: &str, value: &Value, expected: &Value) -> Result<(), Stop> {
    match value == expected {
        true => Ok(()),
        false => Err(Stop::differs(after, format!("`{name}`: {expected}"), value.to_string())),
    }
}

fn occasions(table: &mut Table) {
    table.demand(
        "client.replied.auto",
        "`client.replied` is not told for an automatic out-of-office reply",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.mail(json!({ "conversationId": stage.conversation, "autoReply": true })).await?;
            stage.none(&s, "client.replied", "an automatic reply").await
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
            match told.iter().any(|it| it["data"]["assignee"].is_null()) {
                true => Ok(()),
                false => Err(Stop::differs(
                    "POST …/assign to none",
                    "`assignee`: null",
                    format!("{} events", told.len()),
                )),
            }
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
        "draft.untold",
        "A draft that nobody approved is not told as approved or sent",
        WORLD,
        |s| async move {
            let stage = stage(&s).await?;
            s.live()?.post(stage.path("replies"), &json!({ "body": "Hello" })).await?.done()?;
            s.advance(86_400).await?;
            stage.none(&s, "draft.approved", "a draft").await?;
            stage.none(&s, "message.sent", "a draft").await
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
            let uploads = format!("/document-requests/{}/uploads", text(&asked.done()?["requestId"]));
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
        let uploads = format!("/document-requests/{}/uploads", text(&asked.done()?["requestId"]));
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
            Ok(if after == before { "no event".into() } else { format!("{} more", after - before) })
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
    turns(table);
}

fn turns(table: &mut Table) {
    for (id, says, mock, act) in [
        ("turn.first", "The turn after the first mail", "ours, before null", 0),
        ("turn.closed", "The turn after closing", "done, before ours", 1),
        ("turn.sent", "The turn after mail went out", "theirs, before ours", 2),
        ("turn.reopened", "The turn after reopening", "ours, before done", 3),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let stage = stage(&s).await?;
            let live = s.live()?;
            match act {
                0 => drop(s.mail(json!({ "from": "new@customer.example" })).await?),
                2 => {
                    live.post(stage.path("replies"), &json!({ "body": "Hello", "send": true }))
                        .await?
                        .done()?;
                    s.advance(605).await?;
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

/// What is in the fields.
fn values(table: &mut Table) {
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
            equal("a send", "author.id", &data["author"]["id"], &json!(me))
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
        let time = |value: &Value| crate::conform::shape::time(&text(value));
        match (time(&data["starts_at"]), time(&data["ends_at"])) == (time(&json!(starts)), time(&json!(ends))) {
            true => Ok(()),
            false => Err(Stop::differs("a booking", format!("{starts} to {ends}"), format!("{} to {}", data["starts_at"], data["ends_at"]))),
        }
    });
}
