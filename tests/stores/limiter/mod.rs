//! The rules of every rate limiter, and those of the one that processes share, on real stores. Fleets of processes against the mock
//! are in the `worker_fleet` tests of the workspace's `tests`.
#![cfg(unix)]

#[cfg(feature = "redis-cluster")]
mod cluster;
#[cfg(feature = "redis")]
mod decisions;
#[cfg(feature = "redis")]
mod lost_store;
mod rules;
#[cfg(feature = "redis")]
mod simulation;
#[cfg(feature = "redis")]
mod store_faults;
