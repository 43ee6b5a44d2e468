//! Clients and receivers that share a store, with real stores and real processes.
#![cfg(unix)]

mod cluster_guard;
mod once;
mod receivers;
mod tls;
mod worker_fleet;
