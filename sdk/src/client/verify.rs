//! What a create looks like in the timeline, and whether it is there. The API has no idempotency header, so this is how a
//! lost answer is settled.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;

use super::Client;
use super::error::{Cause, Certainty, Error, Result};
use super::ledger::Ledger;
use super::options::Options;
use super::words_match::{Likeness, compare, compare_extended};
use crate::input::{AddNote, Reply, RequestDocuments};
use crate::{Conversation, ConversationId, Direction, MessageStatus, Operation, TimelineItem};

/// What to do when the answer to a create is lost.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use shared_inbox::Verification;
///
/// // One request, whatever happens; a note twice or not at all would be no harm.
/// inbox.conversation(&id).add_note("Seen.").verification(Verification::Never).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verification {
    /// Look at the conversation, and send again only what is not there. Costs one read before each create, so that an
    /// identical item that was there before is never taken for the new one.
    #[default]
    Verified,
    /// Send once. No reads; a lost answer is an error of [`Certainty::Unknown`].
    Never,
}

/// What was meant to be created.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Expected {
    Note { body: String },
    Message { body: String, labels: Vec<String>, send: bool },
}

impl From<&AddNote> for Expected {
    fn from(note: &AddNote) -> Self {
        Self::Note { body: note.body.clone() }
    }
}

impl From<&Reply> for Expected {
    fn from(reply: &Reply) -> Self {
        let documents = reply.documents.iter().flatten();
        Self::Message {
            body: reply.body.clone(),
            labels: documents.map(|document| document.label.clone()).collect(),
            send: reply.send,
        }
    }
}

impl From<&RequestDocuments> for Expected {
    fn from(request: &RequestDocuments) -> Self {
        Self::Message {
            body: request.message.clone().unwrap_or_default(),
            labels: request.documents.iter().map(|document| document.label.clone()).collect(),
            send: request.send,
        }
    }
}

impl Expected {
    /// `author` is the name under which this key's notes show.
    fn likeness(&self, item: &TimelineItem, author: &str) -> Likeness {
        match (self, item) {
            (Self::Note { body }, TimelineItem::Note(note)) if note.author == author => {
                compare(body, &note.body)
            }
            (Self::Message { body, labels, send }, TimelineItem::Message(message))
                if message.direction == Direction::Outbound =>
            {
                let likeness = if labels.is_empty() {
                    compare(body, &message.text)
                } else {
                    compare_extended(body, labels, &message.text)
                };
                // A draft of the words that were to be sent may be someone else's, or ours, stopped; a mail of the words
                // that were to be a draft may be someone else's, or ours, approved.
                use MessageStatus::{Draft, Failed, Scheduled, Sending, Sent};
                let fits = match &message.status {
                    Some(Draft) => !send,
                    Some(Scheduled | Sending | Sent | Failed) => *send,
                    _ => false,
                };
                if fits { likeness } else { likeness.min(Likeness::Similar) }
            }
            _ => Likeness::Other,
        }
    }
}

/// The ids of what could be mistaken for a new item.
pub(super) fn ids(conversation: &Conversation) -> BTreeSet<String> {
    conversation.timeline.iter().filter_map(id).map(str::to_owned).collect()
}

pub(super) fn id(item: &TimelineItem) -> Option<&str> {
    match item {
        TimelineItem::Message(message) => Some(message.id.as_str()),
        TimelineItem::Note(note) => Some(note.id.as_str()),
        _ => None,
    }
}

/// Items like the expected one that were not there before, with how much they are like it.
pub(super) fn new_items<'a>(
    conversation: &'a Conversation,
    before: &'a BTreeSet<String>,
    expected: &'a Expected,
    author: &'a str,
) -> impl Iterator<Item = (&'a TimelineItem, Likeness)> {
    conversation
        .timeline
        .iter()
        .filter(|item| id(item).is_some_and(|id| !before.contains(id)))
        .map(move |item| (item, expected.likeness(item, author)))
        .filter(|(_, likeness)| *likeness != Likeness::Other)
}

/// What a look at the conversation shows of a create.
///
/// ```
/// use shared_inbox::Sighting;
///
/// fn may_be_sent_again(sighting: &Sighting) -> bool {
///     matches!(sighting, Sighting::NotFound)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sighting {
    /// It is there.
    Found(TimelineItem),
    /// It is not there.
    NotFound,
    /// Something is there that may be it or not. A person can tell.
    Unclear,
}

/// A create whose effect is unknown, and all that is needed to find out later.
///
/// [`Error::unconfirmed`](crate::Error::unconfirmed) carries it; [`Client::look_for`] looks. It can be stored as JSON and
/// used by another process. That JSON holds the text of the note or mail; `Debug` does not show it.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, stored: String) -> Result<(), Box<dyn std::error::Error>> {
/// let unconfirmed: shared_inbox::Unconfirmed = serde_json::from_str(&stored)?;
/// let sighting = inbox.look_for(&unconfirmed).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unconfirmed {
    conversation: ConversationId,
    expected: Expected,
    /// What was there before the first attempt; missing when nobody looked.
    before: Option<BTreeSet<String>>,
}

