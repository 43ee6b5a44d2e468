//! Compares JSON with a pattern.
//!
//! An object must have the fields of the pattern and may have others; a dot in a name leads into a field. A
//! list must have the same length. `*` in a text stands for any run of characters. Everything else must be
//! equal.

use serde_json::{Map, Value};

/// One place where JSON does not match the pattern.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// The field, such as `data.secure`; empty for the whole.
    pub(crate) field: String,
    pub(crate) wanted: Value,
    /// `None` when it is not there.
    pub(crate) was: Option<Value>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = if self.field.is_empty() { "it" } else { &self.field };
        match &self.was {
            Some(was) => write!(f, "{field}: wanted {}, was {}", short(&self.wanted), short(was)),
            None => write!(f, "{field}: wanted {}, is not there", short(&self.wanted)),
        }
    }
}

/// Returns JSON on one line, shortened if it is long.
pub(crate) fn short(value: &Value) -> String {
    const MAX_CHARS: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(crate) fn matches(wanted: &Value, is: &Value) -> bool {
    differences(wanted, is).is_empty()
}

/// Returns every place where `is` does not match.
pub(crate) fn differences(wanted: &Value, is: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), wanted, Some(is), &mut found);
    found
}

fn compare(field: String, wanted: &Value, is: Option<&Value>, found: &mut Vec<Difference>) {
    let same = match (wanted, is) {
        (Value::Object(wanted), Some(Value::Object(fields))) => {
            for (name, wanted) in wanted {
                let field = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                compare(field, wanted, look(fields, name), found);
            }
            true
        }
        (Value::Array(wanted), Some(Value::Array(items))) if wanted.len() == items.len() => {
            for (i, (wanted, item)) in wanted.iter().zip(items).enumerate() {
                compare(format!("{field}[{i}]"), wanted, Some(item), found);
            }
            true
        }
        (Value::String(pattern), Some(Value::String(text))) => text_matches(pattern, text),
        (Value::Number(wanted), Some(Value::Number(number))) => wanted.as_f64() == number.as_f64(),
        (Value::Null, None) => true,
        (wanted, is) => Some(wanted) == is,
    };
    if !same {
        found.push(Difference { field, wanted: wanted.clone(), was: is.cloned() });
    }
}

/// Returns a field; a dot in the name leads into it, as in [`Difference::field`].
fn look<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        look(fields.get(first)?.as_object()?, rest)
    })
}

/// Returns whether a text matches a pattern in which `*` stands for any run of characters.
pub(crate) fn text_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}
