//! From an answer's bytes to a type, or to an error that says where they part.

use serde::de::DeserializeOwned;

use super::wire::Answer;
use crate::client::error::{Answered, Cause, Certainty, Error, Result};

pub(crate) fn decode<T: DeserializeOwned>(answer: &Answer) -> Result<T> {
    let mut json = serde_json::Deserializer::from_slice(&answer.body);
    let unreadable = |path: String, error: &serde_json::Error| {
        let excerpt = Answered::unexpected(answer.status, answer.headers.clone(), &answer.body);
        // The request was carried out, but not by anyone we understand.
        Error::new(Cause::Unreadable { answer: excerpt, path, detail: error.to_string() }, Certainty::Unknown)
    };
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| unreadable(error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| unreadable(String::new(), &error))?;
    Ok(value)
}
