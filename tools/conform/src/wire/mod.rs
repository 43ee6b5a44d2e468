//! What the suite speaks with: HTTP, the control API, and a receiver of webhooks.

pub(super) mod control;
pub(super) mod http;
pub(super) mod pace;
pub(super) mod receiver;
pub(super) mod reply;
