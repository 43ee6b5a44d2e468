//! The types against the wire: what each rule of the API says, without a network.

mod catalogue;
mod debug;
mod golden;
mod limits;
mod parsing;
mod properties;
#[cfg(feature = "__schemas")]
mod schemas;
