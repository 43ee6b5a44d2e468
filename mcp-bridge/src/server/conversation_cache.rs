//! Caches recently seen conversations, so that a result can name what changed, and a list who wrote last, without another
//! request. Nothing is decided by it: consent and sending always use a fresh read.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use shared_inbox::{
    AssignTo, Conversation, ConversationId, ConversationSummary, Direction, Team, TeamMember, Timestamp,
};

use crate::render::LastWords;

/// How long tags count as known: others change them too.
const TAGS_TTL: Duration = Duration::from_secs(300);
/// Conversations that are remembered.
const MAX_REMEMBERED: usize = 500;
/// Characters of what was written that are remembered: more than a snippet has.
const MAX_SNIPPET: usize = 1_000;

#[derive(Default)]
pub(super) struct ConversationCache(Mutex<CacheState>);

#[derive(Default)]
struct CacheState {
    conversations: HashMap<ConversationId, CachedConversation>,
    /// The team of the conversation that was read last; most have the same.
    team: Option<Arc<Team>>,
}

#[derive(Default)]
struct CachedConversation {
    tags: Option<(Instant, Vec<String>)>,
    team: Option<Arc<Team>>,
    /// When the last message was written, and by whom.
    last: Option<(Timestamp, LastWords)>,
    /// What this bridge wrote last.
    wrote: Option<String>,
}

impl ConversationCache {
    pub(super) fn read(&self, c: &Conversation, now: Instant) {
        let mut state = self.lock();
        let team = match &state.team {
            Some(team) if **team == c.team => team.clone(),
            _ => Arc::new(c.team.clone()),
        };
        state.team = Some(team.clone());
        let cached = state.of(&c.id);
        cached.tags = Some((now, c.tags.clone()));
        cached.team = Some(team);
        let last = c.timeline.iter().rev().find_map(|item| item.as_message());
        cached.last = last.and_then(|message| {
            Some((
                c.last_message_at,
                match message.direction {
                    Direction::Inbound => LastWords::Customers,
                    Direction::Outbound => LastWords::Ours,
                    _ => return None,
                },
            ))
        });
    }

    /// Remembers listed conversations, and returns who wrote last in each, as far as that is known.
    pub(super) fn list(
        &self,
        all: &[ConversationSummary],
        now: Instant,
    ) -> HashMap<ConversationId, LastWords> {
        let mut state = self.lock();
        let mut known = HashMap::new();
        for c in all {
            let cached = state.of(&c.id);
            cached.tags = Some((now, c.tags.clone()));
            known.extend(cached.last_words(c).map(|whose| (c.id.clone(), whose)));
        }
        known
    }

    /// Remembers what this bridge wrote to the customer.
    pub(super) fn wrote(&self, id: &ConversationId, text: &str) {
        // A snippet is the start of it.
        let start: String = text.chars().take(MAX_SNIPPET).collect();
        self.lock().of(id).wrote = Some(plain(&start));
    }

    /// Returns the tags of a conversation after this change, if they were known before.
    pub(super) fn tagged(
        &self,
        id: &ConversationId,
        add: &[String],
        remove: &[String],
        now: Instant,
    ) -> Option<Vec<String>> {
        let mut state = self.lock();
        let (at, tags) = state.conversations.get_mut(id)?.tags.as_mut()?;
        if now.saturating_duration_since(*at) > TAGS_TTL {
            return None;
        }
        for tag in add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        tags.retain(|tag| !remove.contains(tag));
        Some(tags.clone())
    }

    /// Returns those to whom a conversation can be assigned, if it was read.
    pub(super) fn team(&self, id: &ConversationId) -> Option<Arc<Team>> {
        self.lock().conversations.get(id)?.team.clone()
    }

    /// Returns the name of someone on the team of any conversation that was read.
    pub(super) fn name(&self, who: &AssignTo) -> Option<String> {
        let state = self.lock();
        let mut teams = state.conversations.values().filter_map(|cached| cached.team.as_deref());
        teams.find_map(|team| Some(members(team).find(|member| member.id == *who)?.name.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn of(&mut self, id: &ConversationId) -> &mut CachedConversation {
        if self.conversations.len() >= MAX_REMEMBERED && !self.conversations.contains_key(id) {
            self.conversations.clear();
        }
        self.conversations.entry(id.clone()).or_default()
    }
}

impl CachedConversation {
    fn last_words(&self, c: &ConversationSummary) -> Option<LastWords> {
        let words = plain(c.snippet.trim_end_matches('…'));
        if self.wrote.as_ref().is_some_and(|wrote| !words.is_empty() && wrote.starts_with(&words)) {
            return Some(LastWords::Ours);
        }
        match self.last {
            Some((at, whose)) if at == c.last_message_at => Some(whose),
            // A conversation begins with a customer's email.
            _ => (c.message_count == 1).then_some(LastWords::Customers),
        }
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn members(team: &Team) -> impl Iterator<Item = &TeamMember> {
    team.people.iter().chain(&team.agents)
}
