//! Inboxes, tags and documents.

use serde_json::{Value, json};

use super::lists::statuses;
use crate::{
    check::fixture_types::Found,
    check::session::text,
    rule::{READS, Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    shape::{
        Field,
        Type::{Id, Integer, Nullable, Number, Object, OneOf, Text, Time},
        field, optional, time,
    },
};

const KINDS: &[&str] = &["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"];

const MAILBOX: &[Field] =
    &[field("id", Id("mbx_")), field("address", Text), field("name", Text), field("open", Integer)];

const TAG: &[Field] = &[field("id", Id("tag_")), field("name", Text), field("count", Integer)];

const DOCUMENT: &[Field] = &[
    field("id", Id("doc_")),
    field("title", Text),
    field("filename", Text),
    field("kind", Nullable(&OneOf(KINDS))),
    field("fields", Object),
    field("conversationId", Nullable(&Id("cnv_"))),
    field("createdAt", Time),
    optional("fields.vendor", Nullable(&Text)),
    optional("fields.amount", Nullable(&Number)),
    optional("fields.currency", Nullable(&Text)),
    optional("fields.date", Nullable(&Text)),
    optional("fields.dueDate", Nullable(&Text)),
    optional("fields.reference", Nullable(&Text)),
];

pub(crate) fn add(table: &mut Table) {
    table.section("2.5");
    table.fields("mailbox", MAILBOX, READS, |s| s.listed("/mailboxes"));
    table.demand("mailbox.open.count", "`open` is the number of open conversations", WRITE, |s| async move {
        let open = async || -> Result<i64, RuleAbort> {
            let list = s.api().get("/mailboxes").await?;
            list.done()?[0]["open"].as_i64().ok_or_else(|| list.differs("an integer in `open`"))
        };
        let mut seen = Vec::new();
        // An email of an earlier rule may leave in between, and its conversation is no longer open then.
        for _ in 0..3 {
            let id = s.conversation().await?;
            let with = open().await?;
            s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            let without = open().await?;
            if with.checked_sub(1) == Some(without) {
                return Ok(());
            }
            seen.push(format!("{with}, then {without}"));
        }
        let request = "GET /mailboxes, before and after one is closed, three times";
        Err(RuleAbort::differs(request, "`open` one less", seen.join("; ")))
    });

    table.section("2.6");
    table.fields("tag", TAG, READS, |s| s.listed("/tags"));
    table.demand(
        "tag.count.of",
        "`count` is the number of conversations that have the tag",
        WRITE,
        |s| async move {
            let tag = s.word("tag");
            for expected in 1..=2 {
                let id = s.conversation().await?;
                s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
                let list = s.api().get("/tags").await?;
                let entry =
                    list.list()?.iter().find(|it| it["name"] == tag.as_str()).cloned().unwrap_or_default();
                if entry["count"] != expected {
                    return Err(list.differs_in(format!("`count`: {expected}"), "count", &entry["count"]));
                }
            }
            Ok(())
        },
    );
    table.observe(
        "tag.unused",
        "A tag that no conversation has any more",
        "listed, 0",
        WRITE,
        |s| async move {
            let (id, tag) = (s.conversation().await?, s.word("tag"));
            for change in ["add", "remove"] {
                s.act(&id, "tags", &json!({ change: [tag] })).await?.done()?;
            }
            let list = s.api().get("/tags").await?;
            let entry = list.list()?.iter().find(|it| it["name"] == tag.as_str());
            Ok(entry.map_or("not listed".into(), |it| format!("listed, {}", it["count"])))
        },
    );
    table.demand("tag.name.length", "Tag names have 1 to 40 characters", READS, |s| async move {
        let found = s.listed("/tags").await?;
        let fits = |it: &&Value| (1..=40).contains(&text(&it["name"]).chars().count());
        match found.items.iter().find(|it| !fits(it)) {
            None => Ok(()),
            Some(tag) => Err(found.reply.differs_in("a name of 1 to 40 characters", "name", &tag["name"])),
        }
    });

    table.section("2.7");
    table.fields("document", DOCUMENT, READS, |s| s.documents());
    table.demand("document.read", "`kind` and `fields` are what was read out of a document", WORLD, |s| async move {
        let (_, document) = filed(&s).await?;
        let read = json!({
            "kind": "invoice",
            "fields": { "vendor": "Nordwind", "amount": 12.5, "currency": "EUR", "date": null, "dueDate": "2036-01-31", "reference": "R-77" },
        });
        s.control()?.post(&format!("/documents/{document}/reading"), read.clone()).await?;
        let reply = s.live()?.get("/documents").await?;
        let found = Found { items: reply.list()?.clone(), reply };
        match found.items.iter().find(|it| it["id"] == document.as_str()) {
            Some(it) if it["kind"] == "invoice" && it["fields"]["amount"] == 12.5 && it["fields"]["vendor"] == "Nordwind" => Ok(()),
            _ => Err(found.reply.differs("an invoice of Nordwind over 12.5")),
        }
    });

    table.section("4.10");
    plain(table, "mailboxes", "/mailboxes");
    table.demand("mailboxes.all", "The list is complete", WORLD, |s| async move {
        for i in 0..30 {
            let inbox = json!({ "address": format!("box{i}@acme.example"), "name": format!("Box {i}") });
            s.control()?.post("/mailboxes", inbox).await?;
        }
        let list = s.live()?.get("/mailboxes").await?;
        list.must(list.list()?.len() == 31, "31 inboxes")
    });
    table.section("4.11");
    plain(table, "tags.list", "/tags");
    table.demand("tags.list.all", "The list is complete", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        for i in 0..11 {
            let names: Vec<String> = (0..10).map(|n| format!("tag {i} {n}")).collect();
            s.live()?.post(format!("/conversations/{id}/tags"), &json!({ "add": names })).await?.done()?;
        }
        let list = s.live()?.get("/tags").await?;
        list.must(list.list()?.len() == 110, "110 tags")
    });
    table.section("4.12");
    plain(table, "documents", "/documents");
    documents(table);
}

