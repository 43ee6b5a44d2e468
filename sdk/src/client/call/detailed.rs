//! An answer and all that is known about it.

use std::fmt;
use std::ops::Deref;

use http::{HeaderMap, StatusCode};

use crate::client::engine::Answer;

/// The answer to a call, with its status, its headers and how many requests it took. Use it as the answer itself.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// use shared_inbox::{Detailed, Tag};
///
/// let tags: Detailed<Vec<Tag>> = inbox.tags().with_details().await?;
/// assert!(tags.attempts() >= 1);
/// let tags: Vec<Tag> = tags.into_inner();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Detailed<O> {
    value: O,
    status: StatusCode,
    headers: HeaderMap,
    attempts: u32,
}

impl<O> Detailed<O> {
    pub(super) fn new(value: O, answer: Answer) -> Self {
        Self { value, status: answer.status, headers: answer.headers, attempts: answer.attempts }
    }

    /// The status, in the 200s.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers of the answer.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// How many requests it took.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The answer alone.
    #[must_use]
    pub fn into_inner(self) -> O {
        self.value
    }
}

impl<O> Deref for Detailed<O> {
    type Target = O;
    fn deref(&self) -> &O {
        &self.value
    }
}

/// Without the headers: they may hold what is not for a log.
impl<O: fmt::Debug> fmt::Debug for Detailed<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detailed")
            .field("value", &self.value)
            .field("status", &self.status)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
