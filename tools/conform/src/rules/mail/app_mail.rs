//! The app-mail bridge: references, recorded mail, and who may answer it.

use serde_json::{Value, json};

use crate::{
    check::session::{Session, text},
    rule::{RECORD, Table, WORLD},
    rule_abort::RuleAbort,
    wire::reply::Reply,
};

const MESSAGE_ID: &str = "<c0ffee-1042-5eed@shop.example>";

/// Returns what an app records, with these fields instead.
fn sent(more: Value) -> Value {
    let mut body = json!({
        "messageId": MESSAGE_ID, "reference": "Order-1042", "to": ["vera@customer.example"], "subject": "Shipped",
    });
    if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
        body.extend(more.clone());
    }
    body
}

async fn record(s: &Session, more: Value) -> Result<Reply, RuleAbort> {
    let reply = s.live()?.post("/app-mail", &sent(more)).await?;
    reply.done()?;
    Ok(reply)
}

/// Returns a mail that answers the recorded one; the conversation that it is in.
async fn answer(s: &Session, more: Value) -> Result<Reply, RuleAbort> {
    let mut mail = json!({ "inReplyTo": MESSAGE_ID });
    if let (Some(mail), Some(more)) = (mail.as_object_mut(), more.as_object()) {
        mail.extend(more.clone());
    }
    let id = text(&s.mail(mail).await?["conversationId"]);
    let read = s.live()?.get(format!("/conversations/{id}")).await?;
    read.done()?;
    Ok(read)
}

fn has_no_reference(read: &Reply) -> Result<(), RuleAbort> {
    read.must(
        read.done()?.get("reference").is_none_or(Value::is_null),
        "a conversation without the reference",
    )
}

pub(crate) fn add(table: &mut Table) {
    table.section("4.13");
    references(table);
    for (id, says, field, bad) in [
        (
            "app-mail.to.type",
            "`to` is an array of addresses",
            "to",
            (|| sent(json!({ "to": "vera@customer.test" }))) as fn() -> Value,
        ),
        ("app-mail.subject.type", "`subject` is a string", "subject", || sent(json!({ "subject": 1 }))),
        ("app-mail.messageId.type", "`messageId` is a string", "messageId", || {
            sent(json!({ "messageId": [] }))
        }),
    ] {
        table.demand(id, says, RECORD, move |s| async move {
            s.api().post("/app-mail", &bad()).await?.names(&[field])
        });
    }
    for (id, says, mock, body) in [
        (
            "app-mail.status",
            "What recording answers",
            r#"201 {"ok":true}"#,
            (|| sent(json!({}))) as fn() -> Value,
        ),
        ("app-mail.reference.rule", "A `reference` that breaks the rule", "400", || {
            sent(json!({ "reference": "word" }))
        }),
        (
            "app-mail.messageId.required",
            "Without `messageId`",
            "400",
            || json!({ "reference": "a1", "to": ["a@x.test"], "subject": "s" }),
        ),
        ("app-mail.to.empty", "An empty `to`", "400", || sent(json!({ "to": [] }))),
    ] {
        table.observe(id, says, mock, RECORD, move |s| async move {
            let mut body = body();
            // Nobody is to answer what another run recorded.
            if body.get("messageId").is_some() {
                body["messageId"] = json!(format!("<{}@conform.test>", s.word("m")));
            }
            let reply = s.api().post("/app-mail", &body).await?;
            Ok(if reply.status < 300 {
                format!("{} {}", reply.status, reply.text)
            } else {
                reply.status.to_string()
            })
        });
    }
    table.observe(
        "app-mail.required",
        "Fields that are named when all are missing",
        "messageId, reference, to, subject",
        RECORD,
        |s| async move {
            let refused = s.api().post("/app-mail", &json!({})).await?;
            let problems = refused.refused(400)?.split("; ");
            let names = problems.map(|it| it.split(':').next().unwrap_or_default());
            Ok(names.collect::<Vec<_>>().join(", "))
        },
    );
    table.demand("app-mail.repeat", "Recording the same `messageId` again is safe", RECORD, |s| async move {
        let body = sent(
            json!({ "messageId": format!("<{}@conform.test>", s.word("m")), "to": [s.address("customer")] }),
        );
        s.api().post("/app-mail", &body).await?.done()?;
        s.api().post("/app-mail", &body).await?.done().map(drop)
    });
    answers(table);
    forgetting(table);
}

