//! Simulated mail, and what the sandbox keeps to itself.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::inbound,
    check::session::text,
    rule::{Needs, SEND, Table, WORLD, WRITE},
    rule_abort::{RuleAbort, must},
    wire::receiver::{Answer, Receiver},
};

pub(crate) fn add(table: &mut Table) {
    table.section("4.14");
    simulated(table);
    table.section("8.3");
    around(table);
}

fn simulated(table: &mut Table) {
    table.demand(
        "inbound.conversation",
        "The response has the new `conversationId`",
        WRITE,
        |s| async move {
            let reply = s.inbound(json!({ "from": s.address("customer"), "text": "Hello" })).await?;
            let id = reply.text_at("/conversationId")?;
            reply.must(id.starts_with("cnv_"), "an id that starts with `cnv_`")?;
            s.read(&id).await.map(drop)
        },
    );
    table.demand(
        "inbound.stored",
        "The mail is in the conversation: sender, name, subject and text",
        WRITE,
        |s| async move {
            let (from, word) = (s.address("customer"), s.word("subject"));
            let mail = json!({ "from": from, "name": "Kim", "subject": word, "text": "Where is it?" });
            let id = s.inbound(mail).await?.text_at("/conversationId")?;
            let read = s.read(&id).await?;
            read.equals("/subject", &json!(word))?;
            read.equals("/contact", &json!({ "name": "Kim", "email": from }))?;
            read.equals("/timeline/0/text", &json!("Where is it?"))?;
            read.equals("/timeline/0/from", &json!({ "name": "Kim", "email": from }))?;
            read.equals("/timeline/0/direction", &json!("inbound"))
        },
    );
    table.demand(
        "inbound.new",
        "Each mail without `conversationId` starts a conversation",
        WRITE,
        |s| async move {
            let from = s.address("customer");
            let first = s.conversation_with(&from).await?;
            let second = s.inbound(json!({ "from": s.address("customer"), "text": "Hello" })).await?;
            second.must(second.text_at("/conversationId")? != first, "another conversation")
        },
    );
    table.demand(
        "inbound.joins",
        "`conversationId` makes the mail a reply on that conversation",
        WRITE,
        |s| async move {
            let from = s.address("customer");
            let id = s.conversation_with(&from).await?;
            let reply = s.inbound(json!({ "from": from, "text": "More", "conversationId": id })).await?;
            reply.equals("/conversationId", &json!(id))?;
            let read = s.read(&id).await?;
            read.must(inbound(&read)? == 2, "two inbound messages")
        },
    );
    table.demand("inbound.from.domain", "`from` must be on a `.test` domain", WRITE, |s| async move {
        s.inbound(json!({ "from": "conform@customer.example", "text": "Hello" })).await?.names(&["from"])
    });
    table.demand("inbound.from.required", "`from` is required", WRITE, |s| async move {
        s.inbound(json!({ "text": "Hello" })).await?.names(&["from"])
    });
    table.demand("inbound.live", "A live key gets 403", WORLD, |s| async move {
        let mail = json!({ "from": "kim@customer.test", "text": "Hello" });
        s.live()?.post("/sandbox/inbound", &mail).await?.refused(403).map(drop)
    });
    table.demand("inbound.webhook", "Simulated replies reach test webhooks", WORLD, |s| async move {
        let receiver = Receiver::start(Answer::Status(200)).await?;
        s.hook(&receiver, json!({ "livemode": false })).await?;
        let from = s.address("customer");
        let id = s.conversation_with(&from).await?;
        s.inbound(json!({ "from": from, "text": "More", "conversationId": id })).await?.done()?;
        s.settle().await?;
        replied(&receiver)
    });
    for (id, says, mock, mail) in [
        (
            "inbound.status",
            "The status of a simulated mail",
            "201",
            (|| json!({ "from": "kim@customer.test", "text": "Hello" })) as fn() -> Value,
        ),
        ("inbound.text.required", "Without `text`", "400", || json!({ "from": "kim@customer.test" })),
        (
            "inbound.conversation.unknown",
            "An unknown `conversationId`",
            "404",
            || json!({ "from": "kim@customer.test", "text": "Hello", "conversationId": "cnv_0" }),
        ),
    ] {
        table.observe(id, says, mock, WRITE, move |s| async move {
            Ok(s.inbound(mail()).await?.status.to_string())
        });
    }
    table.observe("inbound.message", "Whether the response has `messageId`", "yes", WRITE, |s| async move {
        let reply = s.inbound(json!({ "from": s.address("customer"), "text": "Hello" })).await?;
        Ok(if reply.done()?["messageId"].is_string() { "yes" } else { "no" }.into())
    });
    table.demand("inbound.scam", "The scam check looks at simulated mail", WRITE, |s| async move {
        let said = "URGENT: your account will be closed within 24 hours. Verify your account and password now: \
                    http://login.example and pay with gift cards.";
        let id = s.inbound(json!({ "from": s.address("customer"), "text": said })).await?.text_at("/conversationId")?;
        let read = s.read(&id).await?;
        let conversation = read.done()?;
        let reasons = conversation["riskReasons"].as_array().map_or(0, Vec::len);
        let is_marked = conversation["risk"].is_string() && (1..=3).contains(&reasons);
        read.must_in(is_marked, "a `risk`, with one to three reasons", "risk", &conversation["risk"])
    });
    table.demand("inbound.harmless", "`risk` is null when nothing looks wrong", WRITE, |s| async move {
        let id = s.conversation().await?;
        let read = s.read(&id).await?;
        read.equals("/risk", &Value::Null)?;
        read.equals("/riskReasons", &json!([]))
    });
}

