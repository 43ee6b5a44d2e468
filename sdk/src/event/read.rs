//! Reading an event: one look at the envelope, one at the data, and nothing that has an id is turned away.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Event, EventKind, MalformedField, RawEvent, UnknownEvent};
use crate::lone_surrogates::replace_lone_surrogates;
use crate::text::Text;
use crate::{EventId, Json, Timestamp, WorkspaceId};

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let json = Json::from_raw(&Box::<RawValue>::deserialize(d)?);
        let text = replace_lone_surrogates(json.as_str());
        let mut reader = serde_json::Deserializer::from_str(&text);
        // An error of `serde_json` made from one of its own keeps the line and the column.
        let envelope = reader.deserialize_map(ReadEnvelope).map_err(D::Error::custom)?;
        envelope.event(&text, &json).map_err(D::Error::custom)
    }
}

/// The fields of the envelope.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Id,
    Type,
    Version,
    CreatedAt,
    Workspace,
    Livemode,
    Data,
    #[serde(other)]
    Other,
}

/// The envelope with its fields unread: a kind may come after its data, and nothing in them is a reason to fail.
#[derive(Default)]
struct Fields<'a> {
    id: Cow<'a, str>,
    event_type: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    created_at: Option<&'a RawValue>,
    workspace: Option<&'a RawValue>,
    livemode: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
}

struct ReadEnvelope;

impl<'de> Visitor<'de> for ReadEnvelope {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the envelope of an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        let mut id = None;
        while let Some(field) = map.next_key()? {
            match field {
                Field::Id if id.is_some() => return Err(A::Error::duplicate_field("id")),
                Field::Id => id = Some(map.next_value::<Text<'de>>()?.0),
                Field::Type => fields.event_type = Some(map.next_value()?),
                Field::Version => fields.version = Some(map.next_value()?),
                Field::CreatedAt => fields.created_at = Some(map.next_value()?),
                Field::Workspace => fields.workspace = Some(map.next_value()?),
                Field::Livemode => fields.livemode = Some(map.next_value()?),
                Field::Data => fields.data = Some(map.next_value()?),
                Field::Other => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        fields.id = id.ok_or_else(|| A::Error::missing_field("id"))?;
        Ok(fields)
    }
}

impl Fields<'_> {
    /// The event that was read from `text`, which is `json` but for its lone surrogates.
    fn event(self, text: &str, json: &Json) -> Result<Event, serde_json::Error> {
        let mut malformed_fields = Vec::new();
        let id = EventId::parse(&*self.id).unwrap_or_else(|_| {
            malformed_fields.push(MalformedField { field: "id".to_owned(), missing: false });
            EventId::as_it_came(self.id.into_owned())
        });
        let event_type = fit("type", self.event_type, |Text(name)| Some(name), &mut malformed_fields);
        let version = fit("version", self.version, Some, &mut malformed_fields);
        let created_at = fit("created_at", self.created_at, instant, &mut malformed_fields);
        let workspace =
            fit("workspace", self.workspace, |Text(id)| WorkspaceId::parse(id).ok(), &mut malformed_fields);
        let livemode = fit("livemode", self.livemode, Some, &mut malformed_fields);
        let event_type = event_type.unwrap_or_default();
        let (kind, texts) =
            match EventKind::read(&event_type, version, self.data.map_or("null", RawValue::get)) {
                Some(Ok(known)) => known,
                unknown => {
                    if let Some(Err(malformed)) = unknown {
                        let missing = malformed.missing || self.data.is_none();
                        malformed_fields.push(MalformedField { missing, ..malformed });
                    }
                    let data = self.data.map_or("null", |data| {
                        let start = data.get().as_ptr().addr() - text.as_ptr().addr();
                        &json.as_str()[start..start + data.get().len()]
                    });
                    let unknown = UnknownEvent {
                        event_type: event_type.into_owned(),
                        data: Json::from_raw(serde_json::from_str::<&RawValue>(data)?),
                    };
                    (EventKind::Unknown(unknown), self.data.map(Texts::of_unknown).unwrap_or_default())
                }
            };
        let known = !matches!(kind, EventKind::Unknown(_));
        let (summary, url) = if known {
            let url = texts.url.filter(|url| url.get() != "null");
            let summary = fit("data.summary", texts.summary, Some, &mut malformed_fields);
            (summary, url.and_then(|url| fit("data.url", Some(url), Some, &mut malformed_fields)))
        } else {
            // Whether it must have them is not known.
            (texts.summary.and_then(read_text), texts.url.and_then(read_text))
        };
        let summary = summary.unwrap_or_default();
        let whole = known && malformed_fields.is_empty() && text == json.as_str();
        let raw = (!whole).then(|| Box::new(RawEvent { json: json.clone(), malformed_fields }));
        Ok(Event { id, version, created_at, workspace, livemode, summary, url, kind, raw })
    }
}

/// Returns what a field says, if it is as documented.
fn fit<'a, T: Deserialize<'a>, R>(
    field: &str,
    value: Option<&'a RawValue>,
    read: impl FnOnce(T) -> Option<R>,
    malformed_fields: &mut Vec<MalformedField>,
) -> Option<R> {
    let fits = value.and_then(|value| serde_json::from_str(value.get()).ok()).and_then(read);
    if fits.is_none() {
        malformed_fields.push(MalformedField { field: field.to_owned(), missing: value.is_none() });
    }
    fits
}

fn read_text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn instant(Text(text): Text<'_>) -> Option<Timestamp> {
    Timestamp::parse(&text).ok()
}

/// The fields that the data of every kind has.
#[derive(Default, Deserialize)]
pub(super) struct Texts<'a> {
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
}

impl<'a> Texts<'a> {
    /// Returns the texts of data of which nothing is known.
    fn of_unknown(data: &'a RawValue) -> Self {
        serde_json::from_str(data.get()).unwrap_or_default()
    }
}

/// Returns the data of one kind, and the texts that every data has.
pub(super) fn data<T: DeserializeOwned>(json: &str) -> Result<(T, Texts<'_>), MalformedField> {
    let mut texts = Texts::default();
    let mut reader = serde_json::Deserializer::from_str(json);
    match reader.deserialize_map(Data { texts: &mut texts, kind: std::marker::PhantomData }) {
        Ok(data) => Ok((data, texts)),
        Err(_) => Err(malformed::<T>(json)),
    }
}

/// Returns which field it was.
fn malformed<T: DeserializeOwned>(json: &str) -> MalformedField {
    let found = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(json));
    let Err(error) = found else { return MalformedField { field: "data".to_owned(), missing: false } };
    let mut field = "data".to_owned();
    let path = error.path().to_string();
    if path != "." {
        field.extend([".", &path]);
    }
    // The name of a field of ours; nothing else that the message says may be repeated.
    let message = error.inner().to_string();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    if let Some(name) = missing {
        field.extend([".", name]);
    }
    MalformedField { field, missing: missing.is_some() }
}

struct Data<'a, 'de, T> {
    texts: &'a mut Texts<'de>,
    kind: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Data<'_, 'de, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event's data")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(Tapped { map, texts: self.texts }))
    }
}

/// Hands on all fields but the texts, which it keeps: both in one pass.
struct Tapped<'a, 'de, A> {
    map: A,
    texts: &'a mut Texts<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Tapped<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(name)) = self.map.next_key()? {
            match &*name {
                "summary" => self.texts.summary = Some(self.map.next_value()?),
                "url" => self.texts.url = Some(self.map.next_value()?),
                name => return seed.deserialize(name.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
