//! The rate limit that processes share through a store, with real stores. Fleets of processes against the mock are in the
//! `worker_fleet` tests of the workspace's `tests`.
#![cfg(unix)]

mod cluster;
mod decisions;
mod rules;
mod simulation;
mod store_faults;
