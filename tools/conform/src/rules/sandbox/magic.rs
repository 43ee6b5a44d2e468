//! What the sandbox's magic recipients do.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::{inbound, timeline},
    check::session::text,
    rule::{SEND, Table, WORLD},
    rule_abort::{RuleAbort, must},
    shape::time,
};

pub(crate) fn add(table: &mut Table) {
    table.section("8.3");
    for (id, says, local, status, comes) in [
        ("magic.delivered", "`delivered` is delivered, and nothing comes back", "delivered", "sent", 1),
        (
            "magic.other",
            "Anything else at `.test` is delivered, and nothing comes back",
            "somebody",
            "sent",
            1,
        ),
        ("magic.bounce", "`bounce` is a hard bounce: the status is `failed`", "bounce", "failed", 1),
        (
            "magic.whole",
            "A word that only starts like a magic recipient is anything else",
            "replyto",
            "sent",
            1,
        ),
        ("magic.tag", "Magic recipients are read from the part before any `+`", "bounce+tag", "failed", 1),
        (
            "magic.reply",
            "`reply` is delivered, and the recipient writes back in the same conversation",
            "reply+case7",
            "sent",
            2,
        ),
        ("magic.docs", "`docs` is delivered, and a reply with a document comes", "docs", "sent", 2),
        ("magic.ooo", "`ooo` is delivered, and an automatic reply comes", "ooo", "sent", 2),
        ("magic.complaint", "`complaint` is delivered", "complaint", "sent", 1),
    ] {
        table.demand(id, says, SEND, move |s| async move {
            let sends = s.magic().await?;
            let send = sends.to(local)?;
            send.must(
                send.status()? == status && send.inbound()? == comes,
                &format!("the message {status}, and {comes} inbound in all"),
            )
        });
    }
    table.demand(
        "magic.complaint.event",
        "A `spam-complaint` event is on the conversation of a complaint",
        SEND,
        |s| async move {
            let sends = s.magic().await?;
            let send = sends.to("complaint")?;
            let there = timeline(&send.read)?
                .iter()
                .any(|it| it["type"] == "event" && it["event"] == "spam-complaint");
            send.must(there, "an event `spam-complaint`")
        },
    );
    table.demand(
        "magic.complaint.later",
        "Every later email to an address that complained fails",
        SEND,
        |s| async move {
            let sends = s.magic().await?;
            let send = sends.to("complaint")?;
            // Another conversation, with the same address.
            let conversation = s.conversation_with(&send.address).await?;
            let later = s.act(&conversation, "replies", &json!({ "body": "Again", "send": true })).await?;
            let message = later.text_at("/messageId")?;
            for _ in 0..6 {
                s.wait(std::time::Duration::from_secs(6)).await?;
                let read = s.read(&conversation).await?;
                let item =
                    timeline(&read)?.into_iter().find(|it| it["id"] == message.as_str()).unwrap_or_default();
                match item["status"].as_str() {
                    Some("scheduled" | "sending") => {}
                    Some("failed") => return Ok(()),
                    _ => {
                        return Err(RuleAbort::differs(
                            &later.request,
                            "`status`: failed",
                            item["status"].to_string(),
                        ));
                    }
                }
            }
            Err(RuleAbort::differs(&later.request, "`status`: failed", "scheduled for more than 30 seconds"))
        },
    );
    table.observe(
        "magic.complaint.data",
        "The `data` of a `spam-complaint` event",
        r#"{"email":"complaint@…"}"#,
        SEND,
        |s| async move {
            let sends = s.magic().await?;
            let send = sends.to("complaint")?;
            let items = timeline(&send.read)?;
            let event = items.iter().find(|it| it["event"] == "spam-complaint");
            let domain = send.address.trim_start_matches("complaint@");
            Ok(event.map(|it| it["data"].to_string().replace(domain, "…")).unwrap_or_default())
        },
    );
    table.observe("magic.case", "The status of a mail to `BOUNCE`", "failed", SEND, |s| async move {
        s.magic().await?.to("BOUNCE")?.status()
    });
    table.demand("magic.domain", "Magic recipients work at any `.test` domain", WORLD, |s| async move {
        let id = s.conversation_with(&s.address("bounce").replace('@', "@deep.er.")).await?;
        s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?.done()?;
        s.advance(30).await?;
        s.read(&id).await?.equals("/timeline/1/status", &json!("failed"))
    });
    table.demand(
        "magic.reply.time",
        "The recipient writes back about 5 seconds after the mail was delivered",
        WORLD,
        |s| async move {
            let id = s.conversation_with(&s.address("reply")).await?;
            s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?.done()?;
            s.advance(7).await?;
            let early = inbound(&s.read(&id).await?)?;
            s.advance(8).await?;
            let late = inbound(&s.read(&id).await?)?;
            match (early, late) {
                (1, 2) => Ok(()),
                _ => Err(RuleAbort::differs(
                    "a send to reply, 7 and 15 seconds later",
                    "one inbound message, then two",
                    format!("{early}, then {late}"),
                )),
            }
        },
    );
    table.demand("magic.docs.filed", "The invoice of `docs` is filed as a document", SEND, |s| async move {
        let sends = s.magic().await?;
        let send = sends.to("docs")?;
        let list = s.api().get("/documents?limit=100").await?;
        let filed = list.list()?.iter().any(|it| {
            it["conversationId"] == send.conversation.as_str() && text(&it["filename"]).ends_with(".pdf")
        });
        list.must(filed, "a PDF of that conversation")
    });
    table.demand("magic.docs.attached", "The reply of `docs` has the file attached", SEND, |s| async move {
        let sends = s.magic().await?;
        let send = sends.to("docs")?;
        let items = timeline(&send.read)?;
        let files: Vec<&Value> =
            items.iter().filter_map(|it| it["attachments"].as_array()).flatten().collect();
        let fits =
            |it: &&&Value| it["filename"].is_string() && it["contentType"].is_string() && it["size"].is_u64();
        send.must(
            !files.is_empty() && files.iter().all(|it| fits(&it)),
            "an attachment with filename, contentType and size",
        )
    });
    table.demand("magic.sendsAt", "`sendsAt` is 5 seconds after the send", SEND, |s| async move {
        s.api().reserve(3).await;
        let id = s.conversation().await?;
        let sent = s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?;
        let Some(leaves) = sent.done()?["sendsAt"].as_str().and_then(time) else {
            return Err(RuleAbort::left_out("the service's response leaves out the optional `sendsAt`"));
        };
        let items = timeline(&s.read(&id).await?)?;
        let message = sent.text_at("/messageId")?;
        let item = items.iter().find(|it| it["id"] == message.as_str());
        // `at` of a message that waits is when it was written, or already when it will leave.
        let written = item.and_then(|it| it["at"].as_str()).and_then(time).filter(|at| leaves - at > 0.5);
        let (window, fits) = match (written, sent.date()) {
            (Some(at), _) => (leaves - at, 4.5..=5.5),
            // A date in whole seconds, of a moment after the send.
            (None, Some(date)) => (leaves - date, 3.0..=6.0),
            (None, None) => {
                return Err(RuleAbort::left_out(
                    "neither `at` nor a `date` tells when the message was written",
                ));
            }
        };
        must(fits.contains(&window), &sent.request, "`sendsAt` 5 seconds on", format!("{window:.1} seconds"))
    });
}
