//! A conversation in a list and read.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::timeline,
    check::session::text,
    rule::{READS, Table, WORLD, WRITE},
    rule_abort::{RuleAbort, must},
    shape::{
        Field,
        Type::{Id, Integer, List, Nullable, Object, OneOf, Text, Time},
        field, optional, time,
    },
};

const STATUS: &[&str] = &["open", "waiting", "closed"];

const SUMMARY: &[Field] = &[
    field("id", Id("cnv_")),
    field("subject", Text),
    field("snippet", Text),
    field("status", OneOf(STATUS)),
    field("contact", Object),
    field("contact.name", Nullable(&Text)),
    field("contact.email", Nullable(&Text)),
    field("mailbox", Text),
    field("lastMessageAt", Time),
    field("messageCount", Integer),
    field("assignee", Nullable(&Object)),
    field("assignee.id", Text),
    field("assignee.name", Text),
    field("assignee.type", OneOf(&["user", "agent"])),
    field("tags", List(&Text)),
    field("topic", Nullable(&Text)),
    field("urgency", Nullable(&OneOf(&["low", "normal", "high"]))),
    field("risk", Nullable(&Text)),
    optional("reference", Text),
];

const WHOLE: &[Field] = &[
    field("id", Id("cnv_")),
    field("subject", Text),
    field("status", OneOf(STATUS)),
    field("contact", Object),
    field("contact.name", Nullable(&Text)),
    field("contact.email", Nullable(&Text)),
    field("mailbox", Text),
    field("lastMessageAt", Time),
    field("assignee", Nullable(&Object)),
    field("assignee.id", Text),
    field("assignee.name", Text),
    field("assignee.type", OneOf(&["user", "agent"])),
    field("tags", List(&Text)),
    field("topic", Nullable(&Text)),
    field("urgency", Nullable(&OneOf(&["low", "normal", "high"]))),
    field("risk", Nullable(&Text)),
    field("riskReasons", List(&Text)),
    field("snoozedUntil", Nullable(&Time)),
    field("timeline", List(&Object)),
    field("team", Object),
    field("team.people", List(&Object)),
    field("team.agents", List(&Object)),
    optional("reference", Text),
    optional("appSent", Object),
];

const MESSAGE: &[Field] = &[
    field("id", Id("msg_")),
    field("at", Time),
    field("direction", OneOf(&["inbound", "outbound"])),
    field("from", Object),
    field("from.name", Nullable(&Text)),
    field("from.email", Text),
    field("status", Nullable(&OneOf(&["draft", "scheduled", "sending", "sent", "failed"]))),
    field("text", Text),
    field("attachments", List(&Object)),
];

const NOTE: &[Field] =
    &[field("id", Id("not_")), field("at", Time), field("author", Text), field("body", Text)];

const EVENT: &[Field] =
    &[field("at", Time), field("actor", Text), field("event", Text), field("data", Object)];

