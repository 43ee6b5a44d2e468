//! One conversation: what the service knows about it, then its timeline, oldest first.

use std::{collections::HashMap, fmt::Write, ops::Range};

use serde_json::Value;
use shared_inbox::{Contact, Conversation, Json, Message, Note, TeamMember, TimelineEvent, TimelineItem};

use super::{
    Fence, FencedBlock, Form, RenderOptions, Rendered,
    budget::{Keep, Part, Scale, chars, fit, share},
    caps, counted, minute, own, quoted, structured, value, warning,
};

/// Renders a conversation: its latest items, or this part of its timeline, as many as fit.
pub fn conversation(style: &RenderOptions, c: &Conversation, part: Option<Range<usize>>) -> Rendered {
    let all = c.timeline.len();
    // In the exact form nothing is shortened; a recorded email that would crowd out the conversation is left out.
    let sent_fits = style.form != Form::Exact
        || c.app_sent.as_ref().is_none_or(|sent| chars(sent.as_str()) <= style.max_chars / 4);
    let head = Part::within(style.max_chars / 2, |scale| {
        (head(&style.fence, c, scale), json(style, c, sent_fits, scale))
    });
    let room = head.size.room(style.max_chars, 300);
    let (wanted, keep) = match part {
        Some(part) => (part.start.min(all)..part.end.min(all), Keep::First),
        None => (0..all, Keep::Last),
    };
    let items: Vec<_> = c.timeline[wanted.clone()]
        .iter()
        .enumerate()
        .map(|(i, one)| {
            let number = wanted.start + i + 1;
            Part::within(share(room), |scale| {
                let mut text = format!("\n[{number} of {all}] ");
                let writes = item(&style.fence, &mut text, one, scale);
                (text, style.json(value(one), writes, scale))
            })
        })
        .collect();
    let fitting = fit(room, &items, keep);
    let shown = wanted.start + fitting.start..wanted.start + fitting.end;
    let Part { mut text, json: mut structured, .. } = head;
    let mut notes = Vec::new();
    if !sent_fits {
        notes.push("Cut: the email that the app sent is left out, it is too long for one result.".to_owned());
    }
    if wanted.is_empty() && all > 0 {
        notes.push(format!("There is nothing there: the timeline has {}.", counted(all, "item")));
    }
    if shown.len() < wanted.len() {
        let (first, last) = match keep {
            Keep::First => (shown.end + 1, wanted.end),
            Keep::Last => (1, shown.start),
        };
        notes.push(format!(
            "Cut: items {first} to {last} of {all} are left out, they are too much for one result. Read them with \
             get_conversation and items \"{first}-{last}\"."
        ));
    }
    if !notes.is_empty() {
        let note = notes.join(" ");
        _ = writeln!(text, "\n{note}");
        // A client may hand on the JSON alone.
        structured["note"] = note.into();
    }
    let (texts, values): (Vec<_>, Vec<_>) =
        items.into_iter().skip(fitting.start).take(fitting.len()).map(|item| (item.text, item.json)).unzip();
    text.extend(texts);
    structured["timeline"] = values.into();
    Rendered { text, structured }
}

fn json(style: &RenderOptions, c: &Conversation, sent: bool, scale: Scale) -> Value {
    let mut all = value(c);
    if let Value::Object(fields) = &mut all {
        fields.insert("timeline".into(), Value::Array(Vec::new()));
        if !sent {
            fields.remove("appSent");
        }
        if style.form == Form::Slim {
            fields.remove("team");
        }
    }
    style.with_about(style.json(all, &structured::CONVERSATION, scale), c.risk.as_deref().map(warning), true)
}

fn head(fence: &Fence, c: &Conversation, scale: Scale) -> String {
    let mut out = format!(
        "Conversation {} · {} · {} · last {}\n",
        c.id,
        own(c.status.as_str()),
        quoted(&c.mailbox),
        minute(&c.last_message_at)
    );
    if let Some(risk) = &c.risk {
        _ = writeln!(out, "{}", warning(risk));
    }
    if let Some(who) = &c.assignee {
        _ = writeln!(out, "Assigned to {}.", quoted(&who.name));
    }
    if let Some(until) = c.snoozed_until {
        _ = writeln!(out, "Snoozed until {}.", minute(&until));
    }
    if let Some(urgency) = &c.urgency {
        _ = writeln!(out, "Urgency: {}.", quoted(urgency.as_str()));
    }
    if !c.tags.is_empty() {
        _ = writeln!(out, "Tags: {}.", some(&c.tags, scale.apply(caps::TAGS), |tag| quoted(tag)));
    }
    let team: Vec<_> = c.team.people.iter().chain(&c.team.agents).collect();
    if !team.is_empty() {
        let mut names: HashMap<_, usize> = HashMap::new();
        team.iter().for_each(|m| *names.entry(m.name.to_lowercase()).or_default() += 1);
        _ = writeln!(out, "Team: {}.", some(&team, scale.apply(caps::TEAM), |m| member(&names, m)));
    }
    out.push_str(&fence.explain());
    let mut block = about(scale, &c.subject, &c.contact, c.topic.as_deref(), c.reference.as_deref());
    for reason in c.risk_reasons.iter().take(caps::REASONS) {
        block.field("reason for the warning", reason, caps::SUBJECT);
    }
    if let Some(sent) = &c.app_sent {
        block.field("email that the app sent", sent.as_str(), caps::DATA);
    }
    fence.write(&mut out, &block);
    out
}

