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
    /// may add them; too many or too long is rejected, as no honest sender needs it.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, VerifyError> {
        if header.len() > MAX_BYTES {
            return Err(VerifyError::SignaturesTooLong);
        }
        let mut found = Self::default();
        let entries = header.split(|byte| *byte == b' ').filter(|entry| !entry.is_empty());
        for (place, entry) in entries.enumerate() {
            if place == MAX_ENTRIES {
                return Err(VerifyError::TooManySignatures);
            }
            if let Some(mac) = decode(entry) {
                found.macs[found.count] = mac;
                found.count += 1;
            }
        }
        if found.count == 0 { Err(VerifyError::NoSignature) } else { Ok(found) }
    }

    /// Returns whether any of them equals `expected`. Looks at all of them, at every byte, whatever it finds.
    pub(crate) fn any_equals(&self, expected: &[u8; MAC]) -> bool {
        let claimed = self.macs[..self.count].iter();
        claimed.fold(Choice::from(0), |any, mac| any | mac.ct_eq(expected)).into()
    }
}

fn decode(entry: &[u8]) -> Option<[u8; MAC]> {
    let text = entry.strip_prefix(VERSION).filter(|text| text.len() == MAC_TEXT)?;
    let mut mac = [0; MAC];
    let length = STANDARD.decode_slice(text, &mut mac).ok()?;
    (length == MAC).then_some(mac)
}