fn references(table: &mut Table) {
    let forty = "a1".repeat(20);
    for (id, says, tag, reference) in [
        (
            "reference.digit",
            "A tag with a digit is a reference",
            "order-17".to_owned(),
            Some("order-17".to_owned()),
        ),
        (
            "reference.lower-case",
            "References come back lower-cased",
            "Order_17".into(),
            Some("order_17".into()),
        ),
        ("reference.max", "A tag of 40 characters is a reference", forty.clone(), Some(forty.clone())),
        (
            "reference.too-long",
            "A tag of 41 characters is an ordinary plus address",
            format!("{forty}a"),
            None,
        ),
        ("reference.word", "A word with no digit is an ordinary plus address", "sales".into(), None),
        (
            "reference.characters",
            "A tag with other characters is an ordinary plus address",
            "order.17".into(),
            None,
        ),
    ] {
        table.demand(id, says, WORLD, move |s| {
            let (tag, reference) = (tag.clone(), reference.clone());
            async move {
                let to = s.inbox().await?.replace('@', &format!("+{tag}@"));
                let id = text(&s.mail(json!({ "to": to })).await?["conversationId"]);
                let read = s.live()?.get(format!("/conversations/{id}")).await?;
                let list = s.live()?.get("/conversations").await?;
                match reference {
                    None => has_no_reference(&read),
                    Some(reference) => {
                        read.equals("/reference", &json!(reference))?;
                        list.equals("/0/reference", &json!(reference))
                    }
                }
            }
        });
    }
    table.demand("reference.none", "A conversation without a reference has none", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        has_no_reference(&s.live()?.get(format!("/conversations/{id}")).await?)
    });
}

