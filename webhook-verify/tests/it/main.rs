//! The rules of the crate, each proven through its public interface.

mod actix;
mod axum;
mod diagnosis;
mod events;
mod fixture;
mod handlers;
mod properties;
mod replay;
mod request;
mod secrets;
mod sockets;
#[cfg(unix)]
mod stores;
mod stream;
mod supervision;
mod table;
mod trace;
mod vectors;
