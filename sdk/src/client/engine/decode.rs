//! Decodes the body of a response, or names the field that does not fit.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::wire::HttpResponse;
use crate::client::error::{Cause, Certainty, Error, ErrorResponse, Result};
use crate::lone_surrogates::replace_lone_surrogates;

pub(crate) fn decode<T: DeserializeOwned>(response: &HttpResponse) -> Result<T> {
    let mut body = Cow::Borrowed(&*response.body);
    let mut decoded = serde_json::from_slice(&body);
    // A text that was cut between two UTF-16 units. Looking for one would slow down every good response.
    if decoded.is_err()
        && let Ok(Cow::Owned(json)) = str::from_utf8(&response.body).map(replace_lone_surrogates)
    {
        decoded = serde_json::from_str(&json);
        body = Cow::Owned(json.into_bytes());
    }
    decoded.map_err(|error| {
        let excerpt = ErrorResponse::unexpected(response.status, response.headers.clone(), &response.body);
        let cause =
            Cause::Unreadable { response: excerpt, path: path::<T>(&body), detail: error.to_string() };
        // The request was carried out, but the response is not the service's.
        Error::new(cause, if response.read { Certainty::NoEffect } else { Certainty::Unknown })
    })
}

/// Returns the path of the field that does not fit. Tracking it would slow down every good response, so a bad
/// one is read twice.
fn path<T: DeserializeOwned>(body: &[u8]) -> String {
    let mut json = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) => error.path().to_string(),
        Ok(_) => String::new(),
    }
}
