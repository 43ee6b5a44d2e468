//! What verification gives: values that nothing else can make, so a handler that asks for one cannot be reached by a
//! request that was not verified.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use shared_inbox::__spec::replace_lone_surrogates;

use crate::replay::Delivery;

/// That one request was verified: who signed it (which secret), when, under which id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchedSignature<'a> {
    id: &'a str,
    timestamp: u64,
    secret: usize,
}

impl<'a> MatchedSignature<'a> {
    pub(crate) fn new(id: &'a str, timestamp: u64, secret: usize) -> Self {
        Self { id, timestamp, secret }
    }

    /// Returns the event's id: the same on every try and on a redelivery by hand.
    #[must_use]
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// Returns when this try was sent, in seconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// This event at one of your endpoints, for a [guard](crate::replay) to remember.
    #[must_use]
    pub fn delivery(&self, endpoint: &str) -> Delivery {
        Delivery::new(endpoint, self.id)
    }

    /// Returns which secret matched: its place in the list given to [`Verifier::new`](crate::Verifier::new), from 0.
    ///
    /// With the new secret first and the old one second, a rotation is complete when this is never 1 any more.
    #[must_use]
    pub fn secret(&self) -> usize {
        self.secret
    }
}

/// A body that was verified, still as bytes.
#[derive(Clone, Copy)]
pub struct VerifiedBody<'a> {
    matched: MatchedSignature<'a>,
    body: &'a [u8],
}

impl<'a> VerifiedBody<'a> {
    pub(crate) fn new(matched: MatchedSignature<'a>, body: &'a [u8]) -> Self {
        Self { matched, body }
    }

    /// Returns what was proven.
    #[must_use]
    pub fn matched_signature(&self) -> MatchedSignature<'a> {
        self.matched
    }

    /// Returns the bytes that were signed.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Reads the envelope, usually into an [`Event`](crate::Event); any type that reads the envelope's JSON will do.
    ///
    /// Whatever has the id is an [`Event`](crate::Event), not an error: a kind or version that is not known, or a known
    /// one of another shape, is [`EventKind::Unknown`](crate::EventKind::Unknown).
    ///
    /// [`Event`](crate::Event) takes whatever JSON can say, at any depth and with any number, and keeps it. Another type takes
    /// what `serde_json` reads into it. Half a surrogate pair in a text, as `"\\ud83d"`, is read as U+FFFD in either case.
    ///
    /// # Errors
    /// When the body is not JSON, not of that shape, or has another id than the header `webhook-id`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Verified<T>, ParseError> {
        // `Event` keeps its JSON without the blanks in front, and counts lines and columns from there.
        let blanks = self.body.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        let (blanks, json) = self.body.split_at(blanks);
        self.read(json).map_err(|error| error.after_blanks(blanks))
    }

    fn read<T: DeserializeOwned>(&self, json: &[u8]) -> Result<Verified<T>, ParseError> {
        let read = || match serde_json::from_slice(json) {
            Ok(value) => Ok(value),
            Err(error) => match std::str::from_utf8(json).map(replace_lone_surrogates) {
                Ok(Cow::Owned(replaced)) => serde_json::from_str(&replaced),
                _ => Err(error),
            },
        };
        // The id is what a replay guard goes by, so an envelope that says another one cannot be told apart from a mistake.
        let MatchedSignature { id, timestamp, secret } = self.matched;
        let event_type = match after_id(json, id) {
            Some(rest) => leading_type(rest),
            None => {
                let head = Head::read(json)?;
                if head.id.as_deref() != Some(id) {
                    return Err(ParseError::IdMismatch);
                }
                head.event_type
            }
        };
        Ok(Verified {
            id: id.to_owned(),
            timestamp,
            secret,
            event_type: event_type.filter(|event_type| loggable(event_type)),
            value: read()?,
        })
    }
}

/// What comes behind the id, if the body begins as nearly every one does: with this id, and no blanks. An id that JSON would
/// write in another way is for [`Head`] to read.
fn after_id<'a>(body: &'a [u8], id: &str) -> Option<&'a [u8]> {
    let rest = body.strip_prefix(br#"{"id":""#)?.strip_prefix(id.as_bytes())?.strip_prefix(b"\"")?;
    (!id.contains(['"', '\\'])).then_some(rest)
}

