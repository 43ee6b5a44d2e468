//! References of an app's own records, carried in the plus tag of a reply address.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::shows;
use crate::text::{Text, parsed};

/// A reference to a record of the app: letters, digits, `_` and `-`, at least one digit, at most 40
/// characters, in lower case.
///
/// ```
/// use shared_inbox::Reference;
/// assert_eq!(Reference::parse("Order-1042")?.as_str(), "order-1042");
/// assert!(Reference::parse("newsletter").is_err(), "a tag without a digit is an ordinary plus address");
/// # Ok::<(), shared_inbox::InvalidReference>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text<'_>")]
pub struct Reference(String);

/// A text that cannot be a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a reference: use letters, digits, `_` and `-`, at least one digit, at most 40 characters")]
#[non_exhaustive]
pub struct InvalidReference;

impl Reference {
    /// Takes a text as a reference, in lower case.
    pub fn parse(text: &str) -> Result<Self, InvalidReference> {
        let ok = text.len() <= limits::REFERENCE
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            && text.bytes().any(|b| b.is_ascii_digit());
        if ok { Ok(Self(text.to_ascii_lowercase())) } else { Err(InvalidReference) }
    }

    /// Returns the reference in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.0
    }
}

impl From<&Reference> for String {
    fn from(reference: &Reference) -> Self {
        reference.0.clone()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

parsed!(Reference, InvalidReference);

/// An inbox address that carries a reference: what an app sets as `Reply-To`.
///
/// ```
/// use shared_inbox::{Reference, ReplyAddress};
///
/// let address = ReplyAddress::new("help@example.com", Reference::parse("order-1042")?)?;
/// assert_eq!(address.to_string(), "help+order-1042@example.com");
///
/// let read = ReplyAddress::parse("help+Order-1042@example.com")?;
/// assert_eq!(read.reference().map(Reference::as_str), Some("order-1042"));
/// assert_eq!(read.inbox(), "help@example.com");
///
/// let ordinary = ReplyAddress::parse("help+news@example.com")?;
/// assert_eq!((ordinary.reference(), ordinary.inbox()), (None, "help+news@example.com"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ReplyAddress {
    inbox: String,
    reference: Option<Reference>,
}

/// A text that is not an email address, or an inbox address that has a plus tag already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAddress(&'static str);

impl ReplyAddress {
    /// Returns the address of `inbox` with `reference` as its plus tag.
    pub fn new(inbox: &str, reference: Reference) -> Result<Self, InvalidAddress> {
        if !is_address(inbox) {
            return Err(InvalidAddress("not an email address"));
        }
        // With a second plus tag, the reference would be read as a part of the first.
        if inbox.contains('+') {
            return Err(InvalidAddress("give the inbox address without a plus tag (no `+`)"));
        }
        Ok(Self { inbox: inbox.to_owned(), reference: Some(reference) })
    }

    /// Takes an address apart. A tag that breaks the rule for references stays part of the address.
    pub fn parse(address: &str) -> Result<Self, InvalidAddress> {
        if !is_address(address) {
            return Err(InvalidAddress("not an email address"));
        }
        let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
        let tagged = local.split_once('+').filter(|(base, _)| !base.is_empty());
        if let Some((base, tag)) = tagged
            && let Ok(reference) = Reference::parse(tag)
        {
            return Ok(Self { inbox: format!("{base}@{domain}"), reference: Some(reference) });
        }
        Ok(Self { inbox: address.to_owned(), reference: None })
    }

    /// Returns the address without the reference.
    pub fn inbox(&self) -> &str {
        &self.inbox
    }

    /// Returns the reference, if the address carries one.
    pub fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }
}

impl fmt::Display for ReplyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reference, self.inbox.rsplit_once('@')) {
            (Some(reference), Some((local, domain))) => write!(f, "{local}+{reference}@{domain}"),
            _ => f.write_str(&self.inbox),
        }
    }
}

shows! { ReplyAddress: reference; }

/// Returns whether a text has the outline of an email address: something, one `@`, a domain; no blanks or
/// controls.
pub(crate) fn is_address(text: &str) -> bool {
    match text.split_once('@') {
        Some((local, domain)) => {
            !local.is_empty()
                && !domain.is_empty()
                && !domain.contains('@')
                && !text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ','))
        }
        None => false,
    }
}
