//! The rules of the crate, each proven through its public interface.

#[macro_use]
mod extractors;
mod axum;
mod dead_letters;
mod diagnosis;
mod events;
mod faulty_guard;
mod fixture;
mod golden;
mod handlers;
mod metrics;
mod properties;
mod replay;
mod request;
mod rotation;
mod secrets;
#[path = "../../../stores/tests/suite/guard.rs"]
mod suite;
mod supervision;
mod table;
mod trace;
mod vectors;
