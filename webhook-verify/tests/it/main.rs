//! The rules of the crate, each proven through its public interface.

mod fixture;
mod secrets;
mod stream;
mod table;
mod vectors;
