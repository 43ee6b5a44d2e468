//! Looks a create up in its conversation. The API has no idempotency header, so this is how a lost response is recovered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use super::match_item::Us;
use super::recent_creates::{CreateLog, RecentCreates};
use crate::client::call::{identity, read};
use crate::client::engine::{Core, ServiceClock, item_keys};
use crate::client::error::{Cause, Certainty, Error, Expected, Result, UnconfirmedCreate};
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
    /// Something is there that may be it, and a person has to decide. Or nothing is there yet, and the time for looking ended
    /// before it would have shown.
    Unclear,
}

/// Looks for a create of unknown effect in its conversation. Boxed, so that its size is not its callers'.
pub(crate) fn find_unconfirmed<'a>(
    core: &'a Arc<Core>,
    log: &'a CreateLog,
    unconfirmed: &'a UnconfirmedCreate,
) -> BoxFuture<'a, Result<Lookup>> {
    Box::pin(async move {
        let options = core.options.clone().started(core.clock.now());
        // Waits for a create in flight in this conversation, whose item might be taken for the lost one.
        let mut recent = recent_creates(core, log, &unconfirmed.conversation, options.deadline).await?;
        recent.begin(core.clock.now());
        let ends = options.ends(core.clock.now());
        let started = core.clock.now();
        let mut interval = FIRST_LOOK_INTERVAL;
        loop {
            let looked_at = core.clock.now();
            // This is one of the lost creates.
            let lookup = look(core, unconfirmed, &options, &mut recent, 1).await?;
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

impl UnconfirmedCreate {
    /// Returns how long ago it was sent at least, as far as the service's clock tells.
    fn since_sent(&self, clock: &ServiceClock, now: Instant) -> Duration {
        let earliest = clock.reading().map(|reading| reading.earliest(now));
        let passed = earliest.zip(self.sent_by).map(|(now, sent)| now.as_millis() - sent.as_millis());
        Duration::from_millis(passed.and_then(|passed| u64::try_from(passed).ok()).unwrap_or_default())
    }
}

/// Waits for the record of recent creates in a conversation, which one create holds at a time.
pub(super) async fn recent_creates(
    core: &Core,
    log: &CreateLog,
    conversation: &ConversationId,
    max_wait: Duration,
) -> Result<OwnedMutexGuard<RecentCreates>> {
    let recent = log.recent(conversation, core.clock.now());
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
        let us = Us::new(Some(identity(core, options).await?), &conversation.team);
        recent.resolve(&conversation, &us, core.clock.now());
    }
    Ok(conversation)
}

/// Reads the conversation and looks for a create in it. `lost` is how many lost creates with the same text are this one.
///
/// It is found when exactly one new item has its kind, its text, our name (on a note) and the right time. It is not found only
/// when no new item could be it, whatever its text.
pub(super) async fn look(
    core: &Arc<Core>,
    create: &UnconfirmedCreate,
    options: &Options,
    recent: &mut RecentCreates,
    lost: usize,
) -> Result<Lookup> {
    let expected = &create.expected;
    let conversation = read_back(core, &create.conversation, expected, options, recent).await?;
    // Only notes show who wrote them.
    let me = match expected {
        Expected::Note { .. } => Some(identity(core, options).await?),
        Expected::Message { .. } => None,
    };
    let us = Us::new(me, &conversation.team);
    let now = core.clock.now();
    let before = create.before.updated(&core.service_clock);
    let latest = core.service_clock.reading().map(|reading| reading.latest(now));
    let candidates: Vec<_> = item_keys(&conversation)
        .filter(|(key, item)| !recent.owns(key) && before.may_be_ours(key, item))
        .filter(|(_, item)| expected.could_be(item, &us))
        .collect();
    let mut matching = candidates.iter().filter(|(_, item)| expected.matches(item, &us));
    Ok(match (matching.next(), matching.next()) {
        _ if candidates.is_empty() => Lookup::NotFound,
        (Some((key, item)), None) if before.is_ours(item, latest) && !recent.may_own(expected, lost) => {
            recent.found(expected, key.clone(), now);
            Lookup::Found((*item).clone())
        }
        _ => Lookup::Unclear,
    })
}
