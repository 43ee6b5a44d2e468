//! The API key and the base URL, checked before anything is sent.

mod base_url;
mod key;

pub(crate) use base_url::BaseUrl;
pub use key::{ApiKey, InvalidApiKey};
