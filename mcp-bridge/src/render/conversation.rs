//! One conversation: what the service knows about it, then its timeline, oldest first.

use std::{fmt::Write, ops::Range};

use serde_json::Value;
use shared_inbox::{Conversation, Json, Message, Note, TimelineEvent, TimelineItem};

use super::{Block, Fence, Keep, Rendered, Size, Style, chars, fit, quoted, size, warning};

/// A conversation; when it is too long, its latest items.
pub fn conversation(style: &Style, c: &Conversation) -> Rendered {
    let mut structured = serde_json::to_value(c).unwrap_or_default();
    let sent = c.app_sent.as_ref().map(|sent| sent.as_str().to_owned());
    // A recorded mail has no largest size. One that would crowd out the conversation is left out in both forms.
    let sent_fits = sent.as_deref().is_none_or(|sent| chars(sent) <= style.max_chars / 4);
    if !sent_fits && let Some(fields) = structured.as_object_mut() {
        fields.remove("appSent");
    }
    let head = head(&style.fence, c, sent.as_deref().filter(|_| sent_fits));
    let items = items(style, c);
    let values = match structured.get_mut("timeline").map(Value::take) {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    };
    let sizes: Vec<Size> = items.iter().zip(&values).map(|(text, value)| size(text, value)).collect();
    let note = 350 + 2 * chars(c.id.as_str());
    let base = Size { text: chars(&head) + note, json: chars(&structured.to_string()) + note };
    let shown = fit(style.max_chars, &base, &sizes, Keep::Last);
    let mut text = head;
    structured["timeline"] = values.into_iter().skip(shown.start).collect();
    let mut notes = Vec::new();
    if !sent_fits {
        notes.push("Cut: the mail that the app sent is left out, it is too long for one result.".to_owned());
    }
    if shown.start > 0 {
        notes.push(format!(
            "Cut: the first {} of {} items are left out, the conversation is too long for one result. Read them as the \
             resource inbox://conversations/{}/items/1-{}, or start the bridge with a larger --max-chars.",
            shown.start,
            items.len(),
            c.id,
            shown.start
        ));
    }
    if !notes.is_empty() {
        let note = notes.join(" ");
        _ = writeln!(text, "\n{note}");
        // A client may hand on the JSON alone.
        structured["note"] = note.into();
    }
    items[shown].iter().for_each(|item| text.push_str(item));
    Rendered { text, structured }
}

/// A part of a conversation's timeline, counted from 1; as many items from its start as fit.
pub fn timeline(style: &Style, c: &Conversation, part: Range<usize>) -> String {
    let items = items(style, c);
    let part = part.start.min(items.len())..part.end.min(items.len());
    let mut text = format!("Items of conversation {}, {} in all.\n", c.id, items.len());
    if let Some(risk) = &c.risk {
        text.push_str(&warning(risk));
    }
    text.push_str(&style.fence.explain());
    let sizes: Vec<Size> =
        items[part.clone()].iter().map(|text| Size { text: chars(text), json: 0 }).collect();
    let shown = fit(style.max_chars, &Size { text: chars(&text) + 100, json: 0 }, &sizes, Keep::First);
    items[part.start..part.start + shown.len()].iter().for_each(|item| text.push_str(item));
    if shown.len() < part.len() {
        let next = part.start + shown.len() + 1;
        _ = writeln!(text, "\nCut: read on at inbox://conversations/{}/items/{next}-{}.", c.id, part.end);
    }
    text
}

fn head(fence: &Fence, c: &Conversation, app_sent: Option<&str>) -> String {
    let mut out = format!(
        "Conversation {} · {} · {} · last {}\n",
        c.id,
        c.status,
        quoted(&c.mailbox),
        c.last_message_at
    );
    if let Some(risk) = &c.risk {
        out.push_str(&warning(risk));
    }
    if let Some(who) = &c.assignee {
        _ = writeln!(out, "Assigned to {} ({}).", quoted(&who.name), who.id);
    }
    if let Some(until) = c.snoozed_until {
        _ = writeln!(out, "Snoozed until {until}.");
    }
    if let Some(urgency) = &c.urgency {
        _ = writeln!(out, "Urgency: {}.", quoted(urgency.as_str()));
    }
    if !c.tags.is_empty() {
        let tags: Vec<_> = c.tags.iter().map(|tag| quoted(tag)).collect();
        _ = writeln!(out, "Tags: {}.", tags.join(", "));
    }
    let team = c.team.people.iter().chain(&c.team.agents);
    let team: Vec<_> = team.map(|m| format!("{} {}", quoted(&m.id.to_string()), quoted(&m.name))).collect();
    if !team.is_empty() {
        _ = writeln!(out, "Can be assigned to: {}.", team.join(", "));
    }
    out.push_str(&fence.explain());
    let mut block = Block::default();
    block.field("subject", &c.subject).maybe("name", c.contact.name.as_deref());
    block.maybe("address", c.contact.email.as_deref()).maybe("topic", c.topic.as_deref());
    block.maybe("reference", c.reference.as_deref());
    c.risk_reasons.iter().for_each(|reason| _ = block.field("reason for the warning", reason));
    block.maybe("mail that the app sent", app_sent);
    fence.write(&mut out, &block);
    out
}

fn items(style: &Style, c: &Conversation) -> Vec<String> {
    let all = c.timeline.len();
    let number = |(i, one): (usize, &TimelineItem)| {
        let mut out = format!("\n[{} of {all}] ", i + 1);
        item(&style.fence, &mut out, one);
        out
    };
    c.timeline.iter().enumerate().map(number).collect()
}

fn item(fence: &Fence, out: &mut String, one: &TimelineItem) {
    match one {
        TimelineItem::Message(m) => message(fence, out, m),
        TimelineItem::Note(n) => note(fence, out, n),
        TimelineItem::Event(e) => event(fence, out, e),
        TimelineItem::Unknown(raw) => {
            out.push_str("item of a kind that is not known\n");
            fence.write(out, Block::default().text(raw.as_str()));
        }
        _ => out.push_str("item of a kind that is not known\n"),
    }
}

fn message(fence: &Fence, out: &mut String, m: &Message) {
    _ = write!(out, "message {} · {} · {}", m.id, quoted(m.direction.as_str()), m.at);
    if let Some(status) = &m.status {
        _ = write!(out, " · {}", quoted(status.as_str()));
    }
    out.push('\n');
    let mut block = Block::default();
    block.maybe("name", m.from.name.as_deref()).field("address", &m.from.email);
    for file in &m.attachments {
        block.field("file", &format!("{} ({}, {} bytes)", file.filename, file.content_type, file.size));
    }
    fence.write(out, block.text(&m.text));
}

/// Notes are the team's own, but people and agents paste mail into them.
fn note(fence: &Fence, out: &mut String, n: &Note) {
    _ = writeln!(out, "internal note {} · by {} · {}", n.id, quoted(&n.author), n.at);
    fence.write(out, Block::default().text(&n.body));
}

fn event(fence: &Fence, out: &mut String, e: &TimelineEvent) {
    _ = writeln!(out, "event {} · by {} · {}", quoted(&e.event), quoted(&e.actor), e.at);
    if e.data != Json::default() {
        fence.write(out, Block::default().text(e.data.as_str()));
    }
}
