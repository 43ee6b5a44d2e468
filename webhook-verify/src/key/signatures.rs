//! Reading the signature header: a list of `v1,<base64>` entries, of which any may be right.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::VerifyError;
use crate::key::Tag;

/// The only version that is known; `v1a` (a public-key scheme) is another one.
const VERSION: &[u8] = b"v1,";
/// Bytes of an HMAC-SHA256.
const TAG_BYTES: usize = 32;
/// The same in padded base64.
const TAG_TEXT_BYTES: usize = 44;
/// The most entries that are read.
const MAX_ENTRIES: usize = 16;
/// The most bytes of the header that are read.
const MAX_BYTES: usize = 4096;

/// The signatures of a header that has at least one. They are the sender's claim and no secret.
#[derive(Clone, Copy)]
pub(crate) struct Signatures<'h> {
    /// The first one, which is the only one in most requests.
    first: [u8; TAG_BYTES],
    header: &'h [u8],
    /// How many entries come before the other ones.
    read: usize,
}

impl<'h> Signatures<'h> {
    /// Reads the header. Entries of other versions or another form are skipped, as a later version of the
    /// scheme may add them; too many or too long is rejected, as no honest sender needs it.
    pub(crate) fn parse(header: &'h [u8]) -> Result<Self, VerifyError> {
        if header.len() > MAX_BYTES {
            return Err(VerifyError::SignaturesTooLong);
        }
        let mut found = None;
        for (place, entry) in entries(header).enumerate() {
            if place == MAX_ENTRIES {
                return Err(VerifyError::TooManySignatures);
            }
            found = found.or_else(|| Some(Self { first: decode(entry)?, header, read: place + 1 }));
        }
        found.ok_or(VerifyError::NoSignature)
    }

    /// Returns whether any of them is `expected`. Compares all of them, in constant time, whatever it finds.
    pub(crate) fn contain(&self, expected: &Tag) -> bool {
        let others = entries(self.header).skip(self.read).filter_map(decode);
        let equals = |claimed: [u8; TAG_BYTES]| Tag::new(claimed.into()) == *expected;
        others.fold(equals(self.first), |found, claimed| found | equals(claimed))
    }
}

fn entries(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    header.split(|byte| *byte == b' ').filter(|entry| !entry.is_empty())
}

fn decode(entry: &[u8]) -> Option<[u8; TAG_BYTES]> {
    let text = entry.strip_prefix(VERSION).filter(|text| text.len() == TAG_TEXT_BYTES)?;
    let mut tag = [0; TAG_BYTES];
    let length = STANDARD.decode_slice(text, &mut tag).ok()?;
    (length == TAG_BYTES).then_some(tag)
}
