//! Typed client for a shared customer-email inbox: every resource, error and retry rule of its API.
#![forbid(unsafe_code)]