/// The receiver was told of a simulated reply.
fn replied(receiver: &Receiver) -> Result<(), RuleAbort> {
    let kinds: Vec<String> = receiver.got().iter().map(|it| it.kind()).collect();
    must(
        kinds.iter().any(|kind| kind == "client.replied"),
        "POST /sandbox/inbound with conversationId",
        "a `client.replied` event",
        kinds.join(", "),
    )
}

fn around(table: &mut Table) {
    let events =
        |id: &str, says: &str, local: &'static str, kind: &'static str, expected: bool, table: &mut Table| {
            table.demand(id, says, WORLD as Needs, move |s| async move {
                let receiver = Receiver::start(Answer::Status(200)).await?;
                s.hook(&receiver, json!({ "livemode": false })).await?;
                let address = s.address(local);
                let id = s.conversation_with(&address).await?;
                s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?.done()?;
                s.advance(30).await?;
                let kinds: Vec<String> = receiver.got().iter().map(|it| it.kind()).collect();
                let article = if expected { "a" } else { "no" };
                must(
                    kinds.iter().any(|it| it == kind) == expected,
                    format!("a send to {local}"),
                    format!("{article} `{kind}` event"),
                    kinds.join(", "),
                )?;
                if expected {
                    return Ok(());
                }
                // A webhook that tells nothing at all would not tell this either.
                s.inbound(json!({ "from": address, "text": "More", "conversationId": id })).await?.done()?;
                s.settle().await?;
                replied(&receiver)
            });
        };
    events(
        "magic.delivered.event",
        "A delivered send is told as `message.sent`",
        "delivered",
        "message.sent",
        true,
        table,
    );
    events(
        "magic.bounce.event",
        "A bounce is not told as `message.sent`",
        "bounce",
        "message.sent",
        false,
        table,
    );
    events(
        "magic.reply.event",
        "The reply of `reply` is told as `client.replied`",
        "reply",
        "client.replied",
        true,
        table,
    );
    events(
        "magic.ooo.event",
        "An out-of-office reply is not told as `client.replied`",
        "ooo",
        "client.replied",
        false,
        table,
    );
    events(
        "magic.complaint.told",
        "The send before a complaint is told as `message.sent`",
        "complaint",
        "message.sent",
        true,
        table,
    );
    events(
        "magic.docs.event",
        "The reply of `docs` is told as `client.replied`",
        "docs",
        "client.replied",
        true,
        table,
    );
    table.demand("sandbox.silent", "Nothing is sent outside the service", WORLD, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?.done()?;
        s.advance(60).await?;
        let outbox = s.control()?.list("/outbox").await?;
        let outside = outbox.iter().find(|it| !text(&it["to"]).ends_with(".test"));
        match outside {
            None => Ok(()),
            Some(_) => Err(RuleAbort::differs(
                "a send in the sandbox",
                "no mail outside `.test`",
                "a mail to another domain",
            )),
        }
    });
    table.demand(
        "sandbox.helpers",
        "The sorting helper does not run in the sandbox",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            let read = s.read(&id).await?;
            read.equals("/topic", &Value::Null)?;
            read.equals("/urgency", &Value::Null)
        },
    );
    table.demand(
        "sandbox.helpers.documents",
        "The document-reading helper does not run in the sandbox",
        SEND,
        |s| async move {
            let sends = s.magic().await?;
            let send = sends.to("docs")?;
            let list = s.api().get("/documents?limit=100").await?;
            let filed =
                list.list()?.iter().find(|it| it["conversationId"] == send.conversation.as_str()).cloned();
            let filed = filed.ok_or_else(|| list.differs("a document of that conversation"))?;
            let unread = filed["kind"].is_null()
                && filed["fields"].as_object().is_some_and(|it| it.values().all(Value::is_null));
            list.must_in(unread, "no `kind` and no `fields`", "the document", &filed)
        },
    );
    table.observe(
        "sandbox.tags.count",
        "`count` of a tag that one sandbox conversation has, with a test key and a live key",
        "1 and 0",
        WORLD,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "tags", &json!({ "add": ["refund"] })).await?.done()?;
            let count = |list: &Value| {
                let found = list.as_array().and_then(|it| it.iter().find(|it| it["name"] == "refund"));
                found.map_or("none".to_owned(), |it| it["count"].to_string())
            };
            let (test, live) = (s.api().get("/tags").await?, s.live()?.get("/tags").await?);
            Ok(format!("{} and {}", count(test.done()?), count(live.done()?)))
        },
    );
    table.demand("sandbox.tags", "Tag names are shared with the live workspace", WORLD, |s| async move {
        let (test, live) = (s.conversation().await?, s.live_conversation().await?);
        s.act(&test, "tags", &json!({ "add": ["refund"] })).await?.done()?;
        s.live()?.post(format!("/conversations/{live}/tags"), &json!({ "add": ["refund"] })).await?.done()?;
        let id = |list: &Value| {
            list.as_array()
                .and_then(|it| it.iter().find(|it| it["name"] == "refund"))
                .map(|it| it["id"].clone())
        };
        let (one, other) = (s.api().get("/tags").await?, s.live()?.get("/tags").await?);
        match (id(one.done()?), id(other.done()?)) {
            (Some(one), Some(other)) if one == other => Ok(()),
            (one, two) => Err(RuleAbort::differs(
                "GET /tags with both keys",
                "the same id for the same name",
                format!("{one:?}, {two:?}"),
            )),
        }
    });
    table.demand("sandbox.drafts", "Nobody can approve drafts in the sandbox", WORLD, |s| async move {
        let id = s.conversation().await?;
        let draft = s.act(&id, "replies", &json!({ "body": "Hello" })).await?.text_at("/messageId")?;
        // A call that approves nothing at all would refuse this draft too.
        let live = s.live_conversation().await?;
        let live =
            s.live()?.post(format!("/conversations/{live}/replies"), &json!({ "body": "Hello" })).await?;
        let approve = |message: &str| format!("/messages/{message}/approve");
        s.control()?.post(&approve(&live.text_at("/messageId")?), json!({})).await?;
        must(
            s.control()?.refuses(&approve(&draft), json!({})).await?,
            "a person approves a draft of the sandbox",
            "a refusal",
            "approved",
        )
    });
}