/// Returns the type, if it comes next, as it nearly always does.
fn leading_type(rest: &[u8]) -> Option<String> {
    let text = rest.strip_prefix(br#","type":""#)?;
    let end = text.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&text[..end]).ok().map(str::to_owned)
}

/// Returns whether a type looks like one: nothing else is put into a log.
fn loggable(event_type: &str) -> bool {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&event_type.len()) && event_type.bytes().all(named)
}

/// The envelope's first `id` and `type`, read no further than that.
#[derive(Default)]
struct Head {
    id: Option<String>,
    event_type: Option<String>,
}

impl Head {
    fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        // What is not UTF-8 is not JSON; the reader says where.
        let text = std::str::from_utf8(body).map(replace_lone_surrogates);
        let body = text.as_ref().map_or(body, |text| text.as_bytes());
        let mut head = Self::default();
        let read = serde_json::Deserializer::from_slice(body).deserialize_map(&mut head);
        // Once both are found, reading ends with a complaint about the rest.
        if head.id.is_some() { Ok(head) } else { read.map(|()| head) }
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match &*name {
                "id" if self.id.is_none() => self.id = Some(map.next_value()?),
                // Of another form, it is for the reader of the whole to judge.
                "type" => self.event_type = serde_json::from_str(map.next_value::<&RawValue>()?.get()).ok(),
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
            if self.id.is_some() && self.event_type.is_some() {
                return Ok(());
            }
        }
        if self.id.is_some() { Ok(()) } else { Err(A::Error::missing_field("id")) }
    }
}

/// A text, borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl fmt::Debug for VerifiedBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedBody")
            .field("matched", &self.matched)
            .field("bytes", &self.body.len())
            .finish()
    }
}

/// A value out of a verified request. Reads like the value itself; only verification can make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<T> {
    id: String,
    timestamp: u64,
    secret: usize,
    event_type: Option<String>,
    value: T,
}

impl<T> Verified<T> {
    #[cfg(feature = "http")]
    pub(crate) fn new(matched: MatchedSignature<'_>, value: T) -> Self {
        let MatchedSignature { id, timestamp, secret } = matched;
        Self { id: id.to_owned(), timestamp, secret, event_type: None, value }
    }

    /// Returns what was proven about the request.
    #[must_use]
    pub fn matched_signature(&self) -> MatchedSignature<'_> {
        MatchedSignature::new(&self.id, self.timestamp, self.secret)
    }

    /// This event at one of your endpoints, for a [guard](crate::replay) to remember. Knows the event's type, for logs.
    #[must_use]
    pub fn delivery(&self, endpoint: &str) -> Delivery {
        let delivery = self.matched_signature().delivery(endpoint);
        match &self.event_type {
            Some(event_type) => delivery.with_event_type(event_type.as_str()),
            None => delivery,
        }
    }

    /// Returns the value alone.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Why a verified body could not be read. The sender is genuine; receiver and sender do not agree on the format.
///
/// Carries places, not words of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Not JSON.
    #[error("the body is not JSON: see line {line}, column {column}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// JSON of another shape.
    #[error(
        "the body is JSON, but not an envelope of the expected shape: a field is missing or of another type, found at \
         line {line}, column {column}"
    )]
    Shape {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The envelope's `id` is not the one in the header `webhook-id`.
    #[error("the field `id` of the body differs from the header `webhook-id`: they must be the same")]
    IdMismatch,
}

impl ParseError {
    /// Returns the same error in a body that begins with these blanks.
    fn after_blanks(mut self, blanks: &[u8]) -> Self {
        if let Self::NotJson { line, column } | Self::Shape { line, column } = &mut self {
            if *line == 1 {
                *column += blanks.iter().rev().take_while(|byte| **byte != b'\n').count();
            }
            *line += blanks.iter().filter(|byte| **byte == b'\n').count();
        }
        self
    }

    /// Returns a name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "body_not_json",
            Self::Shape { .. } => "body_shape",
            Self::IdMismatch => "body_id_mismatch",
        }
    }

    /// Returns the HTTP status for the sender.
    #[must_use]
    pub fn status(&self) -> u16 {
        400
    }
}

impl From<serde_json::Error> for ParseError {
    /// Keeps the place alone, because the message of a JSON error repeats what it found.
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            Category::Data => Self::Shape { line, column },
            Category::Syntax | Category::Eof | Category::Io => Self::NotJson { line, column },
        }
    }
}
