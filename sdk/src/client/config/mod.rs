//! Who we are and where the service is: checked before anything is sent.

mod base_url;
mod key;

pub(crate) use base_url::BaseUrl;
pub use key::{ApiKey, InvalidApiKey};