impl Unconfirmed {
    pub(super) fn new(
        conversation: &ConversationId,
        expected: &Expected,
        before: Option<&BTreeSet<String>>,
    ) -> Self {
        Self { conversation: conversation.clone(), expected: expected.clone(), before: before.cloned() }
    }

    /// The conversation in which it may be.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Whether it is a note, and not a reply or a document request.
    #[must_use]
    pub fn is_note(&self) -> bool {
        matches!(self.expected, Expected::Note { .. })
    }
}

impl fmt::Debug for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unconfirmed")
            .field("conversation", &self.conversation)
            .field("is_note", &self.is_note())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Looks whether a create of unknown effect is in its conversation now.
    ///
    /// Give the service a while ([`settle`](Self::settle)) before you trust a [`Sighting::NotFound`].
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
    /// use shared_inbox::Sighting;
    ///
    /// if let Err(error) = inbox.conversation(&id).reply("Your refund is on its way.").and_send().await {
    ///     let Some(unconfirmed) = error.unconfirmed() else { return Err(error) };
    ///     match inbox.look_for(unconfirmed).await? {
    ///         Sighting::Found(_) => println!("it went through"),
    ///         _ => println!("ask a person to look at {}", unconfirmed.conversation()),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the conversation, or for a note the key's name, cannot be read.
    pub async fn look_for(&self, unconfirmed: &Unconfirmed) -> Result<Sighting> {
        let options = self.inner.options.clone().started(self.inner.clock.now());
        // Waits for a create under way in this conversation, whose item might be taken for the lost one.
        let mut ledger = self.ledger(&unconfirmed.conversation, options.deadline).await?;
        let author = self.author(&unconfirmed.expected, &options).await?;
        let conversation = self.read_for(&unconfirmed.conversation, &options, &mut ledger).await?;
        let nothing = BTreeSet::new();
        let before = unconfirmed.before.as_ref().unwrap_or(&nothing);
        let sighting = judge(&conversation, before, &unconfirmed.expected, author, &ledger);
        // Without a look before, an older item cannot be told from a new one.
        Ok(if unconfirmed.before.is_none() && matches!(sighting, Sighting::Found(_)) {
            Sighting::Unclear
        } else {
            sighting
        })
    }

    /// The ledger of a conversation, as soon as nobody else holds it.
    pub(super) async fn ledger(
        &self,
        conversation: &ConversationId,
        patience: Duration,
    ) -> Result<OwnedMutexGuard<Ledger>> {
        let clock = &self.inner.clock;
        let ledger = self.inner.ledgers.of(conversation, clock.now());
        tokio::select! {
            biased;
            ledger = ledger.lock_owned() => Ok(ledger),
            () = clock.sleep(patience) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
        }
    }

    /// The name under which an item of this kind shows. Only notes need it.
    pub(super) async fn author(&self, expected: &Expected, options: &Options) -> Result<&str> {
        match expected {
            Expected::Note { .. } => Ok(&self.identity(options).await?.agent.name),
            Expected::Message { .. } => Ok(""),
        }
    }

    /// Reads the conversation, and finds the items of earlier notes in it, whose answers did not name them.
    pub(super) async fn read_for(
        &self,
        conversation: &ConversationId,
        options: &Options,
        ledger: &mut Ledger,
    ) -> Result<Conversation> {
        let mut read = self.read(conversation);
        read.options = options.clone();
        let conversation = read.await?;
        if ledger.has_unseen() {
            let author = &self.identity(options).await?.agent.name;
            ledger.settle(&conversation, author, self.inner.clock.now(), options.settle);
        }
        Ok(conversation)
    }

    /// A read of the conversation, for those who look into it again and again.
    pub(super) fn read(&self, conversation: &ConversationId) -> super::Call<(), Conversation> {
        super::Call::bare(self, Operation::GetConversation, Some(conversation))
    }
}

/// Whether the expected item is among what is new and not known to be another create's.
pub(super) fn judge(
    conversation: &Conversation,
    before: &BTreeSet<String>,
    expected: &Expected,
    author: &str,
    ledger: &Ledger,
) -> Sighting {
    let mut sighting = Sighting::NotFound;
    for (item, likeness) in new_items(conversation, before, expected, author) {
        if id(item).is_some_and(|id| ledger.owns(id)) {
            continue;
        }
        match likeness {
            Likeness::Same if !ledger.may_own(expected) => return Sighting::Found(item.clone()),
            _ => sighting = Sighting::Unclear,
        }
    }
    sighting
}
