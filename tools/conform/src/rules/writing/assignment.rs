//! Who a conversation is assigned to.

use serde_json::{Value, json};

use super::writes::{answers, count, is_event, not_found, refused};
use crate::{
    check::fixture_types::timeline,
    check::session::text,
    rule::{Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    wire::http::Api,
};

pub(crate) fn add(table: &mut Table) {
    table.section("4.7");
    answers(table, "assign", "assign", 200, || json!({ "to": "none" }));
    refused(table, "assign.to.required", "`to` is required", "assign", "to", || json!({}));
    refused(table, "assign.to.type", "`to` is a string", "assign", "to", || json!({ "to": null }));
    refused(
        table,
        "assign.to.max",
        "`to` has at most 80 characters",
        "assign",
        "to",
        || json!({ "to": format!("agent:agt_{}", "x".repeat(71)) }),
    );
    refused(
        table,
        "assign.to.form",
        "`to` is `user:usr_…`, `agent:agt_…`, `me` or `none`",
        "assign",
        "to",
        || json!({ "to": "anna" }),
    );
    for (id, to) in [("assign.user.unknown", "user:usr_0"), ("assign.agent.unknown", "agent:agt_0")] {
        table.demand(id, "Someone who is not on the team is a 400", WRITE, move |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": to })).await?.refused(400).map(drop)
        });
    }
    not_found(table, "assign.404", "assign", || json!({ "to": "me" }));
    table.demand("assign.me", "`me` is the agent of the key", WRITE, |s| async move {
        let id = s.conversation().await?;
        let me = s.api().get("/me").await?.text_at("/agent/id")?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        s.read(&id).await?.equals("/assignee/id", &json!(me))
    });
    table.demand("assign.none", "`none` takes the assignee away", WRITE, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        s.act(&id, "assign", &json!({ "to": "none" })).await?.done()?;
        s.read(&id).await?.equals("/assignee", &Value::Null)
    });
    table.demand(
        "assign.agent",
        "An id from `team.agents` can be assigned to, as it is",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            give_to(s.api(), &id, "agents", "agent").await
        },
    );
    table.demand(
        "assign.user",
        "An id from `team.people` can be assigned to, as it is",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            give_to(&s.live()?, &id, "people", "user").await
        },
    );
    table.demand("assign.repeat", "Repeating the same request is harmless", WRITE, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        let before = s.read(&id).await?.done()?["assignee"].clone();
        s.act(&id, "assign", &json!({ "to": "me" })).await?.is(200)?;
        s.read(&id).await?.equals("/assignee", &before)
    });
    table.demand("assign.cannot-see", "Someone who cannot see the inbox is a 400", WORLD, |s| async move {
        let control = s.control()?;
        let owner = control.post_for("/users", json!({ "name": "Ben" }), "id").await?;
        let other = control.post_for("/users", json!({ "name": "Cleo" }), "id").await?;
        let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
        control.post("/mailboxes", inbox).await?;
        let id = text(&s.mail(json!({ "to": "ben@acme.example" })).await?["conversationId"]);
        let key = json!({ "name": "Ben's", "scopes": ["write"], "livemode": true, "createdBy": owner });
        let (api, _) = s.key(key).await?;
        let to = json!({ "to": format!("user:{other}") });
        api.post(format!("/conversations/{id}/assign"), &to).await?.refused(400)?;
        let agent = s.live()?.get("/me").await?.text_at("/agent/id")?;
        let to = json!({ "to": format!("agent:{agent}") });
        api.post(format!("/conversations/{id}/assign"), &to).await?.refused(400)?;
        let to = json!({ "to": format!("user:{owner}") });
        api.post(format!("/conversations/{id}/assign"), &to).await?.is(200).map(drop)
    });
    table.observe(
        "assign.event",
        "The event of the timeline that records an assignment",
        "assigned",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            Ok(items.iter().rfind(|it| it["type"] == "event").map_or("none".into(), |it| text(&it["event"])))
        },
    );
    table.observe(
        "assign.same.event",
        "Assigning to the same one again: events of the timeline",
        "none",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let before = count(&s, &id, is_event("assigned")).await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let after = count(&s, &id, is_event("assigned")).await?;
            Ok(if after == before { "none".into() } else { format!("{after} instead of {before}") })
        },
    );
}

/// Assigns a conversation to each of its team, ten at the most.
async fn give_to(api: &Api, id: &str, part: &str, kind: &str) -> Result<(), RuleAbort> {
    let read = api.get(format!("/conversations/{id}")).await?;
    let members = read.done()?["team"][part].as_array().cloned().unwrap_or_default();
    read.must(!members.is_empty(), format!("somebody in `team.{part}`"))?;
    for member in members.iter().take(10) {
        api.post(format!("/conversations/{id}/assign"), &json!({ "to": member["id"] })).await?.done()?;
        let read = api.get(format!("/conversations/{id}")).await?;
        read.equals("/assignee/type", &json!(kind))?;
        read.equals("/assignee/id", &json!(text(&member["id"]).replace(&format!("{kind}:"), "")))?;
        read.equals("/assignee/name", &member["name"])?;
    }
    Ok(())
}
