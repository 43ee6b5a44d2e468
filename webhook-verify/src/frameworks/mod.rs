//! Receivers in the forms that web frameworks want.

#[cfg(feature = "actix-web")]
mod actix;
#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "tower")]
pub(crate) mod layer;
