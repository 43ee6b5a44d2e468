//! Looks a create up in its conversation. The API has no idempotency header, so this is how a lost response
//! is recovered.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::lease::Lease;
use crate::client::call::{identity, read};
use crate::client::create_state::{Expected, OwnNames, RecentCreates, UnconfirmedCreate, item_keys};
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options};
use crate::{Conversation, ConversationId, TimelineItem};

/// The first wait before a read-back; doubles up to [`MAX_LOOK_INTERVAL`].
pub(super) const FIRST_LOOK_INTERVAL: Duration = Duration::from_millis(500);
pub(super) const MAX_LOOK_INTERVAL: Duration = Duration::from_secs(4);

/// The result of looking for a create in its conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lookup {
    /// It is there.
    Found(TimelineItem),
    /// It is not there, and would have shown by now: nothing new could be it.
    NotFound,
    /// Something is there that may be it, and a person has to decide. Or nothing is there yet, and the time
    /// for looking ended before it would have shown.
    Unclear,
}

/// Looks for a create of unknown effect in its conversation. Boxed, so that its size is not its callers'.
pub(crate) fn find_unconfirmed<'a>(
    core: &'a Arc<Core>,
    unconfirmed: &'a UnconfirmedCreate,
    options: &'a Options,
    lease: Option<&'a Lease>,
) -> BoxFuture<'a, Result<Lookup>> {
    Box::pin(async move {
        let options = options.clone().started(core.clock.now());
        // Waits for a create in flight in this conversation, whose item might be taken for the lost one.
        let mut recent = recent_creates(core, &unconfirmed.conversation, options.deadline).await?;
        recent.begin(core.clock.now());
        let ends = options.ends(core.clock.now());
        let started = core.clock.now();
        let mut interval = FIRST_LOOK_INTERVAL;
        loop {
            let looked_at = core.clock.now();
            // This is one of the lost creates.
            let lookup = look(core, unconfirmed, &options, &mut recent, 1, lease).await?;
            let since_sent = unconfirmed.since_sent(&core.service_clock, looked_at);
            let left = options.visibility_timeout.saturating_sub(since_sent.max(looked_at - started));
            if lookup != Lookup::NotFound || left.is_zero() {
                return Ok(lookup);
            }
            // It may still show.
            if left >= ends.saturating_duration_since(core.clock.now()) {
                return Ok(Lookup::Unclear);
            }
            core.clock.sleep(interval.min(left)).await;
            interval = (interval * 2).min(MAX_LOOK_INTERVAL);
        }
    })
}

/// Waits for the record of recent creates in a conversation, which one create holds at a time.
pub(super) async fn recent_creates(
    core: &Core,
    conversation: &ConversationId,
    max_wait: Duration,
) -> Result<OwnedMutexGuard<RecentCreates>> {
    let recent = core.create_log.recent(conversation, core.clock.now());
    tokio::select! {
        biased;
        recent = recent.lock_owned() => Ok(recent),
        () = core.clock.sleep(max_wait) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
    }
}

/// Reads the conversation, and finds the items of earlier notes in it: their responses did not name them.
pub(super) async fn read_back(
    core: &Arc<Core>,
    conversation: &ConversationId,
    expected: &Expected,
    options: &Options,
    recent: &mut RecentCreates,
) -> Result<Conversation> {
    let conversation = read(core, conversation, options).await?;
    if matches!(expected, Expected::Note { .. }) && recent.has_confirmed() {
        let own = OwnNames::new(Some(identity(core, options).await?), &conversation.team);
        recent.resolve(&conversation, &own, core.clock.now());
    }
    Ok(conversation)
}

/// Reads the conversation and looks for a create in it. `lost` is how many lost creates with the same text
/// are this one. With a lease, the items of other keys are not it.
///
/// It is found when exactly one new item has its kind, its text, our name (on a note) and the right time. It
/// is not found only when no new item could be it, whatever its text; a note with the very words of another
/// key is that key's.
pub(super) async fn look(
    core: &Arc<Core>,
    create: &UnconfirmedCreate,
    options: &Options,
    recent: &mut RecentCreates,
    lost: usize,
    lease: Option<&Lease>,
) -> Result<Lookup> {
    let expected = &create.expected;
    let conversation = read_back(core, &create.conversation, expected, options, recent).await?;
    // Only notes show who wrote them.
    let me = match expected {
        Expected::Note { .. } => Some(identity(core, options).await?),
        Expected::Message { .. } => None,
    };
    let own = OwnNames::new(me, &conversation.team);
    let now = core.clock.now();
    let baseline = create.baseline.updated(&core.service_clock);
    let latest = core.service_clock.reading().map(|reading| reading.latest(now));
    let mut candidates: Vec<_> = item_keys(&conversation)
        .filter(|(key, item)| !recent.owns(key) && baseline.may_be_ours(key, item))
        .filter(|(_, item)| expected.could_be(item, &own))
        .collect();
    let mut is_shared = recent.may_own(expected, lost);
    if let (Some(lease), false) = (lease, candidates.is_empty()) {
        let others = lease.others(create).await?;
        candidates.retain(|(key, item)| {
            let is_theirs =
                || !expected.matches(item, &own) && others.have_words_of(item, &create.conversation);
            !others.have_made(key) && !is_theirs()
        });
        is_shared |= others.is_shared;
    }
    let mut matching = candidates.iter().filter(|(_, item)| expected.matches(item, &own));
    Ok(match (matching.next(), matching.next()) {
        _ if candidates.is_empty() => Lookup::NotFound,
        (Some((key, item)), None) if baseline.is_ours(item, latest) && !is_shared => {
            recent.found(expected, key.clone(), now);
            Lookup::Found((*item).clone())
        }
        _ => Lookup::Unclear,
    })
}
