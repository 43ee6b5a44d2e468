//! An error response: its status, headers, and the service's message.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use super::redact::redact;
use crate::lone_surrogates::replace_lone_surrogates;
use crate::model::shows;
use crate::{Problems, Scope};

/// How much of a body is kept: enough to recognise a proxy's error page.
const MAX_EXCERPT_CHARS: usize = 200;
/// How much of the service's message is kept.
const MAX_SENTENCE_CHARS: usize = 1_000;

/// A response of the service, or of something in front of it.
pub(crate) struct ErrorResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The service's own sentence, when the body had its form.
    pub(crate) sentence: Option<String>,
    /// The same, as it may be logged.
    shown: Option<String>,
    pub(crate) problems: Option<Problems>,
    pub(crate) scope: Option<Scope>,
    pub(crate) excerpt: String,
}

impl ErrorResponse {
    pub(crate) fn unexpected(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        let excerpt = excerpt(body);
        Self { status, headers, sentence: None, shown: None, problems: None, scope: None, excerpt }
    }

    /// `sent` is what went out with the request, which the sentence may quote.
    pub(crate) fn refusal(
        status: StatusCode,
        headers: HeaderMap,
        body: &[u8],
        scope: Option<&Scope>,
        sent: &[String],
    ) -> Self {
        let mut response = Self::unexpected(status, headers, body);
        let Some(sentence) = sentence(body) else { return response };
        if status == StatusCode::BAD_REQUEST {
            response.problems = Some(Problems::parse(&sentence));
        }
        if status == StatusCode::FORBIDDEN {
            // A 403 has other reasons too, and scopes are everyday words: only the one that this call needs
            // counts.
            let named = |scope: &&Scope| {
                sentence.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == scope.as_str())
            };
            response.scope = scope.filter(named).cloned();
        }
        response.shown = Some(redact(&sentence, sent));
        response.sentence = Some(sentence);
        response
    }

    /// Returns the end of a sentence about the response.
    pub(super) fn shown_sentence(&self) -> String {
        let unknown = || ", with a body that is not the service's".to_owned();
        self.shown.as_ref().map_or_else(unknown, |sentence| format!(": {sentence}"))
    }

    /// Returns whether the same request may succeed later.
    pub(crate) fn can_pass(&self) -> bool {
        let is_failure = self.status.is_server_error() && self.status != StatusCode::NOT_IMPLEMENTED;
        is_failure || matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
    }

    /// Returns the wait of `Retry-After`: seconds, or a date.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            // A number that does not fit is a very long wait, which is capped later.
            return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
        }
        let date = jiff::fmt::rfc2822::parse(value).ok()?;
        let date = SystemTime::from(date.timestamp());
        Some(date.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

shows! { ErrorResponse: status; }

/// Returns the start of a body, on one line.
fn excerpt(body: &[u8]) -> String {
    // A character has at most four bytes.
    let start = String::from_utf8_lossy(&body[..body.len().min(MAX_EXCERPT_CHARS * 4)]).into_owned();
    start.chars().take(MAX_EXCERPT_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the message of an error body, if it has the service's form.
fn sentence(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_str(&replace_lone_surrogates(str::from_utf8(body).ok()?)).ok()?;
    let sentence = value.get("error")?.as_str()?;
    Some(sentence.chars().take(MAX_SENTENCE_CHARS).collect())
}
