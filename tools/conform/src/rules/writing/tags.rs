//! Tags of a conversation.

use serde_json::json;

use super::writes::{answers, border, count, not_found, refused};
use crate::{
    check::fixture_types::timeline,
    check::session::text,
    rule::{Table, WRITE},
    rule_abort::RuleAbort,
    wire::http::Call,
    wire::reply::Reply,
};

pub(crate) fn add(table: &mut Table) {
    table.section("4.6");
    answers(table, "tags", "tags", 200, || json!({ "add": [] }));
    table.demand("tags.no-body", "The body itself is optional", WRITE, |s| async move {
        let id = s.conversation().await?;
        let call = Call {
            method: reqwest::Method::POST,
            path: format!("/conversations/{id}/tags"),
            ..Call::default()
        };
        s.api().send(&call).await?.is(200).map(drop)
    });
    table.demand("tags.add", "`add` gives the conversation these tags", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let read = s.read(&id).await?;
        has_tag(&read, &tag, 1)
    });
    table.demand("tags.remove", "`remove` takes them away", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        s.act(&id, "tags", &json!({ "remove": [tag] })).await?.done()?;
        has_tag(&s.read(&id).await?, &tag, 0)
    });
    table.demand("tags.created", "Unknown names are created", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let list = s.api().get("/tags").await?;
        list.must(list.list()?.iter().any(|it| it["name"] == tag.as_str()), "the new name in GET /tags")
    });
    table.demand("tags.once", "A tag already present is not added twice", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        for _ in 0..2 {
            s.act(&id, "tags", &json!({ "add": [tag, tag] })).await?.done()?;
        }
        has_tag(&s.read(&id).await?, &tag, 1)
    });
    let names = |n: usize| (0..n).map(|i| format!("conform{i}")).collect::<Vec<_>>();
    for (id, list) in [("tags.add.max", "add"), ("tags.remove.max", "remove")] {
        let says = format!("`{list}` has at most 10 items");
        border(
            table,
            id,
            &says,
            ("tags", list),
            move || json!({ list: if list == "add" { vec!["conform0".to_owned(); 10] } else { names(10) } }),
            move || json!({ list: names(11) }),
        );
    }
    border(
        table,
        "tags.name.max",
        "A name has at most 40 characters",
        ("tags", "add"),
        || json!({ "add": ["x".repeat(40)], "remove": [] }),
        || json!({ "add": ["x".repeat(41)] }),
    );
    refused(
        table,
        "tags.name.min",
        "A name has at least 1 character",
        "tags",
        "add",
        || json!({ "add": [""] }),
    );
    refused(
        table,
        "tags.remove.name.max",
        "A name in `remove` has at most 40 characters",
        "tags",
        "remove",
        || json!({ "remove": ["x".repeat(41)] }),
    );
    refused(
        table,
        "tags.remove.name.min",
        "A name in `remove` has at least 1 character",
        "tags",
        "remove",
        || json!({ "remove": [""] }),
    );
    refused(table, "tags.add.type", "`add` is an array of strings", "tags", "add", || json!({ "add": "x" }));
    refused(table, "tags.add.item.type", "Each name is a string", "tags", "add", || json!({ "add": [1] }));
    refused(
        table,
        "tags.remove.type",
        "`remove` is an array of strings",
        "tags",
        "remove",
        || json!({ "remove": {} }),
    );
    not_found(table, "tags.404", "tags", || json!({ "add": ["conform"] }));
    table.demand("tags.repeat", "Repeating the same request is harmless", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let before = s.read(&id).await?.done()?["tags"].clone();
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        s.read(&id).await?.equals("/tags", &before)
    });
    table.observe(
        "tags.remove.unknown",
        "Removing a name that the conversation does not have",
        "200",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "tags", &json!({ "remove": [s.word("tag")] })).await?.status.to_string())
        },
    );
    table.observe(
        "tags.event",
        "The event of the timeline that records a tag",
        r#"tags {"added":["conform"],"removed":[]}"#,
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "tags", &json!({ "add": ["conform"] })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            s.act(&id, "tags", &json!({ "remove": ["conform"] })).await?;
            let event = items.iter().rfind(|it| it["type"] == "event");
            Ok(event.map_or("none".into(), |it| format!("{} {}", text(&it["event"]), it["data"])))
        },
    );
    table.observe(
        "tags.repeat.event",
        "Adding a tag again: events of the timeline",
        "none",
        WRITE,
        |s| async move {
            let (id, tag) = (s.conversation().await?, s.word("tag"));
            s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
            let before = count(&s, &id, |it| it["type"] == "event").await?;
            s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
            let after = count(&s, &id, |it| it["type"] == "event").await?;
            Ok(if after == before { "none".into() } else { format!("{after} instead of {before}") })
        },
    );
}

fn has_tag(read: &Reply, tag: &str, times: usize) -> Result<(), RuleAbort> {
    let tags = &read.done()?["tags"];
    let count = tags.as_array().map_or(0, |tags| tags.iter().filter(|it| *it == tag).count());
    read.must_in(count == times, if times == 0 { "no such tag" } else { "the tag, once" }, "tags", tags)
}
