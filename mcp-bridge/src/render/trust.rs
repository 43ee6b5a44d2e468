//! Who may write each field of every result: one table, which the text and the structured form both read.
//!
//! What a customer can influence stands inside the fence of the text and is marked in the structured form,
//! which some clients show a model instead of the text. That includes whatever reads a customer's words to
//! fill a field (a topic, the fields of a document), and whatever the service names after them (the actor of
//! an upload). Every string is cleaned and has a cap. A field that the table does not name may be anyone's.

use serde_json::{Map, Value};
use shared_inbox::{Date, Timestamp};

use super::{
    budget::Scale,
    caps,
    clean::{SanitizeReport, clean},
    fence::{marked, own},
};

/// Who may write a field, and how much of it is shown.
pub(super) enum FieldTrust {
    /// The service: ids, times, states.
    Service,
    /// The team: names that its members chose.
    Team,
    /// A customer, so many characters.
    Customer(usize),
    /// A customer, but a text of this form is harmless.
    Form(fn(&str) -> bool, usize),
    /// It is not known, and its shape is not either.
    Unknown,
    /// A list of so many.
    Each(&'static FieldTrust, usize),
    /// The fields of an object. Those that are not named are unknown.
    Fields(&'static [(&'static str, FieldTrust)]),
}

use FieldTrust::{Customer, Each, Fields, Form, Service, Team, Unknown};

const PERSON: FieldTrust = Fields(&[("name", Customer(caps::NAME)), ("email", Customer(caps::ADDRESS))]);
const MEMBER: FieldTrust = Fields(&[("id", Service), ("name", Team), ("type", Service)]);

/// A conversation, in a list or read.
pub(super) const CONVERSATION: FieldTrust = Fields(&[
    ("id", Service),
    ("subject", Customer(caps::SUBJECT)),
    ("snippet", Customer(caps::SNIPPET)),
    ("status", Service),
    ("contact", PERSON),
    ("mailbox", Team),
    ("lastMessageAt", Service),
    ("messageCount", Service),
    ("assignee", MEMBER),
    ("tags", Each(&Team, caps::TAGS)),
    // The sorting helper reads what the customer wrote.
    ("topic", Customer(caps::SHORT)),
    ("urgency", Form(is_state, caps::SHORT)),
    ("risk", Form(is_label, caps::SHORT)),
    ("riskReasons", Each(&Customer(caps::SUBJECT), caps::REASONS)),
    ("snoozedUntil", Service),
    // Whoever writes to an inbox chooses the tag behind the plus.
    ("reference", Customer(caps::SHORT)),
    ("appSent", Unknown),
    ("team", Fields(&[("people", Each(&MEMBER, caps::TEAM)), ("agents", Each(&MEMBER, caps::TEAM))])),
]);

pub(super) const MESSAGE: FieldTrust = Fields(&[
    ("type", Service),
    ("id", Service),
    ("at", Service),
    ("direction", Service),
    ("from", PERSON),
    ("status", Service),
    ("text", Customer(caps::WORDS)),
    (
        "attachments",
        Each(
            &Fields(&[
                ("filename", Customer(caps::FILE)),
                ("contentType", Customer(caps::SHORT)),
                ("size", Service),
            ]),
            caps::FILES,
        ),
    ),
]);

/// Notes are the team's own, but people and agents paste emails into them.
pub(super) const NOTE: FieldTrust = Fields(&[
    ("type", Service),
    ("id", Service),
    ("at", Service),
    ("author", Team),
    ("body", Customer(caps::WORDS)),
]);

/// The actor of an upload or a booking is the customer, by a name of their choice.
pub(super) const EVENT: FieldTrust = Fields(&[
    ("type", Service),
    ("at", Service),
    ("actor", Customer(caps::NAME)),
    ("event", Form(is_label, caps::SHORT)),
    ("data", Fields(&[("assignee", MEMBER)])),
]);

/// A timeline item of a kind that the bridge does not know.
pub(super) const OTHER_ITEM: FieldTrust = Fields(&[("type", Form(is_label, caps::SHORT)), ("at", Service)]);

/// The reading helper fills most of it from what the customer sent.
pub(super) const DOCUMENT: FieldTrust = Fields(&[
    ("id", Service),
    ("title", Customer(caps::SUBJECT)),
    ("filename", Customer(caps::FILE)),
    ("kind", Form(is_state, caps::SHORT)),
    (
        "fields",
        Fields(&[
            ("vendor", Customer(caps::NAME)),
            ("amount", Service),
            ("currency", Form(is_currency, caps::SHORT)),
            ("date", Form(is_date, caps::SHORT)),
            ("dueDate", Form(is_date, caps::SHORT)),
            ("reference", Customer(caps::SHORT)),
        ]),
    ),
    ("conversationId", Service),
    ("createdAt", Service),
]);

/// An inbox or a tag.
pub(super) const OF_TEAM: FieldTrust =
    Fields(&[("id", Service), ("name", Team), ("address", Team), ("open", Service), ("count", Service)]);

