//! The explorer: small apps with one fault each, which it finds, and correct ones, in which it finds nothing.
//!
//! What is ignored here explores for minutes, or needs Python or Node. It is bounded by schedules, never by the clock:
//!
//!     cargo test -p shared-inbox-explore --test explore -- --ignored --nocapture

mod apps;
mod correct;
mod days;
mod follow_ups;
mod interrupt;
mod other_languages;
mod planted;
mod server_apps;
mod server_languages;
mod servers;
mod story;
mod support_worker;
mod varying;
