//! Reading an event: one look at the envelope, one at the data, and nothing that has an id is turned away.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Event, EventKind, Misfit, RawEvent, UnknownEvent};
use crate::{EventId, Timestamp};

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(Reading)
    }
}

/// The fields of the envelope; any other is kept by its name.
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
    Other(String),
}

/// The envelope as it came, with the data still unread: its kind may come after it.
#[derive(Default)]
struct Came {
    id: Option<Value>,
    event_type: Option<Value>,
    version: Option<Value>,
    created_at: Option<Value>,
    workspace: Option<Value>,
    livemode: Option<Value>,
    data: Option<Box<RawValue>>,
    others: Map<String, Value>,
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the envelope of an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let mut came = Came::default();
        while let Some(field) = map.next_key()? {
            match field {
                Field::Id if came.id.is_some() => return Err(A::Error::duplicate_field("id")),
                Field::Id => came.id = Some(map.next_value()?),
                Field::Type => came.event_type = Some(map.next_value()?),
                Field::Version => came.version = Some(map.next_value()?),
                Field::CreatedAt => came.created_at = Some(map.next_value()?),
                Field::Workspace => came.workspace = Some(map.next_value()?),
                Field::Livemode => came.livemode = Some(map.next_value()?),
                Field::Data => came.data = Some(map.next_value()?),
                Field::Other(name) => _ = came.others.insert(name, map.next_value()?),
            }
        }
        came.event()
    }
}

impl Came {
    fn event<E: Error>(self) -> Result<Event, E> {
        let mut misfits = Vec::new();
        let id = match &self.id {
            None => return Err(E::missing_field("id")),
            Some(Value::String(id)) => EventId::parse(id.as_str()).unwrap_or_else(|_| {
                misfits.push(Misfit { field: "id".to_owned(), missing: false });
                EventId::as_it_came(id.clone())
            }),
            Some(_) => return Err(E::custom("the field `id` is not a text")),
        };
        let event_type = fit("type", &self.event_type, Value::as_str, &mut misfits);
        let version = fit("version", &self.version, Value::as_u64, &mut misfits);
        let created_at = fit("created_at", &self.created_at, instant, &mut misfits);
        let workspace = fit("workspace", &self.workspace, id_of, &mut misfits);
        let livemode = fit("livemode", &self.livemode, Value::as_bool, &mut misfits);
        let event_type = event_type.unwrap_or_default();
        let json = self.data.as_deref().map_or("null", RawValue::get);
        let known = match EventKind::read(event_type, version, json) {
            Some(Ok((kind, texts))) => {
                let summary = fit("data.summary", &texts.summary, text, &mut misfits);
                let url = texts.url.as_ref().filter(|url| !url.is_null());
                let url = url.and_then(|_| fit("data.url", &texts.url, text, &mut misfits));
                Some((kind, summary, url))
            }
            Some(Err(misfit)) => {
                misfits.push(if self.data.is_none() { Misfit { missing: true, ..misfit } } else { misfit });
                None
            }
            None => None,
        };
        if let Some((kind, Some(summary), url)) = known {
            if misfits.is_empty() {
                return Ok(Event {
                    id,
                    version,
                    created_at,
                    workspace,
                    livemode,
                    summary,
                    url,
                    kind,
                    raw: None,
                });
            }
            let raw = Some(self.raw(misfits)?);
            return Ok(Event { id, version, created_at, workspace, livemode, summary, url, kind, raw });
        }
        let event_type = event_type.to_owned();
        let raw = self.raw(misfits)?;
        let data = raw.json.get("data").cloned().unwrap_or_default();
        let (summary, url) = (data.get("summary").and_then(text), data.get("url").and_then(text));
        let (kind, summary, url) = match known {
            Some((kind, _, url)) => (kind, None, url),
            None => (EventKind::Unknown(UnknownEvent { event_type, data }), summary, url),
        };
        let summary = summary.unwrap_or_default();
        Ok(Event { id, version, created_at, workspace, livemode, summary, url, kind, raw: Some(raw) })
    }

    fn raw<E: Error>(self, misfits: Vec<Misfit>) -> Result<Box<RawEvent>, E> {
        let mut json = self.others;
        let data = self.data.map(|data| serde_json::from_str(data.get())).transpose().map_err(E::custom)?;
        for (name, value) in [
            ("id", self.id),
            ("type", self.event_type),
            ("version", self.version),
            ("created_at", self.created_at),
            ("workspace", self.workspace),
            ("livemode", self.livemode),
            ("data", data),
        ] {
            if let Some(value) = value {
                json.insert(name.to_owned(), value);
            }
        }
        Ok(Box::new(RawEvent { json, misfits }))
    }
}

/// What a field says, if it is as documented.
fn fit<'a, T>(
    field: &str,
    value: &'a Option<Value>,
    read: impl FnOnce(&'a Value) -> Option<T>,
    misfits: &mut Vec<Misfit>,
) -> Option<T> {
    let fits = value.as_ref().and_then(read);
    if fits.is_none() {
        misfits.push(Misfit { field: field.to_owned(), missing: value.is_none() });
    }
    fits
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| Timestamp::parse(text).ok())
}

fn id_of<'a, T: TryFrom<&'a str>>(value: &'a Value) -> Option<T> {
    value.as_str().and_then(|text| T::try_from(text).ok())
}

/// What every data has besides the fields of its kind.
#[derive(Default)]
pub(super) struct Texts {
    summary: Option<Value>,
    url: Option<Value>,
}

/// The data of one kind, and the texts that every data has.
pub(super) fn data<T: DeserializeOwned>(json: &str) -> Result<(T, Texts), Misfit> {
    let mut texts = Texts::default();
    let mut reader = serde_json::Deserializer::from_str(json);
    match reader.deserialize_map(Data { texts: &mut texts, kind: std::marker::PhantomData }) {
        Ok(data) => Ok((data, texts)),
        Err(_) => Err(misfit::<T>(json)),
    }
}

/// Which field it was.
fn misfit<T: DeserializeOwned>(json: &str) -> Misfit {
    let found = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(json));
    let Err(error) = found else { return Misfit { field: "data".to_owned(), missing: false } };
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
    Misfit { field, missing: missing.is_some() }
}

struct Data<'a, T> {
    texts: &'a mut Texts,
    kind: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Data<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event's data")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(Tapped { map, texts: self.texts }))
    }
}

/// Hands on all fields but the texts, which it keeps: both in one pass.
struct Tapped<'a, A> {
    map: A,
    texts: &'a mut Texts,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Tapped<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Name(name)) = self.map.next_key()? {
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

/// A field's name, borrowed where it can be.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
