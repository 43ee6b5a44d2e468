//! Finding the three headers, wherever a framework keeps them.

use std::fmt;

use crate::error::{Header, VerifyError};

/// The values of the three headers, as they came in.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RawHeaders<'a> {
    /// `webhook-id`
    pub id: &'a [u8],
    /// `webhook-timestamp`
    pub timestamp: &'a [u8],
    /// `webhook-signature`
    pub signature: &'a [u8],
    /// `traceparent`, if the request has one: not signed, and for logs and spans only.
    pub traceparent: Option<&'a [u8]>,
}

impl<'a> RawHeaders<'a> {
    /// Takes the three values as they came in.
    #[must_use]
    pub fn new(id: &'a [u8], timestamp: &'a [u8], signature: &'a [u8]) -> Self {
        Self { id, timestamp, signature, traceparent: None }
    }

    /// Picks the three headers out of any list of names and values. Names compare without regard to case.
    ///
    /// For frameworks without a header map of the `http` crate:
    ///
    /// ```
    /// use shared_inbox_webhooks::RawHeaders;
    ///
    /// let headers = [("Webhook-Id", "evt_1"), ("Webhook-Timestamp", "1614265330"), ("Webhook-Signature", "v1,…")];
    /// let parts = RawHeaders::from_pairs(headers.iter().map(|(name, value)| (*name, value.as_bytes())))?;
    /// assert_eq!(parts.id, b"evt_1");
    /// # Ok::<(), shared_inbox_webhooks::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// When one of the three is missing, or is there more than once with different values.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, VerifyError> {
        // The three, and `traceparent`. One pass over everything, so that all values of a name are seen.
        let (mut found, mut differs) = ([None; 4], [false; 4]);
        // Most headers of a request begin otherwise.
        for (name, value) in pairs.into_iter().filter(|(name, _)| name.starts_with(['w', 'W', 't', 'T'])) {
            let place = match Header::named(name) {
                Some(header) => header as usize,
                None if name.eq_ignore_ascii_case("traceparent") => 3,
                None => continue,
            };
            // Which of two values another program on the way went by cannot be known.
            differs[place] |= found[place].replace(value).is_some_and(|other| other != value);
        }
        let only = |header: Header| match found[header as usize] {
            _ if differs[header as usize] => Err(VerifyError::Conflicting(header)),
            value => value.ok_or(VerifyError::Missing(header)),
        };
        Ok(Self {
            id: only(Header::Id)?,
            timestamp: only(Header::Timestamp)?,
            signature: only(Header::Signature)?,
            traceparent: found[3].filter(|_| !differs[3]),
        })
    }
}

impl fmt::Debug for RawHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawHeaders")
            .field("id", &format_args!("{}", self.id.escape_ascii()))
            .field("timestamp", &format_args!("{}", self.timestamp.escape_ascii()))
            .finish_non_exhaustive()
    }
}

/// Anything in which the three headers can be found: [`RawHeaders`], a tuple of three texts,
/// [`SignedHeaders`](crate::SignedHeaders), and references to the header maps of `http` and `actix-web` with
/// the features of these names. For those of any other framework there is [`RawHeaders::from_pairs`].
pub trait WebhookHeaders<'a>: Sealed {
    /// Returns the three values.
    ///
    /// # Errors
    /// When one of the three is missing, or is there more than once with different values.
    fn parts(self) -> Result<RawHeaders<'a>, VerifyError>;
}

/// Keeps [`WebhookHeaders`] to the types of this crate's choice, so that it may grow.
pub trait Sealed {}

impl Sealed for RawHeaders<'_> {}

impl<'a> WebhookHeaders<'a> for RawHeaders<'a> {
    fn parts(self) -> Result<RawHeaders<'a>, VerifyError> {
        Ok(self)
    }
}

impl Sealed for (&str, &str, &str) {}

impl<'a> WebhookHeaders<'a> for (&'a str, &'a str, &'a str) {
    fn parts(self) -> Result<RawHeaders<'a>, VerifyError> {
        Ok(RawHeaders::new(self.0.as_bytes(), self.1.as_bytes(), self.2.as_bytes()))
    }
}

macro_rules! header_maps {
    ($($feature:literal: $map:ty;)*) => {$(
        #[cfg(feature = $feature)]
        impl Sealed for &$map {}

        #[cfg(feature = $feature)]
        impl<'a> WebhookHeaders<'a> for &'a $map {
            fn parts(self) -> Result<RawHeaders<'a>, VerifyError> {
                RawHeaders::from_pairs(self.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
            }
        }
    )*};
}

header_maps! {
    "http": http::HeaderMap;
    "actix-web": actix_web::http::header::HeaderMap;
}
