//! The rules of the crate, each proven through its public interface.

mod actix;
mod axum;
mod diagnosis;
mod events;
mod fixture;
mod properties;
mod replay;
mod secrets;
mod stream;
mod table;
mod vectors;
