//! The structured form of a result: the same items as JSON, safe to hand to a model.
//!
//! Some clients show a model nothing else, so what holds for the text holds here: every string is cleaned and has a cap,
//! and what strangers wrote is marked. Ids, times and states come through unchanged, since there is nothing in them to
//! clean. The tables below say who writes which field; a field that they do not name is the service's own.

use serde_json::{Map, Value};
use shared_inbox::{Date, Reference};

use super::{
    budget::Scale,
    caps,
    clean::{SanitizeReport, clean, clean_and_cut},
    fence::{marked, own},
};

/// Who writes a field, and how much of it is shown.
pub(super) enum Writes {
    /// A stranger, so many characters.
    Stranger(usize),
    /// A stranger, but a text of this form is harmless.
    Form(fn(&str) -> bool, usize),
    /// Whatever the service puts there.
    Anything,
    /// A list of so many.
    Each(&'static Writes, usize),
    /// The team or the service, in fields of an object; these are the others.
    Fields(&'static [(&'static str, Writes)]),
}

use Writes::{Anything, Each, Fields, Form, Stranger};

const TEAM: Writes = Fields(&[]);
const PERSON: Writes = Fields(&[("name", Stranger(caps::NAME)), ("email", Stranger(caps::ADDRESS))]);

pub(super) const CONVERSATION: Writes = Fields(&[
    ("subject", Stranger(caps::SUBJECT)),
    ("snippet", Stranger(caps::SNIPPET)),
    ("contact", PERSON),
    ("assignee", TEAM),
    ("topic", Stranger(caps::SHORT)),
    ("reference", Form(is_reference, caps::SHORT)),
    ("tags", Each(&TEAM, caps::TAGS)),
    ("riskReasons", Each(&Stranger(caps::SUBJECT), caps::REASONS)),
    ("appSent", Anything),
    ("team", Fields(&[("people", Each(&TEAM, caps::TEAM)), ("agents", Each(&TEAM, caps::TEAM))])),
]);

pub(super) const MESSAGE: Writes = Fields(&[
    ("from", PERSON),
    ("text", Stranger(caps::WORDS)),
    (
        "attachments",
        Each(
            &Fields(&[
                ("filename", Stranger(caps::FILE)),
                ("contentType", Form(is_content_type, caps::SHORT)),
            ]),
            caps::FILES,
        ),
    ),
]);

pub(super) const NOTE: Writes = Fields(&[("body", Stranger(caps::WORDS))]);
pub(super) const EVENT: Writes = Fields(&[("data", Anything)]);
pub(super) const UNKNOWN: Writes = Anything;

pub(super) const DOCUMENT: Writes = Fields(&[
    ("title", Stranger(caps::SUBJECT)),
    ("filename", Stranger(caps::FILE)),
    (
        "fields",
        Fields(&[
            ("vendor", Stranger(caps::NAME)),
            ("currency", Form(is_currency, caps::SHORT)),
            ("date", Form(is_date, caps::SHORT)),
            ("dueDate", Form(is_date, caps::SHORT)),
            ("reference", Stranger(caps::SHORT)),
        ]),
    ),
]);

/// For inboxes and tags.
pub(super) const SERVICE: Writes = TEAM;

/// For answers to a change.
pub(super) const ANSWER: Writes = Fields(&[
    ("tags", Each(&TEAM, caps::MEMBERS)),
    ("added", Each(&TEAM, caps::MEMBERS)),
    ("removed", Each(&TEAM, caps::MEMBERS)),
    ("assignee", TEAM),
]);

impl Writes {
    /// Returns the value as a model may see it.
    pub(super) fn safe(&self, value: Value, scale: Scale) -> Value {
        match (self, value) {
            (Stranger(most), Value::String(text)) => marked(&text, scale.apply(*most)).into(),
            (Form(fits, _), Value::String(text)) if fits(&text) && is_clean(&text) => text.into(),
            (Form(_, most), Value::String(text)) => marked(&text, scale.apply(*most)).into(),
            (Each(of, most), Value::Array(items)) => {
                items.into_iter().take(scale.apply(*most)).map(|item| of.safe(item, scale)).collect()
            }
            (Fields(named), Value::Object(fields)) => {
                let field = |(name, value): (String, Value)| match named.iter().find(|(one, _)| *one == name)
                {
                    Some((_, writes)) => (name, writes.safe(value, scale)),
                    None if value.is_string() => (key(name), TEAM.safe(value, scale)),
                    None => (key(name), anything(value, scale, caps::DEPTH)),
                };
                Value::Object(fields.into_iter().take(caps::FIELDS).map(field).collect())
            }
            (Fields(_), Value::String(text)) => own(&text).into(),
            (_, plain @ (Value::Null | Value::Bool(_) | Value::Number(_))) => plain,
            (_, value) => anything(value, scale, caps::DEPTH),
        }
    }
}

impl Writes {
    /// Returns the ids, states, times and numbers of the value; `None` if it is only text.
    pub(super) fn slim(&self, value: Value, scale: Scale) -> Option<Value> {
        match (self, value) {
            (_, Value::Null) | (Stranger(_) | Anything, _) => None,
            (Form(fits, _), Value::String(text)) => (fits(&text) && is_clean(&text)).then(|| text.into()),
            (Each(of, most), Value::Array(items)) => Some(
                items.into_iter().take(scale.apply(*most)).filter_map(|item| of.slim(item, scale)).collect(),
            ),
            (Fields(named), Value::Object(fields)) => {
                let field = |(name, value): (String, Value)| {
                    let value = match named.iter().find(|(one, _)| *one == name) {
                        Some((_, writes)) => writes.slim(value, scale),
                        None => TEAM.slim(value, scale),
                    };
                    Some((key(name), value?))
                };
                let fields: Map<_, _> = fields.into_iter().take(caps::FIELDS).filter_map(field).collect();
                (!fields.is_empty()).then(|| fields.into())
            }
            (Fields(_), Value::String(text)) => is_word(&text).then(|| text.into()),
            (_, plain @ (Value::Bool(_) | Value::Number(_))) => Some(plain),
            _ => None,
        }
    }
}

/// Returns JSON of any form as a model may see it. Identifiers are kept; all other text may be a stranger's.
fn anything(value: Value, scale: Scale, depth: usize) -> Value {
    let most = scale.apply(caps::MEMBERS);
    match value {
        Value::String(text) if is_word(&text) => text.into(),
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

fn key(name: String) -> String {
    if is_word(&name) { name } else { clean_and_cut(&name, caps::KEY, &mut SanitizeReport::default()) }
}

/// Returns whether a text is an id, a time, a state or the name of a field.
fn is_word(text: &str) -> bool {
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    text.len() <= caps::KEY && text.bytes().all(part) && is_clean(text)
}

fn is_clean(text: &str) -> bool {
    clean(text, &mut SanitizeReport::default()) == text
}

fn is_reference(text: &str) -> bool {
    Reference::parse(text).is_ok()
}

fn is_date(text: &str) -> bool {
    text.parse::<Date>().is_ok()
}

fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase())
}

fn is_content_type(text: &str) -> bool {
    let part = |part: &str| {
        (1..=caps::KEY).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-'))
    };
    text.split_once('/').is_some_and(|(kind, form)| part(kind) && part(form))
}
