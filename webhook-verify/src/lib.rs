#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Its programs need axum, which tests have.
#[cfg(all(doctest, feature = "axum", feature = "testing"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod clock;
mod diagnose;
mod endpoint;
mod error;
pub mod event;
mod frameworks;
mod headers;
mod key;
mod meter;
#[cfg(any(feature = "http", feature = "actix-web"))]
mod receiver;
pub mod replay;
#[cfg(feature = "http")]
mod request;
mod setters;
mod signer;
#[cfg(feature = "testing")]
pub mod testing;
mod trace_context;
mod verified;
mod verifier;

pub use diagnose::{Diagnosis, Hint, diagnose};
pub use endpoint::{Endpoint, SoleEndpoint};
pub use error::{Header, VerifyError};
pub use event::{Event, EventKind};
#[cfg(feature = "tower")]
pub use frameworks::layer::{VerifyLayer, VerifyService};
pub use headers::{RawHeaders, WebhookHeaders};
pub use key::secret::{Secret, SecretError};
#[cfg(any(feature = "http", feature = "actix-web"))]
pub use receiver::{Receiver, ReceiverBuilder, Rejection, SecretSource, SecretSourceError, Webhook};
pub use signer::{SignedHeaders, Signer};
pub use trace_context::TraceContext;
pub use verified::{MatchedSignature, ParseError, Verified, VerifiedBody};
pub use verifier::Verifier;
