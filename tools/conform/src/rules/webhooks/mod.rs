//! Webhooks: delivery, subscriptions, and the events themselves.

pub(super) mod delivery;
pub(super) mod event_values;
pub(super) mod events;
pub(super) mod occasions;
pub(super) mod retries;
pub(super) mod scoping;
