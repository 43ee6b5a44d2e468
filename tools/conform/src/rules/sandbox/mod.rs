//! The sandbox.

pub(super) mod magic;
pub(super) mod simulated_mail;
