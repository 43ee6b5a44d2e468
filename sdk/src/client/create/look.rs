//! Whether a create is in its conversation. The API has no idempotency header, so this is how a lost answer is settled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::expected::{id, new_items};
use super::ledger::{Ledger, Ledgers};
use super::words::Likeness;
use crate::client::call::{identity, read};
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Expected, Result, Unconfirmed};
use crate::client::policy::Options;
use crate::{Conversation, ConversationId, TimelineItem};

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

/// Looks whether a create of unknown effect is in its conversation now.
pub(crate) async fn look_for(
    core: &Arc<Core>,
    ledgers: &Ledgers,
    unconfirmed: &Unconfirmed,
) -> Result<Sighting> {
    let options = core.options.clone().started(core.clock.now());
    // Waits for a create under way in this conversation, whose item might be taken for the lost one.
    let mut ledger = ledger_of(core, ledgers, &unconfirmed.conversation, options.deadline).await?;
    let author = author(core, &unconfirmed.expected, &options).await?;
    let conversation = read_for(core, &unconfirmed.conversation, &options, &mut ledger).await?;
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
pub(super) async fn ledger_of(
    core: &Core,
    ledgers: &Ledgers,
    conversation: &ConversationId,
    patience: Duration,
) -> Result<OwnedMutexGuard<Ledger>> {
    let ledger = ledgers.of(conversation, core.clock.now());
    tokio::select! {
        biased;
        ledger = ledger.lock_owned() => Ok(ledger),
        () = core.clock.sleep(patience) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
    }
}

/// The name under which an item of this kind shows. Only notes need it.
pub(super) async fn author<'a>(
    core: &'a Arc<Core>,
    expected: &Expected,
    options: &Options,
) -> Result<&'a str> {
    match expected {
        Expected::Note { .. } => Ok(&identity(core, options).await?.agent.name),
        Expected::Message { .. } => Ok(""),
    }
}

/// Reads the conversation, and finds the items of earlier notes in it, whose answers did not name them.
pub(super) async fn read_for(
    core: &Arc<Core>,
    conversation: &ConversationId,
    options: &Options,
    ledger: &mut Ledger,
) -> Result<Conversation> {
    let conversation = read(core, conversation, options).await?;
    if ledger.has_unseen() {
        let author = &identity(core, options).await?.agent.name;
        ledger.settle(&conversation, author, core.clock.now(), options.settle);
    }
    Ok(conversation)
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
