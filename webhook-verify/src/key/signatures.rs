//! The signature header: a list with versions, bounded before anything is computed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::{Choice, ConstantTimeEq};

use crate::error::VerifyError;

/// Bytes of an HMAC-SHA256.
pub(crate) const MAC: usize = 32;
/// The same in padded base64.
pub(crate) const MAC_TEXT: usize = 44;
/// The only version that is known; `v1a` (a public-key scheme) is another one.
pub(crate) const VERSION: &[u8] = b"v1,";

/// Bytes of an entry with its version.
const ENTRY: usize = VERSION.len() + MAC_TEXT;
/// The most entries that are read.
const MAX_ENTRIES: usize = 16;
/// The most bytes of the header that are read.
const MAX_BYTES: usize = 4096;

/// The `v1` signatures of one request, decoded. They are the sender's claim and no secret.
#[derive(Clone, Default)]
pub(crate) struct Signatures {
    macs: [[u8; MAC]; MAX_ENTRIES],
    count: usize,
}

impl Signatures {
    /// Reads the header. Entries of other versions or another form are skipped, as a later version of the scheme
    /// may add them; too many or too long is refused, as no honest sender needs it.
    pub(crate) fn read(&mut self, header: &[u8]) -> Result<(), VerifyError> {
        if header.len() > MAX_BYTES {
            return Err(VerifyError::SignaturesTooLong);
        }
        let mut rest = header;
        for _ in 0..MAX_ENTRIES {
            rest = without_spaces(rest);
            if rest.is_empty() {
                break;
            }
            // An entry of the known form has a known length, so there is no need to look for its end.
            let (entry, after) = rest.split_at(rest.len().min(ENTRY));
            if let Some(mac) = decode(entry).filter(|_| after.first().is_none_or(|byte| *byte == b' ')) {
                self.macs[self.count] = mac;
                self.count += 1;
                rest = after;
            } else {
                let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
                rest = &rest[end..];
            }
        }
        if !without_spaces(rest).is_empty() {
            return Err(VerifyError::TooManySignatures);
        }
        if self.count == 0 { Err(VerifyError::NoSignature) } else { Ok(()) }
    }

    /// Returns the same, as a value.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, VerifyError> {
        let mut found = Self::default();
        found.read(header).map(|()| found)
    }

    /// Returns whether any of them equals `expected`. Looks at all of them, at every byte, whatever it finds.
    pub(crate) fn any_equals(&self, expected: &[u8; MAC]) -> bool {
        let expected = words(expected);
        let claimed = self.macs[..self.count].iter();
        claimed.fold(Choice::from(0), |any, mac| any | difference(&words(mac), &expected).ct_eq(&0)).into()
    }
}

fn without_spaces(mut header: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = header {
        header = rest;
    }
    header
}

/// Eight bytes at a time: the comparison has a price for each number it looks at.
fn words(mac: &[u8; MAC]) -> [u64; MAC / 8] {
    let (words, _) = mac.as_chunks();
    std::array::from_fn(|index| u64::from_ne_bytes(words[index]))
}

/// 0 when they are the same.
fn difference(one: &[u64; MAC / 8], other: &[u64; MAC / 8]) -> u64 {
    one.iter().zip(other).fold(0, |bits, (one, other)| bits | (one ^ other))
}

fn decode(entry: &[u8]) -> Option<[u8; MAC]> {
    let text = entry.strip_prefix(VERSION).filter(|text| text.len() == MAC_TEXT)?;
    let mut mac = [0; MAC];
    let length = STANDARD.decode_slice(text, &mut mac).ok()?;
    (length == MAC).then_some(mac)
}
