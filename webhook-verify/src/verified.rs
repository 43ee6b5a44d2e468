//! What verification gives: values that nothing else can make, so a handler that asks for one cannot be
//! reached by a request that was not verified.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use derive_where::derive_where;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use shared_inbox::__spec::replace_lone_surrogates;

use crate::endpoint::{Endpoint, SoleEndpoint};
use crate::replay::Delivery;
use crate::trace_context::TraceContext;

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

    /// Returns which secret matched: its place in the list given to [`Verifier::new`](crate::Verifier::new),
    /// from 0.
    ///
    /// With the new secret first and the old one second, a rotation is complete when this is never 1 any
    /// more.
    #[must_use]
    pub fn secret(&self) -> usize {
        self.secret
    }
}

/// A body that was verified, still as bytes.
#[derive(Clone, Copy)]
#[derive_where(Debug)]
pub struct VerifiedBody<'a> {
    matched: MatchedSignature<'a>,
    #[derive_where(skip)]
    traceparent: Option<&'a [u8]>,
    #[derive_where(skip)]
    body: &'a [u8],
}

impl<'a> VerifiedBody<'a> {
    pub(crate) fn new(matched: MatchedSignature<'a>, traceparent: Option<&'a [u8]>, body: &'a [u8]) -> Self {
        Self { matched, traceparent, body }
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

    /// Reads the envelope, usually into an [`Event`](crate::Event); any type that reads the envelope's JSON
    /// will do.
    ///
    /// Whatever has the id, and no field twice, is an [`Event`](crate::Event), not an error: a kind or
    /// version that is not known, or a known one of another shape, is
    /// [`EventKind::Unknown`](crate::EventKind::Unknown), and keeps its JSON. Another type takes what
    /// `serde_json` reads into it. Half a surrogate pair in a text, as `"\\ud83d"`, is read as U+FFFD in
    /// either case.
    ///
    /// # Errors
    /// When the body is not JSON, not of that shape, or has another id than the header `webhook-id`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Verified<T>, ParseError> {
        self.parse_from(Origin { trace: self.trace_context(), ..Origin::default() })
    }

    /// Returns the trace that the request belongs to, if it says so.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        TraceContext::parse(std::str::from_utf8(self.traceparent?).ok()?)
    }

    pub(crate) fn parse_from<T: DeserializeOwned, E>(
        self,
        origin: Origin,
    ) -> Result<Verified<T, E>, ParseError> {
        // `Event` keeps its JSON without the blanks in front, and counts lines and columns from there.
        let blanks = self.body.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        let (blanks, json) = self.body.split_at(blanks);
        let (event_type, value) = self.read(json).map_err(|error| error.after_blanks(blanks))?;
        Ok(Verified { event_type, ..Verified::new(self.matched, origin, value) })
    }

    /// Returns the event's type, where it can be logged, and the value.
    fn read<T: DeserializeOwned>(&self, json: &[u8]) -> Result<(Option<String>, T), ParseError> {
        let read = || match serde_json::from_slice(json) {
            Ok(value) => Ok(value),
            Err(error) => match std::str::from_utf8(json).map(replace_lone_surrogates) {
                Ok(Cow::Owned(replaced)) => serde_json::from_str(&replaced),
                _ => Err(error),
            },
        };
        // The id is what a replay guard goes by, so an envelope that says another one cannot be told apart
        // from a mistake.
        let id = self.matched.id;
        let event_type = match after_id(json, id) {
            Some(rest) => leading_type(rest),
            None => {
                let head = Head::read(json, false)?;
                if head.id.as_deref() != Some(id) {
                    return Err(ParseError::IdMismatch);
                }
                head.event_type
            }
        };
        Ok((event_type.filter(|event_type| loggable(event_type)), read()?))
    }
}

/// What comes behind the id, if the body begins as nearly every one does: with this id, and no blanks. An id
/// that JSON would write in another way is for [`Head`] to read.
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

/// Returns what a body says of its mode.
#[cfg(any(feature = "http", feature = "actix-web"))]
pub(crate) fn livemode(body: &[u8]) -> Result<Option<bool>, ParseError> {
    Ok(Head::read(body, true)?.livemode)
}

/// The envelope's first `id`, `type` and, where it is needed, `livemode`, read no further than that.
#[derive(Default)]
struct Head {
    id: Option<String>,
    event_type: Option<String>,
    livemode: Option<bool>,
    needs_livemode: bool,
}

