//! Documents that a customer is asked for.

use serde_json::{Value, json};

use super::replies::{REPLIES, REQUESTS, border, live, message, refused};
use crate::{
    check::fixture_types::request_id,
    check::session::text,
    rule::{DRAFT, Needs, Table, WORLD},
    rule_abort::must,
    shape::time,
};

/// The documents that are asked for.
fn documents(table: &mut Table, group: &'static str, endpoint: (&'static str, fn() -> Value)) {
    let items = |n: usize| json!({ "documents": vec![json!({ "label": "x" }); n] });
    let one = |item: Value| json!({ "documents": [item] });
    border(
        table,
        format!("{group}.documents.max"),
        "There are at most 20 documents",
        endpoint,
        "documents",
        move || items(20),
        move || items(21),
    );
    border(
        table,
        format!("{group}.label.max"),
        "`label` has at most 120 characters",
        endpoint,
        "documents",
        move || one(json!({ "label": "x".repeat(120) })),
        move || one(json!({ "label": "x".repeat(121) })),
    );
    border(
        table,
        format!("{group}.description.max"),
        "`description` has at most 500 characters",
        endpoint,
        "documents",
        move || one(json!({ "label": "x", "description": "x".repeat(500) })),
        move || one(json!({ "label": "x", "description": "x".repeat(501) })),
    );
    border(
        table,
        format!("{group}.label.required"),
        "`label` is required",
        endpoint,
        "documents",
        move || one(json!({ "label": "x" })),
        move || one(json!({ "description": "x" })),
    );
    border(
        table,
        format!("{group}.required.type"),
        "`required` is a boolean",
        endpoint,
        "documents",
        move || one(json!({ "label": "x", "required": false })),
        move || one(json!({ "label": "x", "required": 1 })),
    );
    border(
        table,
        format!("{group}.documents.type"),
        "`documents` is an array of objects",
        endpoint,
        "documents",
        move || one(json!({ "label": "x" })),
        || json!({ "documents": "Passport" }),
    );
    let request = if group == "replies" {
        json!({ "body": "Hello", "documents": [{ "label": "Passport" }] })
    } else {
        json!({ "documents": [{ "label": "Passport" }] })
    };
    let what = endpoint.0;
    let body = request.clone();
    table.demand(format!("{group}.checklist"), "The checklist stands under the text", DRAFT, move |s| {
        let body = body.clone();
        async move {
            let id = s.conversation().await?;
            let made = s.act(&id, what, &body).await?;
            let item = message(s.api(), &id, &made.text_at("/messageId")?).await?;
            let shown = text(&item["text"]);
            must(shown.contains("Passport"), &made.request, "a text with the label of the document", &shown)
        }
    });
    let body = request.clone();
    table.demand(
        format!("{group}.link.draft"),
        "The upload link of a draft is added when a person approves it",
        WORLD,
        move |s| {
            let body = body.clone();
            async move {
                let (id, made) = live(&s, what, body).await?;
                let (api, draft) = (s.live()?, text(&made["messageId"]));
                let before = text(&message(&api, &id, &draft).await?["text"]).contains("://");
                s.control()?.post(&format!("/messages/{draft}/approve"), json!({})).await?;
                s.advance(600).await?;
                let after = text(&message(&api, &id, &draft).await?["text"]).contains("://");
                must(
                    !before && after,
                    "a draft with documents, approved",
                    "a link after the approval alone",
                    format!("before: {before}, after: {after}"),
                )
            }
        },
    );
    table.demand(format!("{group}.reminders"), "Reminders follow on days 2, 4 and 7", WORLD, move |s| {
        let mut body = request.clone();
        body["send"] = json!(true);
        async move {
            live(&s, what, body).await?;
            s.advance(600).await?;
            let sent = s.control()?.now().await?;
            s.advance(12 * 86_400).await?;
            let outbox = s.control()?.list("/outbox").await?;
            let days: Vec<i64> = outbox
                .iter()
                .filter(|it| it["kind"] == "reminder")
                .filter_map(|it| time(&text(&it["at"])))
                .map(|at| ((at - sent) / 86_400.0).round() as i64)
                .collect();
            must(
                days == [2, 4, 7],
                "documents asked for, and twelve days later",
                "reminders on days 2, 4 and 7",
                format!("days {days:?}"),
            )
        }
    });
}

