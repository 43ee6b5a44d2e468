//! From an answer's bytes to a type, or to an error that says where they part.

use serde::de::DeserializeOwned;

use super::wire::Answer;
use crate::client::error::{Answered, Cause, Certainty, Error, Result};

pub(crate) fn decode<T: DeserializeOwned>(answer: &Answer) -> Result<T> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let excerpt = Answered::unexpected(answer.status, answer.headers.clone(), &answer.body);
        let cause =
            Cause::Unreadable { answer: excerpt, path: path::<T>(&answer.body), detail: error.to_string() };
        // The request was carried out, but not by anyone we understand.
        Error::new(cause, if answer.read { Certainty::NoEffect } else { Certainty::Unknown })
    })
}

/// Where it does not fit. To know that at every step would be paid by every good answer, so it is read again for it.
fn path<T: DeserializeOwned>(body: &[u8]) -> String {
    let mut json = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) => error.path().to_string(),
        Ok(_) => String::new(),
    }
}
