//! JSON of an unknown shape, kept as text. A tree of values would take thirty times as much memory as the
//! text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::lone_surrogates::replace_lone_surrogates;

/// JSON of an unknown shape, as the text that came.
///
/// ```
/// use shared_inbox::Json;
///
/// let data: Json = serde_json::from_str(r#"{"from": "open", "to": "closed"}"#)?;
/// assert_eq!(data.get("to"), Some("closed".into()));
/// assert_eq!(data.as_str(), r#"{"from": "open", "to": "closed"}"#);
///
/// #[derive(serde::Deserialize)]
/// struct Moved {
///     to: String,
/// }
/// assert_eq!(data.parse::<Moved>()?.to, "closed");
/// assert_eq!(format!("{data:?}"), "Json(..)", "it may hold the words of a mail");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Eq)]
pub struct Json(Box<str>);

impl Json {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the field of an object, if it is one and has it.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<Value> {
        let text = replace_lone_surrogates(&self.0);
        let mut fields: HashMap<String, &RawValue> = serde_json::from_str(&text).ok()?;
        serde_json::from_str(fields.remove(field)?.get()).ok()
    }

    /// Returns all of it as a type: a struct, or a [`Value`]. Escapes that are half of a surrogate pair are
    /// read as U+FFFD.
    ///
    /// # Errors
    ///
    /// When it does not have that shape. A [`Value`] takes no more than 128 levels and no number beyond
    /// `f64`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&replace_lone_surrogates(&self.0))
    }

    /// Returns the object of these fields.
    pub(crate) fn object_of(fields: &[(Cow<'_, str>, Box<RawValue>)]) -> Self {
        let mut text = String::from("{");
        for (name, value) in fields {
            let comma = if text.len() > 1 { "," } else { "" };
            text.extend([comma, &Value::from(&**name).to_string(), ":", value.get()]);
        }
        Self((text + "}").into())
    }

    #[doc(hidden)]
    #[must_use]
    pub fn from_raw(json: &RawValue) -> Self {
        Self(json.get().into())
    }

    /// Returns the text for a serializer that writes it as it is.
    #[doc(hidden)]
    pub fn verbatim(&self) -> Result<&RawValue, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

/// For `deserialize_with`: an object and nothing else.
pub(crate) fn object<'de, D: Deserializer<'de>>(d: D) -> Result<Json, D::Error> {
    let json = Json::deserialize(d)?;
    if json.0.starts_with('{') { Ok(json) } else { Err(D::Error::custom("expected an object")) }
}

/// Returns the same for a field that may be missing.
pub(crate) fn optional_object<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Json>, D::Error> {
    let json = Option::<Json>::deserialize(d)?;
    if json.as_ref().is_none_or(|json| json.0.starts_with('{')) {
        Ok(json)
    } else {
        Err(D::Error::custom("expected an object"))
    }
}

/// For `flatten`: the fields that no other field has.
pub(crate) fn rest<'de, D: Deserializer<'de>>(d: D) -> Result<Json, D::Error> {
    Map::deserialize(d).map(Json::from)
}

impl Default for Json {
    /// An object without fields.
    fn default() -> Self {
        Self("{}".into())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Map<String, Value>> for Json {
    fn from(fields: Map<String, Value>) -> Self {
        Value::Object(fields).into()
    }
}

/// Equal as JSON: the order of fields does not count.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        let value = |json: &Self| json.parse::<Value>().ok();
        self.0 == other.0 || value(self).is_some_and(|own| value(other).is_some_and(|other| own == other))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Json(..)")
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.parse::<Value>().map_err(serde::ser::Error::custom)?.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(d).map(|json| Self(json.into()))
    }
}

#[cfg(feature = "__schemas")]
impl schemars::JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}
