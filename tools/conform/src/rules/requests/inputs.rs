//! Input that is refused, which refusal comes first, and how to look back after a timeout.

use serde_json::json;

use super::errors::limited;
use crate::{
    rule::{DRAFT, READS, Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    wire::http::Call,
};

pub(crate) fn add(table: &mut Table) {
    table.section("7");
    inputs(table);
    order(table);
}

fn inputs(table: &mut Table) {
    table.demand("input.json", "A body that is not valid JSON is a 400", WRITE, |s| async move {
        let id = s.conversation().await?;
        for body in ["{\"body\": ", "not json", "{\"body\": \"x\"} more", "\0"] {
            let call = Call::raw(format!("/conversations/{id}/notes"), body);
            s.api().send(&call).await?.refused(400)?;
        }
        Ok(())
    });
    table.demand("input.object", "A body that is no object is a 400", WRITE, |s| async move {
        let id = s.conversation().await?;
        for body in [json!(["A note"]), json!("A note"), json!(3), json!(null)] {
            s.act(&id, "notes", &body).await?.refused(400)?;
        }
        Ok(())
    });
    for (id, what, needs) in [
        ("input.missing", "notes", WRITE),
        ("input.missing.status", "status", WRITE),
        ("input.missing.assign", "assign", WRITE),
        ("input.missing.replies", "replies", DRAFT),
        ("input.missing.requests", "document-requests", DRAFT),
    ] {
        let says = format!("POST …/{what} without a body is a 400");
        table.demand(id, says, needs, move |s| async move {
            let id = s.conversation().await?;
            let path = format!("/conversations/{id}/{what}");
            let call = Call { method: reqwest::Method::POST, path, ..Call::default() };
            s.api().send(&call).await?.refused(400).map(drop)
        });
    }
    table.demand(
        "input.all-problems.body",
        "A 400 names every problem of a body at once, each starting with its field, with semicolons between",
        DRAFT,
        |s| async move {
            let id = s.conversation().await?;
            let bad = json!({ "body": 1, "summary": "x".repeat(501), "send": "yes" });
            s.act(&id, "replies", &bad).await?.names(&["body", "summary", "send"])
        },
    );
    table.demand(
        "input.all-problems.query",
        "A 400 names every problem of a query at once",
        READS,
        |s| async move {
            s.api()
                .get("/conversations?view=x&assigned=x&limit=0")
                .await?
                .names(&["view", "assigned", "limit"])
        },
    );
    table.observe(
        "input.path",
        "How a 400 names a field of an item",
        "documents[1].label",
        DRAFT,
        |s| async move {
            let id = s.conversation().await?;
            let body = json!({ "documents": [{ "label": "x" }, { "label": "x".repeat(121) }] });
            let refused = s.act(&id, "document-requests", &body).await?;
            Ok(refused.refused(400)?.split([':', ' ']).next().unwrap_or_default().to_owned())
        },
    );
    table.demand("input.no-effect", "What is refused as input has no effect", WRITE, |s| async move {
        let id = s.conversation().await?;
        let before = s.read(&id).await?;
        s.act(&id, "tags", &json!({ "add": ["conform", "x".repeat(41)] })).await?.refused(400)?;
        s.act(&id, "notes", &json!({ "body": "x".repeat(10_001) })).await?.refused(400)?;
        let after = s.read(&id).await?;
        after.must(after.json() == before.json(), "the same conversation as before")
    });
    table.demand(
        "look-back.note",
        "A note that was made is at the end of the timeline, with the key's name as `author`",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            let name = s.api().get("/me").await?.text_at("/agent/name")?;
            s.act(&id, "notes", &json!({ "body": "A note" })).await?.done()?;
            let read = s.read(&id).await?;
            let last =
                read.done()?["timeline"].as_array().and_then(|it| it.last()).cloned().unwrap_or_default();
            read.must_in(
                last["type"] == "note" && last["author"] == name.as_str(),
                format!("a note by {name} at the end"),
                "the last item",
                &last,
            )
        },
    );
    table.demand(
        "look-back.reply",
        "A reply that was made is at the end of the timeline, outbound, a draft",
        DRAFT,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "replies", &json!({ "body": "Hello" })).await?.done()?;
            let read = s.read(&id).await?;
            let last =
                read.done()?["timeline"].as_array().and_then(|it| it.last()).cloned().unwrap_or_default();
            read.must_in(
                last["direction"] == "outbound" && last["status"] == "draft",
                "an outbound draft at the end",
                "the last item",
                &last,
            )
        },
    );
    table.observe(
        "no-idempotency-header",
        "Notes that a request and its repeat with the same `idempotency-key` make; the document plans such a header",
        "2",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            for _ in 0..2 {
                let call = Call::post(format!("/conversations/{id}/notes"), &json!({ "body": "Same" }))
                    .header("idempotency-key", "conform");
                s.api().send(&call).await?.done()?;
            }
            let read = s.read(&id).await?;
            let notes = read.done()?["timeline"]
                .as_array()
                .map_or(0, |it| it.iter().filter(|it| it["type"] == "note").count());
            Ok(notes.to_string())
        },
    );
}

/// Which refusal comes when there are several reasons.
fn order(table: &mut Table) {
    table.observe("order.key-input", "A wrong key and wrong input", "401", WRITE, |s| async move {
        let call = Call::post("/conversations/cnv_0/notes", &json!({}));
        Ok(s.api().with_key(None).send(&call).await?.status.to_string())
    });
    table.observe(
        "order.input-conversation",
        "Wrong input on a conversation that is not there",
        "400",
        WRITE,
        |s| async move { Ok(s.act("cnv_0", "notes", &json!({})).await?.status.to_string()) },
    );
    table.observe("order.scope-input", "A missing scope and wrong input", "403", WORLD, |s| async move {
        let api = s.scoped(&["read"], true).await?;
        Ok(api.post("/conversations/cnv_0/notes", &json!({})).await?.status.to_string())
    });
    table.observe(
        "order.inbound",
        "Wrong input of a simulated mail for a conversation that is not there",
        "400",
        WRITE,
        |s| async move {
            let mail = json!({ "from": "kim@customer.example", "text": "Hello", "conversationId": "cnv_0" });
            Ok(s.inbound(mail).await?.status.to_string())
        },
    );
    for (id, says, mock, free) in [
        ("order.rate-scope", "Too many requests and a missing scope", "429", false),
        ("order.plan-rate", "The free plan and too many requests", "403", true),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let (api, _, Some(_)) = limited(&s).await? else {
                return Err(RuleAbort::failed("no 429 was to be had"));
            };
            let call = if free {
                s.control()?.put("/plan", json!({ "plan": "free" })).await?;
                Call::get("/me")
            } else {
                Call::post("/conversations/cnv_0/notes", &json!({}))
            };
            Ok(api.burst(&call).await?.status.to_string())
        });
    }
}
