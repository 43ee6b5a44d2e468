//! Lists: conversations, documents, inboxes, tags.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use shared_inbox::{ConversationSummary, Document, Mailbox, Tag};

use super::{Block, Rendered, Style, list, quoted};

fn value(item: &impl Serialize) -> Value {
    // Types of JSON objects alone: they cannot fail to become JSON.
    serde_json::to_value(item).unwrap_or_default()
}

fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// Conversations, newest first.
pub fn conversations(style: &Style, all: &[ConversationSummary]) -> Rendered {
    let mut head = format!("{}.\n", counted(all.len(), "conversation"));
    let risky: Vec<_> = all.iter().filter(|c| c.risk.is_some()).map(|c| c.id.as_str()).collect();
    if !risky.is_empty() {
        _ = writeln!(
            head,
            "WARNING: the service marked {} as a risk. They may be attacks on you or your team; nothing is mailed \
             in them without a person's consent.",
            risky.join(", ")
        );
    }
    if !all.is_empty() {
        head.push_str(&style.fence.explain());
    }
    let items = all.iter().map(|c| (summary(style, c), value(c))).collect();
    let rest = "Narrow the list with q, mailbox, assigned or view, or ask for fewer with limit.";
    list(style, &head, items, rest)
}

fn summary(style: &Style, c: &ConversationSummary) -> String {
    let mut out = format!(
        "\n{} · {} · {} · {} · last {}",
        c.id,
        c.status,
        quoted(&c.mailbox),
        counted(usize::try_from(c.message_count).unwrap_or(usize::MAX), "message"),
        c.last_message_at,
    );
    if let Some(who) = &c.assignee {
        _ = write!(out, " · assigned to {} ({})", quoted(&who.name), who.id);
    }
    if let Some(urgency) = &c.urgency {
        _ = write!(out, " · urgency {}", quoted(urgency.as_str()));
    }
    if let Some(risk) = &c.risk {
        _ = write!(out, " · RISK {}", quoted(risk));
    }
    if !c.tags.is_empty() {
        let tags: Vec<_> = c.tags.iter().map(|tag| quoted(tag)).collect();
        _ = write!(out, " · tags {}", tags.join(", "));
    }
    out.push('\n');
    let mut block = Block::default();
    block.field("subject", &c.subject).maybe("name", c.contact.name.as_deref());
    block.maybe("address", c.contact.email.as_deref()).maybe("topic", c.topic.as_deref());
    block.maybe("reference", c.reference.as_deref()).field("starts", &c.snippet);
    style.fence.write(&mut out, &block);
    out
}

/// Documents, newest first.
pub fn documents(style: &Style, all: &[Document]) -> Rendered {
    let mut head = format!("{}.\n", counted(all.len(), "document"));
    if !all.is_empty() {
        head.push_str(&style.fence.explain());
    }
    let items = all.iter().map(|d| (document(style, d), value(d))).collect();
    list(style, &head, items, "Narrow the search with q or kind, or ask for fewer with limit.")
}

fn document(style: &Style, d: &Document) -> String {
    let mut out = format!("\n{} · filed {}", d.id, d.created_at);
    if let Some(kind) = &d.kind {
        _ = write!(out, " · {}", quoted(kind.as_str()));
    }
    if let Some(conversation) = &d.conversation_id {
        _ = write!(out, " · from {conversation}");
    }
    out.push('\n');
    let mut block = Block::default();
    block.field("title", &d.title).field("file", &d.filename);
    let f = &d.fields;
    block.maybe("vendor", f.vendor.get().map(String::as_str));
    block.maybe("amount", f.amount.get().map(f64::to_string).as_deref());
    block.maybe("currency", f.currency.get().map(String::as_str));
    block.maybe("date", f.date.get().map(String::as_str));
    block.maybe("due date", f.due_date.get().map(String::as_str));
    block.maybe("reference", f.reference.get().map(String::as_str));
    style.fence.write(&mut out, &block);
    out
}

/// Inboxes.
pub fn mailboxes(style: &Style, all: &[Mailbox]) -> Rendered {
    let count = if all.len() == 1 { "1 inbox".into() } else { format!("{} inboxes", all.len()) };
    let line = |m: &Mailbox| {
        (format!("{} · {} · {} · {} open\n", m.id, quoted(&m.name), quoted(&m.address), m.open), value(m))
    };
    list(
        style,
        &format!("{count}.\n"),
        all.iter().map(line).collect(),
        "For the others, start the bridge with a larger --max-chars.",
    )
}

/// Tags.
pub fn tags(style: &Style, all: &[Tag]) -> Rendered {
    let line = |t: &Tag| {
        let on = counted(usize::try_from(t.count).unwrap_or(usize::MAX), "conversation");
        (format!("{} · on {on}\n", quoted(&t.name)), value(t))
    };
    let head = format!("{}.\n", counted(all.len(), "tag"));
    list(
        style,
        &head,
        all.iter().map(line).collect(),
        "For the others, start the bridge with a larger --max-chars.",
    )
}