fn answers(table: &mut Table) {
    table.demand(
        "app-mail.answer",
        "A recipient's reply starts a conversation with the reference and the recorded email",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let read = answer(&s, json!({})).await?;
            read.equals("/reference", &json!("order-1042"))?;
            read.must(read.done()?["appSent"].is_object(), "`appSent`: an object")
        },
    );
    table.demand("app-mail.answer.joins", "A second reply joins that conversation", WORLD, |s| async move {
        record(&s, json!({})).await?;
        let first = answer(&s, json!({})).await?.text_at("/id")?;
        answer(&s, json!({})).await?.equals("/id", &json!(first))
    });
    table.demand(
        "app-mail.answer.stranger",
        "Any other sender gets a separate conversation without the reference",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let first = answer(&s, json!({})).await?.text_at("/id")?;
            let read = answer(&s, json!({ "from": "mallory@evil.example" })).await?;
            read.must(read.text_at("/id")? != first, "another conversation")?;
            has_no_reference(&read)
        },
    );
    table.demand(
        "app-mail.answer.dmarc",
        "A reply that fails the DMARC check gets a separate conversation without the reference",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let first = answer(&s, json!({})).await?.text_at("/id")?;
            let read = answer(&s, json!({ "dmarc": "fail" })).await?;
            read.must(read.text_at("/id")? != first, "another conversation")?;
            has_no_reference(&read)
        },
    );
    table.demand(
        "app-mail.answer.participant",
        "Someone already on that conversation may answer too",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let first = answer(&s, json!({})).await?.text_at("/id")?;
            s.mail(json!({ "from": "lee@customer.example", "conversationId": first })).await?;
            answer(&s, json!({ "from": "lee@customer.example" })).await?.equals("/id", &json!(first))
        },
    );
    table.demand(
        "app-mail.update",
        "Recording again updates the outline until someone replies",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            record(&s, json!({ "reference": "order-1043" })).await?;
            answer(&s, json!({})).await?.equals("/reference", &json!("order-1043"))
        },
    );
    table.demand(
        "app-mail.fill-in",
        "After a reply, recording again changes nothing that was there",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let before = answer(&s, json!({})).await?;
            record(&s, json!({ "reference": "order-9", "subject": "Too late" })).await?;
            let id = before.text_at("/id")?;
            let after = s.live()?.get(format!("/conversations/{id}")).await?;
            after.equals("/reference", &before.done()?["reference"])?;
            let shown = |read: &Reply| read.json().map(|it| it["appSent"]["subject"].clone());
            after.must(shown(&after) == shown(&before), "the recorded email as it was")
        },
    );
    table.demand(
        "app-mail.sandbox",
        "What a test key records is not answered by live mail",
        WORLD,
        |s| async move {
            s.api().post("/app-mail", &sent(json!({}))).await?.done()?;
            has_no_reference(&answer(&s, json!({})).await?)
        },
    );
    table.observe(
        "app-mail.answer.replied",
        "Whether a reply to recorded mail that starts a conversation is a `client.replied`",
        "yes",
        WORLD,
        |s| async move {
            let receiver =
                crate::wire::receiver::Receiver::start(crate::wire::receiver::Answer::Status(200)).await?;
            s.hook(&receiver, json!({})).await?;
            record(&s, json!({})).await?;
            answer(&s, json!({})).await?;
            s.settle().await?;
            Ok(if receiver.got().iter().any(|it| it.kind() == "client.replied") { "yes" } else { "no" }
                .into())
        },
    );
    table.observe(
        "app-mail.answer.tagged",
        "Whether a stranger who names the Message-ID and writes to the tagged address gets the reference",
        "no",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let to = s.inbox().await?.replace('@', "+order-1042@");
            let read = answer(&s, json!({ "from": "mallory@evil.example", "to": to })).await?;
            Ok(if has_no_reference(&read).is_ok() { "no" } else { "yes" }.into())
        },
    );
    table.observe(
        "app-mail.sandbox.answer",
        "The reference of a simulated mail that answers what a test key recorded, by `inReplyTo`",
        "order-1042",
        RECORD,
        |s| async move {
            let (id, from) = (format!("<{}@conform.test>", s.word("m")), s.address("customer"));
            let body = sent(json!({ "messageId": id, "to": [from] }));
            s.api().post("/app-mail", &body).await?.done()?;
            let mail = json!({ "from": from, "text": "Hello", "inReplyTo": id });
            let id = s.inbound(mail).await?.text_at("/conversationId")?;
            Ok(s.read(&id).await?.done()?["reference"].as_str().unwrap_or("none").to_owned())
        },
    );
}

fn forgetting(table: &mut Table) {
    table.section("8");
    table.demand(
        "app-mail.forgotten",
        "Recorded mail without a reply is forgotten after 30 days",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            s.advance(30 * 86_400 + 3_600).await?;
            has_no_reference(&answer(&s, json!({})).await?)
        },
    );
    table.demand("app-mail.remembered", "Recorded mail is remembered for 30 days", WORLD, |s| async move {
        record(&s, json!({})).await?;
        s.advance(30 * 86_400 - 3_600).await?;
        answer(&s, json!({})).await?.equals("/reference", &json!("order-1042"))
    });
    table.demand(
        "app-mail.kept",
        "Once someone replied, it stays with the conversation",
        WORLD,
        |s| async move {
            record(&s, json!({})).await?;
            let id = answer(&s, json!({})).await?.text_at("/id")?;
            s.advance(40 * 86_400).await?;
            let read = s.live()?.get(format!("/conversations/{id}")).await?;
            read.must(read.done()?["appSent"].is_object(), "`appSent`: an object")
        },
    );
}
