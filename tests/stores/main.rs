//! Clients and receivers that share a store, with real stores and real processes.
#![cfg(target_os = "linux")]

mod guards;
mod limiter;
mod once;
mod receiver_fleet;
mod support;
mod tls;
mod worker_fleet;