fn plain(table: &mut Table, group: &str, path: &'static str) {
    let says = format!("GET {path} answers 200 with an array");
    table.demand(format!("{group}.status"), says, READS, move |s| async move {
        let list = s.api().get(path).await?;
        list.must(list.is(200)?.is_array(), "an array")
    });
}

/// Returns a live mail with an attachment: the conversation, and the document that was made of it.
async fn filed(s: &crate::check::session::Session) -> Result<(String, String), RuleAbort> {
    let attached = json!([{ "filename": "scan-2.pdf", "contentType": "application/pdf", "size": 7 }]);
    let mail = s.mail(json!({ "attachments": attached })).await?;
    let id = text(&mail["conversationId"]);
    let list = s.live()?.get("/documents").await?;
    let document = list.list()?.iter().find(|it| it["conversationId"] == id.as_str()).cloned();
    let document = document.ok_or_else(|| list.differs("a document of the conversation"))?;
    Ok((id, text(&document["id"])))
}

fn documents(table: &mut Table) {
    table.demand("documents.limit.max", "`limit` is at most 100", READS, |s| async move {
        s.api().get("/documents?limit=100").await?.is(200)?;
        s.api().get("/documents?limit=101").await?.names(&["limit"])
    });
    for (id, says, query, field) in [
        ("documents.limit.min", "`limit` is at least 1", "limit=0", "limit"),
        ("documents.limit.type", "`limit` is an integer", "limit=ten", "limit"),
        ("documents.kind.values", "`kind` is one of its values", "kind=letter", "kind"),
    ] {
        table.demand(id, says, READS, move |s| async move {
            s.api().get(format!("/documents?{query}")).await?.names(&[field])
        });
    }
    statuses(table, "documents.empty", "A parameter of documents that is there and empty", "400", || {
        ["q", "kind", "limit"].map(|it| format!("/documents?{it}=")).to_vec()
    });
    for kind in KINDS {
        table.demand(
            format!("documents.kind.{kind}"),
            format!("`kind={kind}` is accepted, and gives that kind alone"),
            READS,
            move |s| async move {
                let list = s.api().get(format!("/documents?kind={kind}")).await?;
                list.is(200)?;
                match list.list()?.iter().find(|it| it["kind"] != *kind) {
                    None => Ok(()),
                    Some(other) => Err(list.differs_in(format!("`kind`: {kind}"), "kind", &other["kind"])),
                }
            },
        );
    }
    table.demand("documents.q.max", "`q` has at most 200 characters", READS, |s| async move {
        s.api().get(format!("/documents?q={}", "x".repeat(200))).await?.is(200)?;
        s.api().get(format!("/documents?q={}", "x".repeat(201))).await?.names(&["q"])
    });
    table.demand(
        "documents.attachments",
        "Attachments of incoming mail are filed as documents",
        WORLD,
        |s| async move { filed(&s).await.map(drop) },
    );
    table.demand("documents.kind", "`kind` narrows the list", WORLD, |s| async move {
        let (_, document) = filed(&s).await?;
        let (_, other) = filed(&s).await?;
        s.control()?.post(&format!("/documents/{document}/reading"), json!({ "kind": "tax" })).await?;
        let list = s.live()?.get("/documents?kind=tax").await?;
        let has = |id: &str| list.list().is_ok_and(|it| it.iter().any(|it| it["id"] == id));
        list.must(has(&document) && !has(&other), "the tax document alone")
    });
    table.demand("documents.q", "`q` finds words in title, file name or fields", WORLD, |s| async move {
        let (_, document) = filed(&s).await?;
        let read = json!({ "title": "Lease of the office", "fields": { "vendor": "Nordwind" } });
        s.control()?.post(&format!("/documents/{document}/reading"), read).await?;
        for (word, found) in [("lease", 1), ("scan-2", 1), ("nordwind", 1), ("nothing-like-it", 0)] {
            let list = s.live()?.get(format!("/documents?q={word}")).await?;
            list.must(list.list()?.len() == found, format!("{found} documents for {word}"))?;
        }
        Ok(())
    });
    table.demand("documents.together", "`q` and `kind` narrow together", WORLD, |s| async move {
        for kind in ["tax", "contract"] {
            let (_, document) = filed(&s).await?;
            s.control()?.post(&format!("/documents/{document}/reading"), json!({ "kind": kind })).await?;
        }
        for (query, found) in [("q=scan-2&kind=tax", 1), ("q=scan-2&kind=photo", 0), ("q=other&kind=tax", 0)]
        {
            let list = s.live()?.get(format!("/documents?{query}")).await?;
            list.must(list.list()?.len() == found, format!("{found} documents for {query}"))?;
        }
        Ok(())
    });
    table.demand("documents.newest-first", "The newest document comes first", WORLD, |s| async move {
        for _ in 0..3 {
            filed(&s).await?;
            s.advance(60).await?;
        }
        let list = s.live()?.get("/documents").await?;
        let times: Vec<f64> = list.list()?.iter().filter_map(|it| time(&text(&it["createdAt"]))).collect();
        list.must(times.len() == 3 && times.is_sorted_by(|one, next| one > next), "`createdAt` falling")
    });
    table.demand(
        "documents.limit.default",
        "`limit` is 25 unless said, and the most that a list has",
        WORLD,
        |s| async move {
            let attached = json!([{ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 }]);
            for _ in 0..26 {
                s.mail(json!({ "attachments": attached })).await?;
            }
            let list = s.live()?.get("/documents").await?;
            list.must(list.list()?.len() == 25, "25 of 26 documents")?;
            let list = s.live()?.get("/documents?limit=100").await?;
            list.must(list.list()?.len() == 26, "26 documents")?;
            let list = s.live()?.get("/documents?limit=2").await?;
            list.must(list.list()?.len() == 2, "2 documents")
        },
    );
    table.observe(
        "documents.title",
        "The title of a file that nobody has read",
        "scan-2.pdf",
        WORLD,
        |s| async move {
            let (_, document) = filed(&s).await?;
            let list = s.live()?.get("/documents").await?;
            Ok(list
                .list()?
                .iter()
                .find(|it| it["id"] == document.as_str())
                .map(|it| text(&it["title"]))
                .unwrap_or_default())
        },
    );
}