pub(crate) fn add(table: &mut Table) {
    for (section, group, endpoint) in [("4.8", "replies", REPLIES), ("4.9", "requests", REQUESTS)] {
        table.section(section);
        documents(table, group, endpoint);
    }
    requests(table);
}

fn requests(table: &mut Table) {
    refused(
        table,
        "requests.documents.required".into(),
        "`documents` is required",
        "document-requests",
        "documents",
        || json!({}),
    );
    border(
        table,
        "requests.message.max".into(),
        "`message` has at most 5,000 characters",
        REQUESTS,
        "message",
        || json!({ "message": "x".repeat(5_000) }),
        || json!({ "message": "x".repeat(5_001) }),
    );
    border(
        table,
        "requests.dueDate.format".into(),
        "`dueDate` is a date alone, four digits, two and two",
        REQUESTS,
        "dueDate",
        || json!({ "dueDate": "2036-03-01" }),
        || json!({ "dueDate": "2036-3-1" }),
    );
    border(
        table,
        "requests.dueDate.time".into(),
        "`dueDate` has no time",
        REQUESTS,
        "dueDate",
        || json!({ "dueDate": "2036-03-01" }),
        || json!({ "dueDate": "2036-03-01T00:00:00Z" }),
    );
    table.demand("requests.message.shown", "`message` stands above the checklist", DRAFT, |s| async move {
        let (id, word) = (s.conversation().await?, s.word("above"));
        let body = json!({ "documents": [{ "label": "Passport" }], "message": word });
        let made = s.act(&id, "document-requests", &body).await?;
        let shown = text(&message(s.api(), &id, &made.text_at("/messageId")?).await?["text"]);
        must(
            shown.find(&word).zip(shown.find("Passport")).is_some_and(|(above, below)| above < below),
            &made.request,
            "the message, then the label",
            &shown,
        )
    });
    for (id, says, mock, body) in [
        (
            "requests.documents.empty",
            "An empty list of documents",
            "400",
            (|| json!({ "documents": [] })) as fn() -> Value,
        ),
        (
            "requests.dueDate.missing-day",
            "A due date that does not exist",
            "400",
            || json!({ "documents": [{ "label": "x" }], "dueDate": "2036-02-30" }),
        ),
        (
            "requests.dueDate.past",
            "A due date that has passed",
            "201",
            || json!({ "documents": [{ "label": "x" }], "dueDate": "2001-01-01" }),
        ),
    ] {
        table.observe(id, says, mock, DRAFT as Needs, move |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "document-requests", &body()).await?.status.to_string())
        });
    }
    table.demand(
        "requests.upload",
        "What the contact uploads is filed as a document",
        WORLD,
        |s| async move {
            let (id, made) = live(
                &s,
                "document-requests",
                json!({ "documents": [{ "label": "Passport" }], "send": true }),
            )
            .await?;
            s.advance(600).await?;
            let upload = json!({ "item": 0, "filename": "passport.pdf" });
            s.control()?.post(&format!("/document-requests/{}/uploads", request_id(&made)?), upload).await?;
            let list = s.live()?.get("/documents").await?;
            let filed = list
                .list()?
                .iter()
                .any(|it| it["filename"] == "passport.pdf" && it["conversationId"] == id.as_str());
            list.must(filed, "passport.pdf of this conversation")
        },
    );
    table.demand(
        "requests.reminders.complete",
        "No reminder follows when everything is in",
        WORLD,
        |s| async move {
            let (_, made) = live(
                &s,
                "document-requests",
                json!({ "documents": [{ "label": "Passport" }], "send": true }),
            )
            .await?;
            s.advance(600).await?;
            let upload = json!({ "item": 0, "filename": "passport.pdf" });
            s.control()?.post(&format!("/document-requests/{}/uploads", request_id(&made)?), upload).await?;
            s.advance(10 * 86_400).await?;
            let outbox = s.control()?.list("/outbox").await?;
            let reminders = outbox.iter().filter(|it| it["kind"] == "reminder").count();
            must(
                reminders == 0,
                "documents asked for and uploaded",
                "no reminder",
                format!("{reminders} reminders"),
            )
        },
    );
}
