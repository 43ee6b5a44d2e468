//! Whether a create is in its conversation. The API has no idempotency header, so this is how a lost answer is settled.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::expected::Us;
use super::ledger::{Ledger, Ledgers};
use crate::client::call::{identity, read};
use crate::client::engine::{Core, keyed};
use crate::client::error::{Before, Cause, Certainty, Error, Expected, Result, UnconfirmedCreate};
use crate::client::policy::Options;
use crate::{Conversation, ConversationId, Me, TimelineItem};

/// What a look at the conversation shows of a create.
///
/// ```
/// use shared_inbox::Lookup;
///
/// fn may_be_sent_again(lookup: &Lookup) -> bool {
///     matches!(lookup, Lookup::NotFound)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lookup {
    /// It is there.
    Found(TimelineItem),
    /// It is not there: nothing is new that could be it.
    NotFound,
    /// Something is there that may be it or not. A person can tell.
    Unclear,
}

/// Looks whether a create of unknown effect is in its conversation now.
pub(crate) async fn find_unconfirmed(
    core: &Arc<Core>,
    ledgers: &Ledgers,
    unconfirmed: &UnconfirmedCreate,
) -> Result<Lookup> {
    let UnconfirmedCreate { conversation, expected, before } = unconfirmed;
    let options = core.options.clone().started(core.clock.now());
    // Waits for a create under way in this conversation, whose item might be taken for the lost one.
    let mut ledger = ledger_of(core, ledgers, conversation, options.deadline).await?;
    let now = core.clock.now();
    ledger.begin(now);
    let look = look(core, conversation, &options, &mut ledger).await?;
    let me = whose(core, expected, &options).await?;
    // One of the lost ones is this.
    let others = ledger.may_own(expected, 1);
    let mut lookup = look.judge(me, expected, before, &ledger, others);
    if lookup == Lookup::Unclear
        && let Some(before) = ledger.read_before(expected)
        && let found @ Lookup::Found(_) = look.judge(me, expected, &before, &ledger, others)
    {
        lookup = found;
    }
    if let Lookup::Found(item) = &lookup
        && let Some(key) = look.key(item)
    {
        ledger.found(expected, key, now);
    }
    Ok(lookup)
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

/// A conversation as it is now.
pub(super) struct Look(pub(super) Conversation);

/// Reads the conversation, and finds the items of earlier notes in it, whose answers did not name them.
pub(super) async fn look(
    core: &Arc<Core>,
    conversation: &ConversationId,
    options: &Options,
    ledger: &mut Ledger,
) -> Result<Look> {
    let conversation = read(core, conversation, options).await?;
    if ledger.has_unseen() {
        let us = Us::new(Some(identity(core, options).await?), &conversation.team);
        ledger.settle(&conversation, &us, core.clock.now(), options.visibility_timeout);
    }
    Ok(Look(conversation))
}

/// Whose name an item of this kind shows. Only notes are known by it.
pub(super) async fn whose<'a>(
    core: &'a Core,
    expected: &Expected,
    options: &Options,
) -> Result<Option<&'a Me>> {
    match expected {
        Expected::Note { .. } => identity(core, options).await.map(Some),
        Expected::Message { .. } => Ok(None),
    }
}

impl Look {
    /// Whether the expected item is among what is new and not known to be another's. `others` says whether another create
    /// of the same words may have made it instead.
    ///
    /// Likeness tells what is found from what a person must look at. That nothing is there is said only when nothing new
    /// could be it, whatever it says.
    pub(super) fn judge(
        &self,
        me: Option<&Me>,
        expected: &Expected,
        before: &Before,
        ledger: &Ledger,
        others: bool,
    ) -> Lookup {
        let us = Us::new(me, &self.0.team);
        let mut lookup = Lookup::NotFound;
        let mut fitting = 0;
        for (key, item) in keyed(&self.0) {
            if ledger.owns(&key) || !before.is_new(&key, item) || !expected.could_be(item, &us) {
                continue;
            }
            fitting += usize::from(expected.is(item, &us));
            lookup = match lookup {
                _ if fitting == 1 && expected.is(item, &us) && before.is_over(item) && !others => {
                    Lookup::Found(item.clone())
                }
                found @ Lookup::Found(_) if fitting == 1 => found,
                _ => Lookup::Unclear,
            };
        }
        lookup
    }

    /// What this item is known by.
    pub(super) fn key(&self, item: &TimelineItem) -> Option<String> {
        keyed(&self.0).find(|(_, other)| *other == item).map(|(key, _)| key)
    }
}
