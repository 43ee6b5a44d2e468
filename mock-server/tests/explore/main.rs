//! The explorer: small apps with one fault each, which it finds, and correct ones, in which it finds nothing.
//!
//! What is ignored here explores against the clock, so it is for a quiet machine and runs in no check:
//!
//!     cargo test -p shared-inbox-mock --test explore -- --ignored --nocapture

mod apps;
mod correct;
mod other_languages;
mod planted;
mod program;
mod server_apps;
mod server_languages;
mod servers;
