//! Finding the three headers, wherever a framework keeps them.

use crate::error::{Header, VerifyError};

/// The values of the three headers, as they came in.
///
/// Made by hand or from a tuple `(id, timestamp, signature)`; with the features `http` and `http02` also from a
/// reference to a header map, through [`WebhookHeaders`].
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// `webhook-id`
    pub id: &'a [u8],
    /// `webhook-timestamp`
    pub timestamp: &'a [u8],
    /// `webhook-signature`
    pub signature: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Picks the three headers out of any list of names and values. Names compare without regard to case.
    ///
    /// For frameworks without a header map of the `http` crate:
    ///
    /// ```
    /// use shared_inbox_webhooks::Parts;
    ///
    /// let headers = [("Webhook-Id", "evt_1"), ("Webhook-Timestamp", "1614265330"), ("Webhook-Signature", "v1,…")];
    /// let parts = Parts::from_pairs(headers.iter().map(|(name, value)| (*name, value.as_bytes())))?;
    /// assert_eq!(parts.id, b"evt_1");
    /// # Ok::<(), shared_inbox_webhooks::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// When one of the three is missing, or is there more than once with different values.
    pub fn from_pairs<I>(pairs: I) -> Result<Self, VerifyError>
    where
        I: IntoIterator<Item = (&'a str, &'a [u8])>,
        I::IntoIter: Clone,
    {
        let pairs = pairs.into_iter();
        Self::collect(|header| {
            pairs
                .clone()
                .filter(move |(name, _)| name.eq_ignore_ascii_case(header.name()))
                .map(|(_, value)| value)
        })
    }

    fn collect<I: Iterator<Item = &'a [u8]>>(values: impl Fn(Header) -> I) -> Result<Self, VerifyError> {
        let only = |header| {
            let mut all = values(header);
            let first = all.next().ok_or(VerifyError::Missing(header))?;
            // Which of two different values another program on the way went by cannot be known.
            if all.all(|other| other == first) { Ok(first) } else { Err(VerifyError::Conflicting(header)) }
        };
        Ok(Self {
            id: only(Header::Id)?,
            timestamp: only(Header::Timestamp)?,
            signature: only(Header::Signature)?,
        })
    }
}

/// Anything in which the three headers can be found.
///
/// Implement it for the header type of a framework that is not covered; [`Parts::from_pairs`] does the work.
pub trait WebhookHeaders<'a> {
    /// The three values.
    ///
    /// # Errors
    /// When one of the three is missing, or is there more than once with different values.
    fn parts(self) -> Result<Parts<'a>, VerifyError>;
}

impl<'a> WebhookHeaders<'a> for Parts<'a> {
    fn parts(self) -> Result<Parts<'a>, VerifyError> {
        Ok(self)
    }
}

impl<'a> WebhookHeaders<'a> for (&'a str, &'a str, &'a str) {
    fn parts(self) -> Result<Parts<'a>, VerifyError> {
        Ok(Parts { id: self.0.as_bytes(), timestamp: self.1.as_bytes(), signature: self.2.as_bytes() })
    }
}

#[cfg(feature = "http")]
impl<'a> WebhookHeaders<'a> for &'a http::HeaderMap {
    fn parts(self) -> Result<Parts<'a>, VerifyError> {
        Parts::collect(|header| self.get_all(header.name()).into_iter().map(http::HeaderValue::as_bytes))
    }
}

#[cfg(feature = "http02")]
impl<'a> WebhookHeaders<'a> for &'a http02::HeaderMap {
    fn parts(self) -> Result<Parts<'a>, VerifyError> {
        Parts::collect(|header| self.get_all(header.name()).into_iter().map(http02::HeaderValue::as_bytes))
    }
}

#[cfg(feature = "actix-web")]
impl<'a> WebhookHeaders<'a> for &'a actix_web::http::header::HeaderMap {
    fn parts(self) -> Result<Parts<'a>, VerifyError> {
        Parts::collect(|header| {
            self.get_all(header.name()).map(actix_web::http::header::HeaderValue::as_bytes)
        })
    }
}
