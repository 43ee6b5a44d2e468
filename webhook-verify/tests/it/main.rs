//! The rules of the crate, each proven through its public interface.

mod diagnosis;
mod fixture;
mod properties;
mod replay;
mod secrets;
mod stream;
mod table;
mod vectors;
