//! The id and the method of a line that is no message, because the error response to a malformed request must
//! carry its id.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// What can be told of a line that should hold a JSON object. The rest of it is skipped and not parsed, so
/// that broken characters, deep nesting and huge numbers in it do not matter.
#[derive(Default, Deserialize)]
pub(super) struct Outline<'a> {
    #[serde(borrow, default, deserialize_with = "also_null")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<IgnoredAny>,
}

impl<'a> Outline<'a> {
    pub(super) fn read(line: &'a [u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// Returns whether the line is a request, which gets a response.
    pub(super) fn is_request(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }

    /// Returns the id as JSON, exactly as it came if it is one; `null` if it is none.
    pub(super) fn id(&self) -> &'a str {
        let is_id = |id: &&str| match id.as_bytes() {
            [b'"', ..] => serde_json::from_str::<String>(id).is_ok(),
            [first, ..] => first.is_ascii_digit() || *first == b'-',
            [] => false,
        };
        self.id.map(RawValue::get).filter(is_id).unwrap_or("null")
    }
}

/// Tells an id that is `null` from none.
fn also_null<'de: 'a, 'a, D: Deserializer<'de>>(id: D) -> Result<Option<&'a RawValue>, D::Error> {
    Deserialize::deserialize(id).map(Some)
}