/// Returns what a conversation is about, and with whom.
pub(super) fn about(
    scale: Scale,
    subject: &str,
    contact: &Contact,
    topic: Option<&str>,
    reference: Option<&str>,
) -> FencedBlock {
    let mut block = FencedBlock::scaled(scale);
    block.field("subject", subject, caps::SUBJECT).maybe("name", contact.name.as_deref(), caps::NAME);
    block.maybe("address", contact.email.as_deref(), caps::ADDRESS).maybe("topic", topic, caps::SHORT);
    block.maybe("reference", reference, caps::SHORT);
    block
}

/// Returns a teammate by their name, and by their id too where another has the same name.
fn member(names: &HashMap<String, usize>, m: &TeamMember) -> String {
    if names.get(&m.name.to_lowercase()) == Some(&1) {
        quoted(&m.name)
    } else {
        format!("{} {}", quoted(&m.name), quoted(&m.id.to_string()))
    }
}

/// Returns the first of them, and how many more there are.
pub(super) fn some<T>(all: &[T], most: usize, show: impl Fn(&T) -> String) -> String {
    let mut shown: Vec<_> = all.iter().take(most).map(show).collect();
    if all.len() > most {
        shown.push(format!("{} more", all.len() - most));
    }
    shown.join(", ")
}

/// Writes the item's text, and says who writes what in its JSON.
fn item(fence: &Fence, out: &mut String, one: &TimelineItem, scale: Scale) -> &'static structured::Writes {
    match one {
        TimelineItem::Message(m) => {
            message(fence, out, m, scale);
            &structured::MESSAGE
        }
        TimelineItem::Note(n) => {
            note(fence, out, n, scale);
            &structured::NOTE
        }
        TimelineItem::Event(e) => {
            event(fence, out, e, scale);
            &structured::EVENT
        }
        other => {
            out.push_str("item of a kind that is not known\n");
            fence.write(out, FencedBlock::scaled(scale).text(&value(other).to_string(), caps::DATA));
            &structured::UNKNOWN
        }
    }
}

fn message(fence: &Fence, out: &mut String, m: &Message, scale: Scale) {
    _ = write!(out, "{} message {} · {}", own(m.direction.as_str()), m.id, minute(&m.at));
    if let Some(status) = &m.status {
        _ = write!(out, " · {}", own(status.as_str()));
    }
    out.push('\n');
    let mut block = FencedBlock::scaled(scale);
    block.maybe("name", m.from.name.as_deref(), caps::NAME).field("address", &m.from.email, caps::ADDRESS);
    let most = scale.apply(caps::FILES);
    for file in m.attachments.iter().take(most) {
        // Its type must stay in sight behind a long name.
        let name: String = file.filename.chars().take(scale.apply(caps::FILE)).collect();
        let file = format!("{name} ({}, {} bytes)", file.content_type, file.size);
        block.field("file", &file, caps::FILE + caps::SHORT);
    }
    if m.attachments.len() > most {
        block.field("and", &counted(m.attachments.len() - most, "more file"), caps::SHORT);
    }
    fence.write(out, block.text(&m.text, caps::WORDS));
}

/// Notes are the team's own, but people and agents paste emails into them.
fn note(fence: &Fence, out: &mut String, n: &Note, scale: Scale) {
    _ = writeln!(out, "internal note {} · by {} · {}", n.id, quoted(&n.author), minute(&n.at));
    fence.write(out, FencedBlock::scaled(scale).text(&n.body, caps::WORDS));
}

fn event(fence: &Fence, out: &mut String, e: &TimelineEvent, scale: Scale) {
    _ = writeln!(out, "event {} · by {} · {}", quoted(&e.event), quoted(&e.actor), minute(&e.at));
    if e.data != Json::default() {
        fence.write(out, FencedBlock::scaled(scale).text(e.data.as_str(), caps::DATA));
    }
}
