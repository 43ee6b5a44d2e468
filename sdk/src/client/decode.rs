//! From an answer's bytes to a type, or to an error that says where they part.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{Answered, Cause, Certainty, Error, Result};
use super::transport::Answer;

/// Enough to recognise a proxy's error page by.
const EXCERPT: usize = 200;
/// The longest sentence of the service that is kept.
const SENTENCE: usize = 1_000;

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

/// The start of a body, on one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    // A character has at most four bytes.
    let start = String::from_utf8_lossy(&body[..body.len().min(EXCERPT * 4)]).into_owned();
    start.chars().take(EXCERPT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The sentence of an error body, if it has the service's form.
pub(crate) fn sentence(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let sentence = value.get("error")?.as_str()?;
    Some(sentence.chars().take(SENTENCE).collect())
}
