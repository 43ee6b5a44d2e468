//! Reading an event: one look at the envelope, one at the data, and nothing that has an id is turned away.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use shared_inbox::__spec::{Text, replace_lone_surrogates};
use shared_inbox::{EventId, Json, Nullable, Timestamp, WorkspaceId};

use super::{Event, EventKind, MalformedField, RawEvent, UnknownEvent};

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(d)?;
        let text = replace_lone_surrogates(json.get());
        // An error of `serde_json` made from one of its own keeps the line and the column.
        let envelope: Fields<'_> = serde_json::from_str(&text).map_err(D::Error::custom)?;
        envelope.event(&text, &json).map_err(D::Error::custom)
    }
}

/// The envelope with its fields unread: a kind may come after its data, and nothing in them is a reason to
/// fail.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, default, rename = "type")]
    event_type: Nullable<&'a RawValue>,
    #[serde(borrow, default)]
    version: Nullable<&'a RawValue>,
    #[serde(borrow, default)]
    created_at: Nullable<&'a RawValue>,
    #[serde(borrow, default)]
    workspace: Nullable<&'a RawValue>,
    #[serde(borrow, default)]
    livemode: Nullable<&'a RawValue>,
    #[serde(borrow, default)]
    data: Nullable<&'a RawValue>,
}

impl Fields<'_> {
    /// The event that was read from `text`, which is `json` but for its lone surrogates.
    fn event(self, text: &str, json: &RawValue) -> Result<Event, serde_json::Error> {
        let mut malformed_fields = Vec::new();
        let id = EventId::parse(&*self.id.0).unwrap_or_else(|_| {
            malformed_fields.push(MalformedField { field: "id".to_owned(), missing: false });
            EventId::as_it_came(self.id.0.into_owned())
        });
        let event_type = fit("type", self.event_type, |Text(name)| Some(name), &mut malformed_fields);
        let version = fit("version", self.version, Some, &mut malformed_fields);
        let created_at = fit("created_at", self.created_at, instant, &mut malformed_fields);
        let workspace =
            fit("workspace", self.workspace, |Text(id)| WorkspaceId::parse(id).ok(), &mut malformed_fields);
        let livemode = fit("livemode", self.livemode, Some, &mut malformed_fields);
        let event_type = event_type.unwrap_or_default();
        let data = self.data.get().copied();
        let texts: Texts<'_> =
            data.and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
        let kind = match EventKind::read(&event_type, version, data.map_or("null", RawValue::get)) {
            Some(Ok(known)) => known,
            unknown => {
                if let Some(Err(malformed)) = unknown {
                    let missing = malformed.missing || self.data.is_missing();
                    malformed_fields.push(MalformedField { missing, ..malformed });
                }
                let data = data.map_or("null", |data| {
                    let start = data.get().as_ptr().addr() - text.as_ptr().addr();
                    &json.get()[start..start + data.get().len()]
                });
                EventKind::Unknown(UnknownEvent {
                    event_type: event_type.into_owned(),
                    data: Json::from_raw(serde_json::from_str::<&RawValue>(data)?),
                })
            }
        };
        let known = !matches!(kind, EventKind::Unknown(_));
        // Whether an unknown kind must have these texts is not known.
        let (summary, url) = if known {
            let summary = texts.summary.map_or(Nullable::Missing, Nullable::Value);
            let summary = fit("data.summary", summary, Some, &mut malformed_fields);
            let url = texts.url.map(Nullable::Value);
            (summary, url.and_then(|url| fit("data.url", url, Some, &mut malformed_fields)))
        } else {
            (texts.summary.and_then(read_text), texts.url.and_then(read_text))
        };
        let summary = summary.unwrap_or_default();
        let whole = known && malformed_fields.is_empty() && text == json.get();
        let raw = (!whole).then(|| Box::new(RawEvent { json: Json::from_raw(json), malformed_fields }));
        Ok(Event { id, version, created_at, workspace, livemode, summary, url, kind, raw })
    }
}

/// Returns what a field says, if it is as documented.
fn fit<'a, T: Deserialize<'a>, R>(
    field: &str,
    value: Nullable<&'a RawValue>,
    read: impl FnOnce(T) -> Option<R>,
    malformed_fields: &mut Vec<MalformedField>,
) -> Option<R> {
    let fits = value.get().and_then(|value| serde_json::from_str(value.get()).ok()).and_then(read);
    if fits.is_none() {
        malformed_fields.push(MalformedField { field: field.to_owned(), missing: value.is_missing() });
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
struct Texts<'a> {
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
}

/// Returns the data of one kind.
pub(super) fn data<T: DeserializeOwned>(json: &str) -> Result<T, MalformedField> {
    serde_json::from_str(json).map_err(|_| malformed::<T>(json))
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
