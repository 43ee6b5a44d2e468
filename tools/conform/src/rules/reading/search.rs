//! The search of `GET /conversations`.

use serde_json::json;

use super::lists::{contains, ids};
use crate::{
    check::session::Session,
    rule::{READS, SEND, Table, WRITE},
    rule_abort::RuleAbort,
};

/// Returns a conversation whose mail has these words, and what a search for `q` finds.
async fn found(s: &Session, words: &str, q: &str) -> Result<String, RuleAbort> {
    let mail = json!({ "from": s.address("customer"), "text": format!("I look for a {words} in the hay.") });
    let id = s.inbound(mail).await?.text_at("/conversationId")?;
    let list = s.api().get(format!("/conversations?limit=100&q={q}")).await?;
    Ok(if ids(&list)?.contains(&id) { "yes" } else { "no" }.into())
}

pub(crate) fn add(table: &mut Table) {
    table.section("4.2");
    table.demand("list.q", "`q` searches all mail text", WRITE, |s| async move {
        let word = s.word("needle");
        let mail =
            json!({ "from": s.address("customer"), "text": format!("I look for a {word} in the hay.") });
        let id = s.inbound(mail).await?.text_at("/conversationId")?;
        let other = s.conversation().await?;
        let list = s.api().get(format!("/conversations?q={word}")).await?;
        contains(&list, &id, true)?;
        contains(&list, &other, false)
    });
    table.demand("list.q.beyond-cut", "`q` also searches text that a read cuts off", WRITE, |s| async move {
        let word = s.word("needle");
        let mail =
            json!({ "from": s.address("customer"), "text": format!("{} {word}", "hay ".repeat(2_100)) });
        let id = s.inbound(mail).await?.text_at("/conversationId")?;
        contains(&s.api().get(format!("/conversations?q={word}")).await?, &id, true)
    });
    table.demand("list.q.max", "`q` has at most 200 characters", READS, |s| async move {
        s.api().get(format!("/conversations?q={}", "x".repeat(200))).await?.is(200)?;
        s.api().get(format!("/conversations?q={}", "x".repeat(201))).await?.names(&["q"])
    });
    table.demand("list.q.outbound", "`q` also searches mail that went out", SEND, |s| async move {
        let (id, word) = (s.conversation().await?, s.word("answer"));
        s.act(&id, "replies", &json!({ "body": word, "send": true })).await?.done()?;
        s.wait(std::time::Duration::from_secs(7)).await?;
        let status = s.read(&id).await?.text_at("/status")?;
        contains(&s.api().get(format!("/conversations?view={status}&q={word}")).await?, &id, true)
    });
    table.demand("list.together", "The parameters narrow together", WRITE, |s| async move {
        let word = s.word("needle");
        let mut made = Vec::new();
        for (text, mine, closed) in
            [(&*word, true, true), (&*word, true, false), (&*word, false, true), ("Hay", true, true)]
        {
            let mail = json!({ "from": s.address("customer"), "text": text });
            let id = s.inbound(mail).await?.text_at("/conversationId")?;
            if mine {
                s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            }
            if closed {
                s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            }
            made.push(id);
        }
        let list = s.api().get(format!("/conversations?view=closed&assigned=me&q={word}")).await?;
        let first = made.first().cloned().unwrap_or_default();
        list.must(ids(&list)? == [first.as_str()], format!("{first} alone"))
    });
    table.observe("list.q.note", "Whether `q` finds the words of a note", "no", WRITE, |s| async move {
        let (id, word) = (s.conversation().await?, s.word("note"));
        s.act(&id, "notes", &json!({ "body": word })).await?.done()?;
        let list = s.api().get(format!("/conversations?q={word}")).await?;
        Ok(if ids(&list)?.contains(&id) { "yes" } else { "no" }.into())
    });
    for (id, says, mock, asked) in [
        (
            "list.q.beginning",
            "Whether the beginning of a word finds it",
            "yes",
            (|word: &str| word.chars().take(word.len().saturating_sub(3)).collect()) as fn(&str) -> String,
        ),
        ("list.q.inside", "Whether a later part of a word finds it", "no", |word| {
            word.chars().skip(3).collect()
        }),
        ("list.q.case", "Whether a word in capitals finds it", "yes", |word| word.to_uppercase()),
        ("list.q.words", "Whether one of several words is enough", "no", |word| {
            format!("{word}%20nothing-like-it")
        }),
    ] {
        table.observe(id, says, mock, WRITE, move |s| async move {
            let word = s.word("needle");
            found(&s, &word, &asked(&word)).await
        });
    }
}
