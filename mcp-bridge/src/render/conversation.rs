//! One conversation: what the service knows about it, then its timeline, oldest first.

use std::{collections::HashMap, fmt::Write, ops::Range};

use serde_json::Value;
use shared_inbox::{Contact, Conversation, Json, Message, TeamMember, TimelineItem};

use super::{
    Fence, FieldTrust, Form, ItemText, RenderOptions, Rendered,
    budget::{Keep, Part, Scale, chars, fit, share},
    caps, counted, minute, own, quoted, trust, value, warning,
};

/// Renders a conversation: its latest items, or this part of its timeline, as many as fit.
pub fn conversation(style: &RenderOptions, c: &Conversation, part: Option<Range<usize>>) -> Rendered {
    let all = c.timeline.len();
    // In the exact form nothing is shortened; a recorded email that would crowd out the conversation is left
    // out.
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
                let (item, trust) = item(one, scale);
                let text = format!("\n[{number} of {all}] {}", item.finish(&style.fence));
                (text, style.json(value(one), trust, scale))
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
    style.with_about(style.json(all, &trust::CONVERSATION, scale), c.risk.as_deref().map(warning), true)
}

fn head(fence: &Fence, c: &Conversation, scale: Scale) -> String {
    let own = format!(
        "Conversation {} · {} · {} · last {}\n",
        c.id,
        own(c.status.as_str()),
        quoted(&c.mailbox),
        minute(&c.last_message_at)
    );
    let mut item = ItemText::new(&trust::CONVERSATION, own, scale);
    about(&mut item, &c.subject, &c.contact, c.topic.as_deref(), c.reference.as_deref());
    if let Some(risk) = &c.risk {
        _ = writeln!(item.own, "{}", warning(risk));
        // The warning has the label, if it is one.
        item.show("risk", "risk", risk, |_| String::new());
    }
    if let Some(who) = &c.assignee {
        item.show("assignee.name", "assigned to", &who.name, |name| format!("Assigned to {name}.\n"));
    }
    if let Some(until) = c.snoozed_until {
        _ = writeln!(item.own, "Snoozed until {}.", minute(&until));
    }
    if let Some(urgency) = &c.urgency {
        item.show("urgency", "urgency", urgency.as_str(), |urgency| format!("Urgency: {urgency}.\n"));
    }
    if !c.tags.is_empty() {
        _ = writeln!(item.own, "Tags: {}.", some(&c.tags, scale.apply(caps::TAGS), |tag| quoted(tag)));
    }
    let team: Vec<_> = c.team.people.iter().chain(&c.team.agents).collect();
    if !team.is_empty() {
        let mut names: HashMap<_, usize> = HashMap::new();
        team.iter().for_each(|m| *names.entry(m.name.to_lowercase()).or_default() += 1);
        _ = writeln!(item.own, "Team: {}.", some(&team, scale.apply(caps::TEAM), |m| member(&names, m)));
    }
    item.own.push_str(&fence.explain());
    for reason in c.risk_reasons.iter().take(caps::REASONS) {
        item.fence("riskReasons", "reason for the warning", Some(reason));
    }
    item.fence("appSent", "email that the app sent", c.app_sent.as_ref().map(Json::as_str));
    item.finish(fence)
}

/// Shows what a conversation is about, and with whom.
pub(super) fn about(
    item: &mut ItemText,
    subject: &str,
    contact: &Contact,
    topic: Option<&str>,
    reference: Option<&str>,
) {
    item.fence("subject", "subject", Some(subject)).fence("contact.name", "name", contact.name.as_deref());
    item.fence("contact.email", "address", contact.email.as_deref());
    item.fence("topic", "topic", topic).fence("reference", "reference", reference);
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

/// Returns the item's text, and who may write what in its JSON.
fn item(one: &TimelineItem, scale: Scale) -> (ItemText, &'static FieldTrust) {
    let new = |trust, own: String| (ItemText::new(trust, own, scale), trust);
    match one {
        TimelineItem::Message(m) => {
            let status = m.status.as_ref().map(|status| format!(" · {}", own(status.as_str())));
            let line = format!("{} message {} · {}", own(m.direction.as_str()), m.id, minute(&m.at));
            let (mut item, trust) = new(&trust::MESSAGE, line + &status.unwrap_or_default() + "\n");
            message(&mut item, m, scale);
            (item, trust)
        }
        TimelineItem::Note(n) => {
            let (mut item, trust) = new(&trust::NOTE, format!("internal note {}", n.id));
            item.show("author", "author", &n.author, |author| format!(" · by {author}"));
            _ = writeln!(item.own, " · {}", minute(&n.at));
            item.text("body", &n.body);
            (item, trust)
        }
        TimelineItem::Event(e) => {
            let (mut item, trust) = new(&trust::EVENT, "event".to_owned());
            item.show("event", "event", &e.event, |event| format!(" {event}"));
            _ = writeln!(item.own, " · {}", minute(&e.at));
            item.fence("actor", "by", Some(&e.actor));
            if e.data != Json::default() {
                item.text("data", e.data.as_str());
            }
            (item, trust)
        }
        other => {
            let (mut item, trust) = new(&trust::OTHER_ITEM, "item of a kind that is not known\n".to_owned());
            item.text("", &value(other).to_string());
            (item, trust)
        }
    }
}

fn message(item: &mut ItemText, m: &Message, scale: Scale) {
    item.fence("from.name", "name", m.from.name.as_deref()).fence(
        "from.email",
        "address",
        Some(&m.from.email),
    );
    let most = scale.apply(caps::FILES);
    for file in m.attachments.iter().take(most) {
        // Its type must stay in sight behind a long name.
        let name: String = file.filename.chars().take(scale.apply(caps::FILE)).collect();
        let file = format!("{name} ({}, {} bytes)", file.content_type, file.size);
        item.block.field("file", &file, caps::FILE + caps::SHORT);
    }
    if m.attachments.len() > most {
        item.block.field("and", &counted(m.attachments.len() - most, "more file"), caps::SHORT);
    }
    item.text("text", &m.text);
}
