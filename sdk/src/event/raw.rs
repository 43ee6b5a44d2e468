//! JSON as it came, and how its text is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// JSON exactly as it came: its bytes, with every space, number and escape.
///
/// ```
/// use serde_json::Value;
/// let event: shared_inbox::event::Event = serde_json::from_str(r#"{"id": "evt_1", "type": "moon.rose", "phase": "full \ud83d"}"#)?;
/// let raw = event.raw.expect("nobody knows this kind");
/// assert!(raw.json.as_str().ends_with(r#""full \ud83d"}"#));
/// let json: Value = raw.json.parse()?;
/// assert_eq!(json["phase"], "full \u{fffd}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Wraps text that is JSON.
    pub(super) fn new(json: &str) -> Result<Self, serde_json::Error> {
        RawValue::from_string(json.to_owned()).map(Self)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the JSON into a type of yours. Lone surrogates are read as U+FFFD.
    ///
    /// # Errors
    /// When the JSON is of another shape. [`serde_json::Value`] takes no more than 128 levels and no number beyond `f64`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&replace_lone_surrogates(self.as_str()))
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for RawJson {
    /// Shows how long it is, since it may hold what must not be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawJson").field("bytes", &self.as_str().len()).finish()
    }
}

/// Returns this JSON with `\ufffd` for every `\u` escape that is half of a surrogate pair without its other half.
///
/// Such an escape is grammatical JSON, and a sender that cuts a text between two UTF-16 units writes one; but no text in
/// Rust can hold it. The result is as long as `json`, so that positions stay the same.
///
/// ```
/// use shared_inbox::event::replace_lone_surrogates;
/// assert_eq!(replace_lone_surrogates(r#""cut \ud83d""#), r#""cut \ufffd""#);
/// assert_eq!(replace_lone_surrogates(r#""whole \ud83d\ude00""#), r#""whole \ud83d\ude00""#);
/// ```
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(json);
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        at += match (unit(json, at), unit(json, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.to_mut().replace_range(at..at + 6, "\\ufffd");
                6
            }
            // An escape of another kind is two bytes; the second may be a backslash too.
            _ => json[at + 1..].chars().next().map_or(1, |c| 1 + c.len_utf8()),
        };
    }
    out
}

/// Returns the UTF-16 unit whose `\u` escape stands here.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}
