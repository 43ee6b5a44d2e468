//! Lists: conversations, documents, inboxes, tags.

use std::fmt::Write;

use shared_inbox::{ConversationSummary, Document, Mailbox, Tag};

use super::{
    ItemText, List, RenderOptions, Rendered, Scale, caps,
    conversation::{about, some},
    counted, minute, own, quoted, trust,
};

const LARGER: &str = "For the others, start the bridge with a larger --max-chars.";

/// Renders conversations, newest first.
pub fn conversations(style: &RenderOptions, all: &[ConversationSummary]) -> Rendered {
    let risky: Vec<_> = all.iter().filter(|c| c.risk.is_some()).map(|c| &c.id).collect();
    let warning = (!risky.is_empty()).then(|| {
        let what = if risky.len() == 1 { "It may be an attack" } else { "They may be attacks" };
        format!(
            "WARNING: the service sees a risk in {}. {what} on you or your team; nothing is sent there without a person's consent.",
            some(&risky, caps::WARNED.min(style.max_chars / caps::PER_WARNED), ToString::to_string)
        )
    });
    let list = List {
        noun: ["conversation", "conversations"],
        items: all,
        urgent: |c| c.risk.is_some(),
        warning,
        trust: &trust::CONVERSATION,
        strangers: true,
        rest: "Narrow with q, mailbox, assigned or view, or raise limit.",
    };
    list.render(style, |c, scale| summary(style, c, scale))
}

fn summary(style: &RenderOptions, c: &ConversationSummary, scale: Scale) -> String {
    let own = format!(
        "\n{} · {} · {} · {} · last {}",
        c.id,
        own(c.status.as_str()),
        quoted(&c.mailbox),
        counted(usize::try_from(c.message_count).unwrap_or(usize::MAX), "message"),
        minute(&c.last_message_at),
    );
    let mut item = ItemText::new(&trust::CONVERSATION, own, scale);
    about(&mut item, &c.subject, &c.contact, c.topic.as_deref(), c.reference.as_deref());
    if let Some(risk) = &c.risk {
        item.own.push_str(" · RISK");
        item.show("risk", "risk", risk, |risk| format!(" {risk}"));
    }
    if let Some(who) = &c.assignee {
        item.show("assignee.name", "assigned to", &who.name, |name| format!(" · assigned to {name}"));
    }
    if let Some(urgency) = &c.urgency {
        let unquoted = |urgency: &str| format!(" · urgency {}", urgency.trim_matches('"'));
        item.show("urgency", "urgency", urgency.as_str(), unquoted);
    }
    if !c.tags.is_empty() {
        _ = write!(item.own, " · tags {}", some(&c.tags, scale.apply(caps::TAGS), |tag| quoted(tag)));
    }
    item.own.push('\n');
    item.fence("snippet", "latest message", Some(&c.snippet));
    item.finish(&style.fence)
}

/// Renders documents, newest first. `unseen` is how many more there may be that were not looked up.
pub fn documents(style: &RenderOptions, all: &[Document], unseen: usize) -> Rendered {
    let warning = (unseen > 0).then(|| {
        format!(
            "{unseen} more were not looked at, and may belong to the inboxes of --mailbox: narrow the search to see them."
        )
    });
    let list = List {
        noun: ["document", "documents"],
        items: all,
        urgent: |_| false,
        warning,
        trust: &trust::DOCUMENT,
        strangers: true,
        rest: "Narrow with q or kind, or raise limit.",
    };
    list.render(style, |d, scale| document(style, d, scale))
}

fn document(style: &RenderOptions, d: &Document, scale: Scale) -> String {
    let own = format!("\n{} · filed {}", d.id, minute(&d.created_at));
    let mut item = ItemText::new(&trust::DOCUMENT, own, scale);
    if let Some(kind) = &d.kind {
        item.show("kind", "kind", kind.as_str(), |kind| format!(" · {}", kind.trim_matches('"')));
    }
    if let Some(conversation) = &d.conversation_id {
        _ = write!(item.own, " · from {conversation}");
    }
    item.own.push('\n');
    item.fence("title", "title", Some(&d.title)).fence("filename", "file", Some(&d.filename));
    let f = &d.fields;
    item.fence("fields.vendor", "vendor", f.vendor.get().map(String::as_str));
    item.fence("fields.amount", "amount", f.amount.get().map(f64::to_string).as_deref());
    item.fence("fields.currency", "currency", f.currency.get().map(String::as_str));
    item.fence("fields.date", "date", f.date.get().map(String::as_str));
    item.fence("fields.dueDate", "due date", f.due_date.get().map(String::as_str));
    item.fence("fields.reference", "reference", f.reference.get().map(String::as_str));
    item.finish(&style.fence)
}

/// Renders inboxes.
pub fn mailboxes(style: &RenderOptions, all: &[Mailbox]) -> Rendered {
    let line = |m: &Mailbox, _| {
        format!("{} · {} · {} · {} open\n", m.id, quoted(&m.name), quoted(&m.address), m.open)
    };
    of_service(["inbox", "inboxes"], all).render(style, line)
}

/// Renders tags.
pub fn tags(style: &RenderOptions, all: &[Tag]) -> Rendered {
    let line = |t: &Tag, _| {
        let on = counted(usize::try_from(t.count).unwrap_or(usize::MAX), "conversation");
        format!("{} · on {on}\n", quoted(&t.name))
    };
    of_service(["tag", "tags"], all).render(style, line)
}

/// Returns a list of what the team made, without untrusted text.
fn of_service<'a, T>(noun: [&'a str; 2], items: &'a [T]) -> List<'a, T> {
    List {
        noun,
        items,
        urgent: |_| false,
        warning: None,
        trust: &trust::OF_TEAM,
        strangers: false,
        rest: LARGER,
    }
}
