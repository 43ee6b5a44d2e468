//! Runs one schedule in a world, and records what happened.

pub(super) mod calls;
pub(super) mod driver;
pub(super) mod kill;
pub(super) mod observe;
pub(super) mod people;
pub(super) mod record;
pub(super) mod server;
pub(super) mod world;
