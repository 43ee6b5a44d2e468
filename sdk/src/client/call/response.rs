//! A response and what is known about it.

use std::fmt;
use std::ops::Deref;

use http::{HeaderMap, StatusCode};

use crate::client::engine::HttpResponse;

/// The value that a request returned, with the status and headers of the response and the number of attempts.
///
/// It dereferences to the value. A create always returns one; other requests do with
/// [`send_with_response`](crate::Request::send_with_response). A create whose response was lost and that was
/// then found in the conversation is [`recovered`](Self::recovered), and one that an earlier call with the
/// same key has made is [`replayed`](Self::replayed): these have neither status nor headers.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use shared_inbox::{Response, Tag};
///
/// let tags: Response<Vec<Tag>> = inbox.tags().send_with_response().await?;
/// println!("{} tags, status {:?}", tags.len(), tags.status());
///
/// let draft = inbox.conversation(&id).reply("Your refund is on its way.").await?;
/// println!("{} waits for approval, after {} attempts", draft.message_id, draft.attempts());
/// if draft.recovered() {
///     println!("(its response was lost, and it was found in the conversation)");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Response<O> {
    value: O,
    attempts: u32,
    source: Source,
}

/// Where the value comes from.
#[derive(Clone)]
enum Source {
    Response(StatusCode, HeaderMap),
    /// The conversation: the response was lost.
    Conversation,
    /// The record of an earlier call with the same key.
    Record,
}

impl<O> Response<O> {
    pub(crate) fn received(value: O, response: HttpResponse, attempts: u32) -> Self {
        Self { value, attempts, source: Source::Response(response.status, response.headers) }
    }

    pub(crate) fn read_back(value: O, attempts: u32) -> Self {
        Self { value, attempts, source: Source::Conversation }
    }

    pub(crate) fn replayed_from_record(value: O) -> Self {
        Self { value, attempts: 0, source: Source::Record }
    }

    /// Returns the outcome and the attempts, as spans and counters name them.
    pub(crate) fn describe(&self) -> (&'static str, u32) {
        let outcome = match self.source {
            Source::Response(..) => "received",
            Source::Conversation => "recovered",
            Source::Record => "replayed",
        };
        (outcome, self.attempts)
    }

    /// Returns whether the response was lost and the value was read from the conversation instead.
    ///
    /// A recovered reply has the message's id and its present status; the other fields of the response are
    /// lost.
    #[must_use]
    pub fn recovered(&self) -> bool {
        matches!(self.source, Source::Conversation)
    }

    /// Returns whether this is the result of an earlier call with the same
    /// [`once`](crate::create::CreateRequest::once) key: nothing was sent.
    #[must_use]
    pub fn replayed(&self) -> bool {
        matches!(self.source, Source::Record)
    }

    /// Returns the status, in the 200s; `None` when this was [recovered](Self::recovered) or
    /// [replayed](Self::replayed).
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match &self.source {
            Source::Response(status, _) => Some(*status),
            _ => None,
        }
    }

    /// Returns the headers of the response; `None` when this was [recovered](Self::recovered) or
    /// [replayed](Self::replayed).
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        match &self.source {
            Source::Response(_, headers) => Some(headers),
            _ => None,
        }
    }

    /// Returns how many times the request was sent. The reads that recover a create are not among them.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the value alone.
    #[must_use]
    pub fn into_inner(self) -> O {
        self.value
    }
}

impl<O> Deref for Response<O> {
    type Target = O;
    fn deref(&self) -> &O {
        &self.value
    }
}

/// Without the headers: they may hold what is not for a log.
impl<O: fmt::Debug> fmt::Debug for Response<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("value", &self.value)
            .field("status", &self.status())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
