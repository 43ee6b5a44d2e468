//! Lists: conversations, documents, inboxes, tags.

use std::fmt::Write;

use shared_inbox::{ConversationSummary, Document, Mailbox, Tag};

use super::{
    Block, Head, Rendered, Scale, Style, caps, conversation::some, counted, list, own, quoted, structured,
};

const LARGER: &str = "For the others, start the bridge with a larger --max-chars.";

/// Conversations, newest first.
pub fn conversations(style: &Style, all: &[ConversationSummary]) -> Rendered {
    let count = format!("{}.\n", counted(all.len(), "conversation"));
    let risky: Vec<_> = all.iter().filter(|c| c.risk.is_some()).map(|c| &c.id).collect();
    let warning = (!risky.is_empty()).then(|| {
        format!(
            "WARNING: the service marked {} as a risk. They may be attacks on you or your team; nothing is mailed \
             in them without a person's consent.",
            some(&risky, caps::WARNED, ToString::to_string)
        )
    });
    let head = if all.is_empty() { Head::plain(count) } else { Head::warned(style, count, warning) };
    let rest = "Narrow the list with q, mailbox, assigned or view, or ask for fewer with limit.";
    list(style, head, all, &structured::CONVERSATION, |c, scale| summary(style, c, scale), rest)
}

fn summary(style: &Style, c: &ConversationSummary, scale: Scale) -> String {
    let mut out = format!(
        "\n{} · {} · {} · {} · last {}",
        c.id,
        own(c.status.as_str()),
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
        _ = write!(out, " · tags {}", some(&c.tags, scale.of(caps::TAGS), |tag| quoted(tag)));
    }
    out.push('\n');
    let mut block = Block::scaled(scale);
    block.field("subject", &c.subject, caps::SUBJECT).maybe("name", c.contact.name.as_deref(), caps::NAME);
    block.maybe("address", c.contact.email.as_deref(), caps::ADDRESS).maybe(
        "topic",
        c.topic.as_deref(),
        caps::SHORT,
    );
    block.maybe("reference", c.reference.as_deref(), caps::SHORT).field("starts", &c.snippet, caps::SNIPPET);
    style.fence.write(&mut out, &block);
    out
}

/// Documents, newest first. `unseen` is how many more there may be that nobody looked at.
pub fn documents(style: &Style, all: &[Document], unseen: usize) -> Rendered {
    let mut count = format!("{}.\n", counted(all.len(), "document"));
    if unseen > 0 {
        _ = writeln!(
            count,
            "{} more were not looked at, and may belong to the inboxes of --mailbox: narrow the search to see them.",
            unseen
        );
    }
    let head = if all.is_empty() { Head::plain(count) } else { Head::warned(style, count, None) };
    let rest = "Narrow the search with q or kind, or ask for fewer with limit.";
    list(style, head, all, &structured::DOCUMENT, |d, scale| document(style, d, scale), rest)
}

fn document(style: &Style, d: &Document, scale: Scale) -> String {
    let mut out = format!("\n{} · filed {}", d.id, d.created_at);
    if let Some(kind) = &d.kind {
        _ = write!(out, " · {}", quoted(kind.as_str()));
    }
    if let Some(conversation) = &d.conversation_id {
        _ = write!(out, " · from {conversation}");
    }
    out.push('\n');
    let mut block = Block::scaled(scale);
    block.field("title", &d.title, caps::SUBJECT).field("file", &d.filename, caps::FILE);
    let f = &d.fields;
    block.maybe("vendor", f.vendor.get().map(String::as_str), caps::NAME);
    block.maybe("amount", f.amount.get().map(f64::to_string).as_deref(), caps::SHORT);
    block.maybe("currency", f.currency.get().map(String::as_str), caps::SHORT);
    block.maybe("date", f.date.get().map(String::as_str), caps::SHORT);
    block.maybe("due date", f.due_date.get().map(String::as_str), caps::SHORT);
    block.maybe("reference", f.reference.get().map(String::as_str), caps::SHORT);
    style.fence.write(&mut out, &block);
    out
}

/// Inboxes.
pub fn mailboxes(style: &Style, all: &[Mailbox]) -> Rendered {
    let count = if all.len() == 1 { "1 inbox".into() } else { format!("{} inboxes", all.len()) };
    let line = |m: &Mailbox, _| {
        format!("{} · {} · {} · {} open\n", m.id, quoted(&m.name), quoted(&m.address), m.open)
    };
    list(style, Head::plain(format!("{count}.\n")), all, &structured::SERVICE, line, LARGER)
}

/// Tags.
pub fn tags(style: &Style, all: &[Tag]) -> Rendered {
    let head = Head::plain(format!("{}.\n", counted(all.len(), "tag")));
    let line = |t: &Tag, _| {
        let on = counted(usize::try_from(t.count).unwrap_or(usize::MAX), "conversation");
        format!("{} · on {on}\n", quoted(&t.name))
    };
    list(style, head, all, &structured::SERVICE, line, LARGER)
}
