//! Receives the signed webhooks of a shared customer inbox: Standard Webhooks signatures, typed events, replay guard, extractors.
#![forbid(unsafe_code)]
