//! What a create gives.

use std::fmt;
use std::ops::Deref;

use http::{HeaderMap, StatusCode};

use crate::client::engine::Answer;

/// The result of a create, with the status and the headers of its answer and how many requests it took.
///
/// Use it as the answer itself; [`recovered`](Self::recovered) tells how it was come by.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// let draft = inbox.conversation(&id).reply("Your refund is on its way.").await?;
/// println!("{} waits for approval, after {} requests", draft.message_id, draft.attempts());
/// match draft.headers() {
///     Some(headers) => println!("{:?}", headers.get("x-request-id")),
///     None => println!("(its answer was lost, and it was found in the conversation)"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Created<O> {
    value: O,
    attempts: u32,
    /// The head of the answer; none when it was lost.
    head: Option<(StatusCode, HeaderMap)>,
}

impl<O> Created<O> {
    pub(super) fn answered(value: O, answer: Answer, attempts: u32) -> Self {
        Self { value, attempts, head: Some((answer.status, answer.headers)) }
    }

    pub(super) fn found(value: O, attempts: u32) -> Self {
        Self { value, attempts, head: None }
    }

    /// Whether the service's answer was lost and this was read from the conversation instead. A recovered reply has the
    /// message's id and its present status; the other fields of the answer are lost, and so are its status and headers.
    #[must_use]
    pub fn recovered(&self) -> bool {
        self.head.is_none()
    }

    /// The status, in the 200s; none when this was [recovered](Self::recovered).
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.head.as_ref().map(|(status, _)| *status)
    }

    /// The headers of the answer; none when this was [recovered](Self::recovered).
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.head.as_ref().map(|(_, headers)| headers)
    }

    /// How many requests it took to make it. Reads of the conversation, before or after, are not among them.
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

impl<O> Deref for Created<O> {
    type Target = O;
    fn deref(&self) -> &O {
        &self.value
    }
}

/// Without the headers: they may hold what is not for a log.
impl<O: fmt::Debug> fmt::Debug for Created<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Created")
            .field("value", &self.value)
            .field("status", &self.status())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