/// The response to a change.
pub(super) const CHANGE: FieldTrust = Fields(&[
    ("messageId", Service),
    ("status", Service),
    ("sendsAt", Service),
    ("requestId", Service),
    ("note", Service),
    ("tags", Each(&Team, caps::MEMBERS)),
    ("added", Each(&Team, caps::MEMBERS)),
    ("removed", Each(&Team, caps::MEMBERS)),
    ("assignee", MEMBER),
]);

impl FieldTrust {
    /// Returns the entry of a field, such as `contact.name`.
    fn at(&self, path: &str) -> &Self {
        path.split('.').fold(self, |table, name| match table {
            Fields(named) => named.iter().find(|(one, _)| *one == name).map_or(&Unknown, |(_, trust)| trust),
            _ => &Unknown,
        })
    }

    /// Returns how many characters of the text of a field are shown inside the fence; `None` if it may stand
    /// outside.
    pub(super) fn fenced(&self, path: &str, text: &str) -> Option<usize> {
        match self.at(path) {
            Service | Team => None,
            Form(fits, _) if is_harmless(*fits, text) => None,
            _ => Some(self.cap(path)),
        }
    }

    /// Returns how many characters of a field are shown.
    pub(super) fn cap(&self, path: &str) -> usize {
        match self.at(path) {
            Customer(most) | Form(_, most) => *most,
            Each(Customer(most), _) => *most,
            _ => caps::DATA,
        }
    }

    /// Returns the value as a model may see it: with the words, cleaned and marked, or only its ids, states,
    /// times and numbers.
    pub(super) fn shown(&self, value: Value, scale: Scale, with_words: bool) -> Value {
        self.part(value, scale, with_words).unwrap_or_default()
    }

    /// Returns a part of the value; `None` if only words are in it, and they are not wanted.
    fn part(&self, value: Value, scale: Scale, with_words: bool) -> Option<Value> {
        Some(match (self, value) {
            (Customer(_) | Unknown, _) | (_, Value::Null) if !with_words => return None,
            (_, plain @ (Value::Null | Value::Bool(_) | Value::Number(_))) => plain,
            (Form(fits, _), Value::String(text)) if is_harmless(*fits, &text) => text.into(),
            (Customer(most) | Form(_, most), Value::String(text)) if with_words => {
                marked(&text, scale.apply(*most)).into()
            }
            (Service | Team, Value::String(text)) if with_words => own(&text).into(),
            (Service | Team, Value::String(text)) if is_word(&text) => text.into(),
            (Each(of, most), Value::Array(items)) => {
                let items = items.into_iter().take(scale.apply(*most));
                items.filter_map(|item| of.part(item, scale, with_words)).collect()
            }
            (Fields(_), Value::Object(fields)) => {
                let field = |(name, value): (String, Value)| {
                    let value = self.at(&name).part(value, scale, with_words)?;
                    Some((key(name), value))
                };
                let fields: Map<_, _> = fields.into_iter().take(caps::FIELDS).filter_map(field).collect();
                (with_words || !fields.is_empty()).then(|| fields.into())?
            }
            (_, value) if with_words => anything(value, scale, caps::DEPTH),
            _ => return None,
        })
    }
}

/// Returns JSON of any shape as a model may see it: all text may be a customer's.
fn anything(value: Value, scale: Scale, depth: usize) -> Value {
    let most = scale.apply(caps::MEMBERS);
    match value {
        Value::String(text) if is_state(&text) || Timestamp::parse(&text).is_ok() => text.into(),
        Value::String(text) => marked(&text, scale.apply(caps::SNIPPET)).into(),
        Value::Array(_) | Value::Object(_) if depth == 0 => "…".into(),
        Value::Array(items) => {
            items.into_iter().take(most).map(|item| anything(item, scale, depth - 1)).collect()
        }
        Value::Object(fields) => {
            let field = |(name, value)| (key(name), anything(value, scale, depth - 1));
            Value::Object(fields.into_iter().take(most).map(field).collect::<Map<_, _>>())
        }
        plain => plain,
    }
}

/// Returns the name of a field, marked if it is more than a name.
fn key(name: String) -> String {
    if is_word(&name) { name } else { marked(&name, caps::KEY) }
}

/// Returns whether a text is an id, a time, a state or the name of a field.
fn is_word(text: &str) -> bool {
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    text.len() <= caps::KEY && text.bytes().all(part) && is_clean(text)
}

fn is_harmless(fits: fn(&str) -> bool, text: &str) -> bool {
    fits(text) && is_clean(text)
}

fn is_clean(text: &str) -> bool {
    clean(text, &mut SanitizeReport::default()) == text
}

/// Returns whether a text is one of the service's words for a state, an urgency or a kind.
fn is_state(text: &str) -> bool {
    const STATES: &str = "open waiting closed snoozed low normal high inbound outbound draft scheduled sending sent failed user \
        agent ours theirs done invoice receipt statement contract id tax photo other";
    !text.is_empty() && STATES.split_ascii_whitespace().any(|state| state == text)
}

/// Returns whether a text is a short label as the service gives it: an event's name, a kind of risk.
pub(super) fn is_label(text: &str) -> bool {
    const MAX_LABEL_CHARS: usize = 24;
    (1..=MAX_LABEL_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_date(text: &str) -> bool {
    text.parse::<Date>().is_ok()
}

fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase())
}