impl Head {
    fn read(body: &[u8], needs_livemode: bool) -> Result<Self, serde_json::Error> {
        // What is not UTF-8 is not JSON; the reader says where.
        let text = std::str::from_utf8(body).map(replace_lone_surrogates);
        let body = text.as_ref().map_or(body, |text| text.as_bytes());
        let mut head = Self { needs_livemode, ..Self::default() };
        let read = serde_json::Deserializer::from_slice(body).deserialize_map(&mut head);
        // Once all are found, reading ends with a complaint about the rest.
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
                "livemode" if self.livemode.is_none() => {
                    self.livemode = serde_json::from_str(map.next_value::<&RawValue>()?.get()).ok();
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
            let has_mode = !self.needs_livemode || self.livemode.is_some();
            if self.id.is_some() && self.event_type.is_some() && has_mode {
                return Ok(());
            }
        }
        if self.id.is_some() { Ok(()) } else { Err(A::Error::missing_field("id")) }
    }
}

/// A text, borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Where a value came from, as far as a receiver knows.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    /// The id of the receiver's endpoint.
    pub(crate) endpoint: Option<Arc<str>>,
    pub(crate) trace: Option<TraceContext>,
    /// The body, to be kept should the event's handler fail too often.
    #[cfg(any(feature = "http", feature = "actix-web"))]
    pub(crate) body: Option<bytes::Bytes>,
}

/// A value out of a verified request. Reads like the value itself; only verification can make one.
///
/// `E` is the endpoint that it came to, for apps with [several](Endpoint).
#[derive_where(Clone, Debug, PartialEq, Eq; T)]
pub struct Verified<T, E = SoleEndpoint> {
    id: String,
    timestamp: u64,
    secret: usize,
    #[derive_where(skip(Debug, EqHashOrd))]
    event_type: Option<String>,
    #[derive_where(skip(Debug, EqHashOrd))]
    origin: Origin,
    value: T,
    #[derive_where(skip(Debug))]
    endpoint: PhantomData<fn() -> E>,
}

impl<T, E> Verified<T, E> {
    pub(crate) fn new(matched: MatchedSignature<'_>, origin: Origin, value: T) -> Self {
        let MatchedSignature { id, timestamp, secret } = matched;
        Self { id: id.to_owned(), timestamp, secret, event_type: None, origin, value, endpoint: PhantomData }
    }

    /// Returns what was proven about the request.
    #[must_use]
    pub fn matched_signature(&self) -> MatchedSignature<'_> {
        MatchedSignature::new(&self.id, self.timestamp, self.secret)
    }

    /// Returns the trace that the request belongs to, if it says so.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.origin.trace
    }

    /// Returns the value alone.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }

    fn delivery_at(&self, endpoint: &str) -> Delivery {
        let mut delivery = Delivery::new(endpoint, self.id.as_str());
        if let Some(event_type) = &self.event_type {
            delivery = delivery.with_event_type(event_type.as_str());
        }
        if let Some(trace) = self.origin.trace {
            delivery = delivery.with_trace_context(trace);
        }
        #[cfg(any(feature = "http", feature = "actix-web"))]
        if let Some(body) = &self.origin.body {
            delivery = delivery.with_body(&**body);
        }
        delivery
    }
}

#[cfg(any(feature = "http", feature = "actix-web"))]
impl<E> Verified<bytes::Bytes, E> {
    /// Reads the envelope, usually into an [`Event`](crate::Event), as [`VerifiedBody::parse`] does.
    ///
    /// # Errors
    /// When the body is not JSON, not of that shape, or has another id than the header `webhook-id`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Verified<T, E>, ParseError> {
        VerifiedBody::new(self.matched_signature(), None, self).parse_from(self.origin.clone())
    }
}

impl<T> Verified<T> {
    /// This event at one of your endpoints, for a [guard](crate::replay) to remember. Knows the event's type,
    /// for logs, and its body where a [`Receiver`](crate::Receiver) has read it, for dead letters.
    #[must_use]
    pub fn delivery(&self, endpoint: &str) -> Delivery {
        self.delivery_at(endpoint)
    }
}

impl<T, E: Endpoint> Verified<T, E> {
    /// This event at the endpoint that it came to, for a [guard](crate::replay) to remember: the endpoint's
    /// id is the receiver's.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery_at(self.endpoint_id())
    }

    /// Returns the id of the endpoint that it came to, as the receiver has it.
    #[must_use]
    pub fn endpoint_id(&self) -> &str {
        self.origin.endpoint.as_deref().unwrap_or_default()
    }
}

impl<T, E> Deref for Verified<T, E> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Why a verified body could not be read. The sender is genuine; receiver and sender do not agree on the
/// format.
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
    /// Returns the HTTP status for the sender.
    #[must_use]
    pub fn status(&self) -> u16 {
        400
    }

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
