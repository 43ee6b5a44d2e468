//! The crate's metrics, through the facade `metrics`. Without the feature of that name nothing is counted.

#![allow(dead_code, reason = "each feature counts something else")]
#![cfg_attr(not(feature = "metrics"), allow(unused_variables, reason = "nothing is counted"))]

use std::time::Duration;

#[cfg(feature = "metrics")]
use metrics::{Label, counter, histogram};

/// Returns the labels that every metric has.
#[cfg(feature = "metrics")]
fn labels<const N: usize>(endpoint: Option<&str>, others: [(&'static str, &str); N]) -> Vec<Label> {
    let others = others.map(|(name, value)| Label::new(name, value.to_owned()));
    std::iter::once(Label::new("endpoint", endpoint.unwrap_or_default().to_owned())).chain(others).collect()
}

macro_rules! counters {
    ($($function:ident($($label:ident),*) = $name:literal;)*) => {$(
        pub(crate) fn $function(endpoint: Option<&str>, $($label: &str),*) {
            #[cfg(feature = "metrics")]
            counter!(concat!("shared_inbox_webhooks_", $name), labels(endpoint, [$((stringify!($label), $label)),*]))
                .increment(1);
        }
    )*};
}

// What each counts stands in the documentation of `replay`.
counters! {
    received() = "received_total";
    verified() = "verified_total";
    rejected(code) = "rejected_total";
    duplicate() = "duplicates_total";
    failed(reason) = "handler_failures_total";
    claim_lost() = "claims_lost_total";
    dead_letter() = "dead_letters_total";
}

/// A run of a handler, from its start to its end.
pub(crate) fn handled(endpoint: Option<&str>, event_type: &str, time: Duration) {
    #[cfg(feature = "metrics")]
    histogram!("shared_inbox_webhooks_handler_seconds", labels(endpoint, [("event_type", event_type)]))
        .record(time);
}
