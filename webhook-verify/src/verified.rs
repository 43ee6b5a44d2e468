//! What verification gives: values that nothing else can make, so a handler that asks for one cannot be reached by a
//! request that was not verified.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use crate::replay::Delivery;

/// That one request was verified: who signed it (which secret), when, under which id.
///
/// ```
/// # use std::time::{Duration, UNIX_EPOCH};
/// # use shared_inbox_webhooks::{Secret, Signer, Verifier};
/// let [new, old] = [[1; 32], [2; 32]].map(|bytes| Secret::from_bytes(&bytes).unwrap());
/// let headers = Signer::new([old.clone()]).sign("evt_1", 1772357400, b"{}");
/// let verifier = Verifier::new([new, old]).clock(|| UNIX_EPOCH + Duration::from_secs(1772357400));
/// let proof = verifier.verify(&headers, b"{}")?.proof();
/// assert_eq!((proof.id(), proof.timestamp(), proof.secret()), ("evt_1", 1772357400, 1));
/// # Ok::<(), shared_inbox_webhooks::VerifyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    id: &'a str,
    timestamp: u64,
    secret: usize,
}

impl<'a> Proof<'a> {
    pub(crate) fn new(id: &'a str, timestamp: u64, secret: usize) -> Self {
        Self { id, timestamp, secret }
    }

    /// The event's id: the same on every try and on a redelivery by hand.
    #[must_use]
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// When this try was sent, in seconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// This event at one of your endpoints, for a [guard](crate::replay) to remember.
    #[must_use]
    pub fn delivery(&self, endpoint: &str) -> Delivery {
        Delivery::new(endpoint, self.id)
    }

    /// Which secret matched: its place in the list given to [`Verifier::new`](crate::Verifier::new), from 0.
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
    proof: Proof<'a>,
    body: &'a [u8],
}

impl<'a> VerifiedBody<'a> {
    pub(crate) fn new(proof: Proof<'a>, body: &'a [u8]) -> Self {
        Self { proof, body }
    }

    /// What was proven.
    #[must_use]
    pub fn proof(&self) -> Proof<'a> {
        self.proof
    }

    /// The bytes that were signed.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Reads the envelope, usually into an [`Event`](crate::Event); any type that reads the envelope's JSON will do.
    ///
    /// Whatever has the id is an [`Event`](crate::Event), not an error: a kind or version that is not known, or a known
    /// one of another shape, is [`EventKind::Unknown`](crate::EventKind::Unknown).
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use shared_inbox_webhooks::{Event, EventKind, Secret, Signer, Verified, Verifier};
    ///
    /// let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
    /// let body = br#"{"id": "evt_1", "type": "scout.held", "version": 1, "created_at": "2026-03-01T09:30:00.000Z",
    ///     "workspace": "wsp_1", "livemode": true,
    ///     "data": {"summary": "A likely scam was held", "conversation_id": "cnv_1"}}"#;
    /// let headers = Signer::new([secret.clone()]).sign("evt_1", 1772357400, body);
    /// let verifier = Verifier::new([secret]).clock(|| UNIX_EPOCH + Duration::from_secs(1772357401));
    ///
    /// let event: Verified<Event> = verifier.verify(&headers, body)?.parse()?;
    /// match &event.kind {
    ///     EventKind::ScoutHeld(held) => println!("look at {}", held.conversation_id),
    ///     other => println!("nothing to do for {}", other.event_type()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the body is not JSON, not of that shape, or has another id than the header `webhook-id`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Verified<T>, ParseError> {
        // The id is what a replay guard goes by, so an envelope that says another one cannot be told apart from a mistake.
        if !begins_with_id(self.body, self.proof.id) && first_id(self.body)? != self.proof.id {
            return Err(ParseError::IdMismatch);
        }
        Ok(Verified::new(self.proof, serde_json::from_slice(self.body)?))
    }
}

/// Whether the body begins as nearly every one does: with this id, and no blanks. An id that JSON would write in another
/// way is for [`first_id`] to read.
fn begins_with_id(body: &[u8], id: &str) -> bool {
    let after = body.strip_prefix(br#"{"id":""#).and_then(|rest| rest.strip_prefix(id.as_bytes()));
    after.is_some_and(|rest| rest.starts_with(b"\"")) && !id.contains(['"', '\\'])
}

/// The envelope's `id`, read no further than that.
fn first_id(body: &[u8]) -> Result<Cow<'_, str>, serde_json::Error> {
    let mut id = None;
    let read = serde_json::Deserializer::from_slice(body).deserialize_map(FirstId(&mut id));
    // Once it is found, reading ends with a complaint about the rest.
    id.map_or_else(|| read.and_then(|()| Err(Error::missing_field("id"))), Ok)
}

struct FirstId<'a, 'de>(&'a mut Option<Cow<'de, str>>);

impl<'de> Visitor<'de> for FirstId<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            if name == "id" {
                let Text(id) = map.next_value()?;
                *self.0 = Some(id);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// A text, borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl fmt::Debug for VerifiedBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedBody").field("proof", &self.proof).field("bytes", &self.body.len()).finish()
    }
}

/// A value out of a verified request. Reads like the value itself; only verification can make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<T> {
    id: String,
    timestamp: u64,
    secret: usize,
    value: T,
}

impl<T> Verified<T> {
    pub(crate) fn new(proof: Proof<'_>, value: T) -> Self {
        let Proof { id, timestamp, secret } = proof;
        Self { id: id.to_owned(), timestamp, secret, value }
    }

    /// What was proven about the request.
    #[must_use]
    pub fn proof(&self) -> Proof<'_> {
        Proof::new(&self.id, self.timestamp, self.secret)
    }

    /// This event at one of your endpoints, for a [guard](crate::replay) to remember.
    #[must_use]
    pub fn delivery(&self, endpoint: &str) -> Delivery {
        self.proof().delivery(endpoint)
    }

    /// The value alone.
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
    /// A name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "body_not_json",
            Self::Shape { .. } => "body_shape",
            Self::IdMismatch => "body_id_mismatch",
        }
    }

    /// The HTTP status for the sender.
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
