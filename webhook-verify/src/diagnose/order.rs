//! Undoing a change of the order in which an object's fields stand, as parsers make that keep them sorted.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of the envelope as they are documented.
const ENVELOPE: &[&str] = &["id", "type", "version", "created_at", "workspace", "livemode", "data"];
/// Who did something.
const ACTOR: &[&str] = &["type", "id", "name"];
/// The fields of every kind, of which each has some, as they are documented.
const KINDS: &[&str] = &[
    "ask_id",
    "kind",
    "booking_id",
    "booking_type_id",
    "host_user_id",
    "conversation_id",
    "message_id",
    "mailbox_id",
    "turn",
    "previous",
    "assignee",
    "assigned_by",
    "drafted_by",
    "approved_by",
    "edited",
    "author",
    "secure",
    "reference",
    "starts_at",
    "ends_at",
    "endpoint_id",
];

/// An object's fields in the order in which they stand, their values as they are written.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        d.deserialize_map(Read)
    }
}

impl Fields {
    /// Writes them in another order; what it does not name comes last, as it stands.
    fn written(mut self, order: &[&str], value: impl Fn(&str, &RawValue) -> String) -> String {
        self.0.sort_by_key(|(name, _)| order.iter().position(|known| known == name).unwrap_or(order.len()));
        let fields = self.0.iter().map(|(name, json)| {
            let name_as_json = serde_json::Value::from(name.as_str());
            format!("{name_as_json}:{}", value(name, json))
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

/// Returns the same event with its fields in the orders in which a sender may have written them.
pub(super) fn likely_orders(json: &str) -> Vec<String> {
    let texts: [(&[&str], &[&str]); 3] =
        [(&["summary", "url"], &[]), (&[], &["summary", "url"]), (&["summary"], &["url"])];
    let documented = texts.map(|(first, last)| [first, KINDS, last].concat());
    // And as it stands, for a sender that sorts the data alone.
    let orders = documented.iter().map(Vec::as_slice).chain([&[][..]]);
    let envelope = || serde_json::from_str::<Fields>(json).ok();
    orders
        .filter_map(|order| {
            Some(envelope()?.written(ENVELOPE, |name, value| {
                let data =
                    (name == "data").then(|| serde_json::from_str::<Fields>(value.get()).ok()).flatten();
                data.map_or_else(|| value.get().to_owned(), |data| data.written(order, actor))
            }))
        })
        .collect()
}

fn actor(_: &str, value: &RawValue) -> String {
    let fields = serde_json::from_str::<Fields>(value.get());
    fields.map_or_else(
        |_| value.get().to_owned(),
        |fields| fields.written(ACTOR, |_, value| value.get().to_owned()),
    )
}

/// Returns whether the fields stand in alphabetical order, which those of an event do not.
pub(super) fn is_sorted(json: &[u8]) -> bool {
    let fields = serde_json::from_slice::<Fields>(json);
    fields.is_ok_and(|Fields(fields)| {
        let documented = fields.iter().filter(|(name, _)| ENVELOPE.contains(&name.as_str())).count();
        documented > 1 && fields.is_sorted_by(|(one, _), (next, _)| one < next)
    })
}
