//! The types of fields, as the document names them.

use serde_json::Value;

/// What a field may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Bool,
    Integer,
    Number,
    /// ISO 8601 in UTC.
    Time,
    /// A string that starts with this, and goes on.
    Id(&'static str),
    OneOf(&'static [&'static str]),
    Object,
    List(&'static Type),
    /// This or null.
    Nullable(&'static Type),
}

/// A field of an object: its path (dots lead inwards), its type, and whether it may be missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) path: &'static str,
    pub(super) kind: Type,
    pub(super) optional: bool,
}

pub(super) const fn field(path: &'static str, kind: Type) -> Field {
    Field { path, kind, optional: false }
}

pub(super) const fn optional(path: &'static str, kind: Type) -> Field {
    Field { path, kind, optional: true }
}

impl Type {
    pub(super) fn fits(&self, value: &Value) -> bool {
        match self {
            Type::Text => value.is_string(),
            Type::Bool => value.is_boolean(),
            Type::Integer => value.is_u64() || value.is_i64(),
            Type::Number => value.is_number(),
            Type::Time => value.as_str().is_some_and(|text| time(text).is_some()),
            Type::Id(prefix) => value.as_str().is_some_and(|text| is_id(text, prefix)),
            Type::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Type::Object => value.is_object(),
            Type::List(item) => value.as_array().is_some_and(|items| items.iter().all(|it| item.fits(it))),
            Type::Nullable(other) => value.is_null() || other.fits(value),
        }
    }

    pub(super) fn described(&self) -> String {
        match self {
            Type::Text => "a string".into(),
            Type::Bool => "a boolean".into(),
            Type::Integer => "an integer".into(),
            Type::Number => "a number".into(),
            Type::Time => "an ISO 8601 time in UTC".into(),
            Type::Id(prefix) => format!("an id that starts with `{prefix}`"),
            Type::OneOf(words) => format!("one of {}", words.join(", ")),
            Type::Object => "an object".into(),
            Type::List(item) => format!("an array, each entry {}", item.described()),
            Type::Nullable(other) => format!("{} or null", other.described()),
        }
    }
}

fn is_id(text: &str, prefix: &str) -> bool {
    let rest = text.strip_prefix(prefix);
    let lower = prefix == "cnv_";
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && rest.chars().all(|c| match lower {
                // The one kind of id whose whole form the document gives.
                true => c.is_ascii_digit() || c.is_ascii_lowercase(),
                false => c.is_ascii_graphic(),
            })
    })
}

/// Returns a time in UTC, in seconds since 1970.
pub(super) fn time(text: &str) -> Option<f64> {
    if !text.contains('T') || !(text.ends_with('Z') || text.ends_with("+00:00")) {
        return None;
    }
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_millisecond() as f64 / 1000.0)
}

/// Returns the value at a path of field names with dots between them; `None` when a part is missing.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}