pub(crate) fn add(table: &mut Table) {
    table.section("2.3");
    table.fields("summary", SUMMARY, READS, |s| s.summaries());
    table.demand(
        "summary.assignee.prefix",
        "An assignee's id is `usr_…` for a user and `agt_…` for an agent",
        READS,
        |s| async move {
            let found = s.summaries().await?;
            assignees(&found.items, &found.reply)
        },
    );
    table.demand("summary.mailbox.name", "A summary gives the inbox's name", READS, |s| async move {
        let names = s.api().get("/mailboxes").await?;
        let names: Vec<Value> = names.list()?.iter().map(|it| it["name"].clone()).collect();
        let found = s.summaries().await?;
        match found.items.iter().find(|it| !names.contains(&it["mailbox"])) {
            None => Ok(()),
            Some(item) => Err(found.reply.differs_in(
                "`mailbox`: the name of an inbox in GET /mailboxes",
                "mailbox",
                &item["mailbox"],
            )),
        }
    });

    table.section("2.4");
    table.fields("conversation", WHOLE, READS, |s| s.whole());
    table.fields("message", MESSAGE, READS, |s| s.items("message"));
    table.fields("note", NOTE, READS, |s| s.items("note"));
    table.fields("event", EVENT, READS, |s| s.items("event"));
    table.demand(
        "conversation.assignee.prefix",
        "An assignee's id is `usr_…` for a user and `agt_…` for an agent",
        READS,
        |s| async move {
            let found = s.whole().await?;
            assignees(&found.items, &found.reply)
        },
    );
    table.demand("conversation.mailbox.address", "A read gives the inbox's address", READS, |s| async move {
        let inboxes = s.api().get("/mailboxes").await?;
        let addresses: Vec<Value> = inboxes.list()?.iter().map(|it| it["address"].clone()).collect();
        let found = s.whole().await?;
        let address = found.first("mailbox");
        found.reply.must_in(
            addresses.contains(address),
            "`mailbox`: the address of an inbox in GET /mailboxes",
            "mailbox",
            address,
        )
    });
    table.demand(
        "conversation.riskReasons.max",
        "There are at most three reasons for a risk",
        READS,
        |s| async move {
            let found = s.whole().await?;
            let reasons = found.first("riskReasons");
            found.reply.must_in(
                reasons.as_array().is_some_and(|it| it.len() <= 3),
                "at most three `riskReasons`",
                "riskReasons",
                reasons,
            )
        },
    );
    table.demand("timeline.order", "The timeline is oldest first", WRITE, |s| async move {
        let id = s.conversation().await?;
        for word in ["first", "second"] {
            // Items of one instant have no order.
            s.wait(std::time::Duration::from_secs(1)).await?;
            s.act(&id, "notes", &json!({ "body": word })).await?.done()?;
        }
        let read = s.read(&id).await?;
        let items = timeline(&read)?;
        let shown: Vec<&Value> = items.iter().filter(|it| it["type"] != "event").collect();
        let order: Vec<String> = shown.iter().map(|it| text(&it["body"])).collect();
        let times: Vec<f64> =
            shown.iter().filter_map(|it| time(it["at"].as_str().unwrap_or_default())).collect();
        must(
            order == ["", "first", "second"] && times.is_sorted(),
            &read.request,
            "the mail, then the first note, then the second",
            format!("{order:?} at {times:?}"),
        )
    });
    for (name, kind, value) in [
        ("filename", Text, json!("a.pdf")),
        ("contentType", Text, json!("application/pdf")),
        ("size", Integer, json!(7)),
    ] {
        let says = format!("`{name}` of an attachment is {}", kind.described());
        table.demand(format!("attachment.{name}"), says, WORLD, move |s| {
            let value = value.clone();
            async move {
                let file = json!({ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 });
                let mail = s.mail(json!({ "attachments": [file] })).await?;
                let read = s.live()?.get(format!("/conversations/{}", text(&mail["conversationId"]))).await?;
                let items = timeline(&read)?;
                let attached = items.iter().find_map(|it| it["attachments"].get(0)).cloned();
                let shown = &attached.unwrap_or_default()[name];
                read.must_in(*shown == value, format!("{value} of the attachment"), name, shown)
            }
        });
    }
    table.demand(
        "timeline.types",
        "Each item of a timeline has a type, and is a message, a note or an event",
        READS,
        |s| async move {
            let read = s.populated_conversation().await?.read.clone();
            let known = |it: &Value| matches!(it["type"].as_str(), Some("message" | "note" | "event"));
            match timeline(&read)?.iter().find(|it| !known(it)) {
                None => Ok(()),
                Some(item) => Err(read.differs_in("`type`: message, note or event", "type", &item["type"])),
            }
        },
    );
    table.demand(
        "message.status.inbound",
        "The status of mail that came in is null",
        READS,
        |s| async move {
            let found = s.items("message").await?;
            let came = found.items.iter().filter(|it| it["direction"] == "inbound");
            match came.clone().find(|it| !it["status"].is_null()) {
                None => Ok(()),
                Some(item) => Err(found.reply.differs_in(
                    "`status`: null for an inbound message",
                    "status",
                    &item["status"],
                )),
            }
        },
    );
    for (id, part, prefix) in
        [("team.people.id", "people", "user:usr_"), ("team.agents.id", "agents", "agent:agt_")]
    {
        let says = format!("Each entry of `team.{part}` has a name and an id that starts with `{prefix}`");
        table.demand(id, says, READS, move |s| async move {
            let found = s.whole().await?;
            let members = found.first("team")[part].as_array().cloned().unwrap_or_default();
            let fits = |it: &Value| {
                text(&it["id"]).len() > prefix.len()
                    && text(&it["id"]).starts_with(prefix)
                    && it["name"].is_string()
            };
            match members.iter().find(|it| !fits(it)) {
                None => Ok(()),
                Some(member) => Err(found.reply.differs_in(
                    format!("an id that starts with `{prefix}`, and a name"),
                    part,
                    member,
                )),
            }
        });
    }
    table.demand(
        "conversation.all.summary.fields",
        "A read has the same values as the summary",
        READS,
        |s| async move {
            let populated = s.populated_conversation().await?;
            let read = populated.read.done()?;
            let summary = populated.list.list()?.iter().find(|it| it["id"] == read["id"]).cloned();
            let summary = summary
                .ok_or_else(|| populated.list.differs("the conversation that was read, in the list"))?;
            for name in [
                "subject",
                "status",
                "contact",
                "lastMessageAt",
                "assignee",
                "tags",
                "topic",
                "urgency",
                "risk",
            ] {
                if summary[name] != read[name] {
                    return Err(populated.read.differs_in(
                        format!("`{name}` as in the list"),
                        name,
                        &read[name],
                    ));
                }
            }
            Ok(())
        },
    );
    table.demand(
        "message.text.max",
        "The text of a message is cut after 8,000 characters",
        WRITE,
        |s| async move {
            let long = "word ".repeat(1_700);
            let mail = json!({ "from": s.address("customer"), "text": long });
            let id = s.inbound(mail).await?.text_at("/conversationId")?;
            let read = s.read(&id).await?;
            let message = timeline(&read)?.into_iter().find(|it| it["type"] == "message").unwrap_or_default();
            let length = text(&message["text"]).chars().count();
            must(
                (7_900..=8_010).contains(&length),
                &read.request,
                "a text of 8,000 characters",
                format!("{length} characters"),
            )
        },
    );
    table.demand("message.text.quoted", "The text of a message comes without quoted history", WRITE, |s| async move {
        let said = "Thank you, that works.\n\nOn Mon, 2 Mar 2026 at 10:00, Support <help@acme.example> wrote:\n> Have you tried to turn it off?\n> Greetings\n";
        let id = s.inbound(json!({ "from": s.address("customer"), "text": said })).await?.text_at("/conversationId")?;
        let read = s.read(&id).await?;
        let message = timeline(&read)?.into_iter().find(|it| it["type"] == "message").unwrap_or_default();
        let shown = text(&message["text"]);
        let is_new = shown.contains("that works") && !shown.contains("turn it off");
        read.must_in(is_new, "the new words without the quoted ones", "text", &message["text"])
    });
    table.observe(
        "message.text.cut",
        "How many characters of several bytes are left of a text of 9,000",
        "8000",
        WRITE,
        |s| async move {
            let mail = json!({ "from": s.address("customer"), "text": "ä".repeat(9_000) });
            let id = s.inbound(mail).await?.text_at("/conversationId")?;
            Ok(s.read(&id).await?.text_at("/timeline/0/text")?.chars().count().to_string())
        },
    );
    table.demand(
        "conversation.sorting",
        "`topic`, `urgency` and `risk` are what the sorting helper found, with three reasons at the most",
        WORLD,
        |s| async move {
            let sorted = json!({
                "topic": "delivery", "urgency": "high", "risk": "phishing", "riskReasons": ["a", "b", "c", "d"],
            });
            let id = text(&s.mail(sorted).await?["conversationId"]);
            let read = s.live()?.get(format!("/conversations/{id}")).await?;
            let list = s.live()?.get("/conversations").await?;
            for (name, value) in [("topic", "delivery"), ("urgency", "high"), ("risk", "phishing")] {
                read.equals(&format!("/{name}"), &json!(value))?;
                list.equals(&format!("/0/{name}"), &json!(value))?;
            }
            let reasons = read.done()?["riskReasons"].as_array().map_or(0, Vec::len);
            read.must((1..=3).contains(&reasons), "one to three `riskReasons`")
        },
    );
}

fn assignees(items: &[Value], reply: &crate::wire::reply::Reply) -> Result<(), RuleAbort> {
    let fits = |it: &Value| {
        let prefix = if it["type"] == "user" { "usr_" } else { "agt_" };
        it.is_null() || text(&it["id"]).starts_with(prefix)
    };
    match items.iter().map(|it| &it["assignee"]).find(|it| !fits(it)) {
        None => Ok(()),
        Some(assignee) => Err(reply.differs_in("an id with the prefix of its type", "assignee", assignee)),
    }
}
