//! The rules of the crate, each proven through its public interface.

#[cfg(feature = "actix-web")]
mod actix;
mod axum;
mod diagnosis;
mod events;
mod extractors;
mod faulty_guard;
mod fixture;
mod handlers;
mod properties;
mod replay;
mod request;
mod secrets;
mod sockets;
#[cfg(all(unix, feature = "redis", feature = "sqlx"))]
mod stores;
mod supervision;
mod table;
mod trace;
mod vectors;
