//! Receives the signed webhooks of a shared customer inbox: Standard Webhooks signatures, typed events, replay guard, extractors.
#![forbid(unsafe_code)]

mod diagnose;
mod error;
mod key;
mod parts;
pub mod replay;
mod secret;
mod signatures;
mod signer;
mod verified;
mod verifier;

pub use diagnose::{Diagnosis, Hint, SignatureForm, diagnose};
pub use error::{Header, VerifyError};
pub use parts::{Parts, WebhookHeaders};
pub use secret::{Secret, SecretError};
pub use signer::{SignedHeaders, Signer};
pub use verified::{Proof, VerifiedBody};
pub use verifier::{Checked, Stream, Verifier};
