//! JSON of an unknown shape, kept as text. A tree of values would take thirty times as much memory as the text.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::lone_surrogates::replace_lone_surrogates;

/// JSON of an unknown shape, as text: without spaces in a response, and byte for byte in an event.
///
/// ```
/// use shared_inbox::Json;
///
/// let data: Json = serde_json::from_str(r#"{"from": "open", "to": "closed"}"#)?;
/// assert_eq!(data.get("to"), Some("closed".into()));
/// assert_eq!(data.as_str(), r#"{"from":"open","to":"closed"}"#);
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
        let mut json = serde_json::Deserializer::from_str(&text);
        Field(field).deserialize(&mut json).ok().flatten()
    }

    /// Returns all of it as a type: a struct, or a [`Value`]. Escapes that are half of a surrogate pair are read as U+FFFD.
    ///
    /// # Errors
    ///
    /// When it does not have that shape. A [`Value`] takes no more than 128 levels and no number beyond `f64`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&replace_lone_surrogates(&self.0))
    }

    pub(crate) fn from_raw(json: &RawValue) -> Self {
        Self(json.get().into())
    }

    /// Returns the text for a serializer that writes it as it is.
    pub(crate) fn verbatim(&self) -> Result<&RawValue, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// Returns an object of which the name of the first field was read already.
    pub(crate) fn object_from<'de, A: MapAccess<'de>>(first: &str, mut map: A) -> Result<Self, A::Error> {
        let mut text = b"{".to_vec();
        write_field(&mut text, first, &mut map)?;
        write_fields(&mut text, map)?;
        Self::written(text)
    }

    /// Returns an object whose `type` was read already, as JSON.
    pub(crate) fn object_of_type<'de, A: MapAccess<'de>>(kind: &[u8], map: A) -> Result<Self, A::Error> {
        let mut text = [br#"{"type":"#, kind, b","].concat();
        write_fields(&mut text, map)?;
        Self::written(text)
    }

    fn written<E: serde::de::Error>(text: Vec<u8>) -> Result<Self, E> {
        String::from_utf8(text).map(|text| Self(text.into())).map_err(E::custom)
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
        let mut text = Vec::new();
        Written(&mut text).deserialize(d)?;
        Self::written(text)
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

/// Writes whatever comes as JSON.
pub(crate) struct Written<'a>(pub(crate) &'a mut Vec<u8>);

impl Written<'_> {
    fn json<E: serde::de::Error>(self, value: impl Serialize) -> Result<(), E> {
        serde_json::to_writer(self.0, &value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Written<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }
    fn visit_bool<E: serde::de::Error>(self, v: bool) -> Result<(), E> {
        self.json(v)
    }
    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<(), E> {
        self.json(v)
    }
    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<(), E> {
        self.json(v)
    }
    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<(), E> {
        self.json(Number::from_f64(v))
    }
    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<(), E> {
        self.json(v)
    }
    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.json(())
    }
    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.json(())
    }
    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        while seq.next_element_seed(Written(self.0))?.is_some() {
            self.0.push(b',');
        }
        close(self.0, b']');
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        write_fields(self.0, map)
    }
}

/// Writes the fields of an object and closes it.
fn write_fields<'de, A: MapAccess<'de>>(text: &mut Vec<u8>, mut map: A) -> Result<(), A::Error> {
    while let Some(name) = map.next_key::<String>()? {
        write_field(text, &name, &mut map)?;
    }
    close(text, b'}');
    Ok(())
}

/// Writes a field whose name was read, and a comma.
fn write_field<'de, A: MapAccess<'de>>(text: &mut Vec<u8>, name: &str, map: &mut A) -> Result<(), A::Error> {
    Written(text).json(name)?;
    text.push(b':');
    map.next_value_seed(Written(text))?;
    text.push(b',');
    Ok(())
}

/// Ends a list, without the comma after its last item.
fn close(text: &mut Vec<u8>, end: u8) {
    if text.last() == Some(&b',') {
        text.pop();
    }
    text.push(end);
}

/// One field of an object.
struct Field<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Option<Value>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Option<Value>, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
