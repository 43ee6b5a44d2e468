//! Matches a create with the items of a timeline: which could be it, and which surely is if it has the right time.

use super::same_text::{same, same_with_checklist};
use crate::client::error::Expected;
use crate::{Direction, Me, Message, MessageStatus, Team, TimelineItem};

impl Expected {
    /// Returns whether the item can be this create, however the service may have changed it: an item of its kind that is not
    /// known to be another's, or of an unknown kind.
    pub(super) fn could_be(&self, item: &TimelineItem, us: &Us<'_>) -> bool {
        match (self, item) {
            (Self::Note { .. }, TimelineItem::Note(note)) => !us.is_another(&note.author),
            (Self::Message { .. }, TimelineItem::Message(message)) => message.direction != Direction::Inbound,
            (_, TimelineItem::Unknown(_)) => true,
            _ => false,
        }
    }

    /// Returns whether the item is surely this create, if it has the right time.
    pub(super) fn matches(&self, item: &TimelineItem, us: &Us<'_>) -> bool {
        match (self, item) {
            (Self::Note { body }, TimelineItem::Note(note)) => us.are(&note.author) && same(body, &note.body),
            (Self::Message { body, labels, send }, TimelineItem::Message(message)) => {
                let words = match labels.is_empty() {
                    true => same(body, &message.text),
                    false => same_with_checklist(body, labels, &message.text),
                };
                message.direction == Direction::Outbound && words && fits(message, *send)
            }
            _ => false,
        }
    }
}

/// Returns whether the status fits. A draft with the text of a reply that was to be sent may be someone else's, or ours,
/// stopped; an email with the text of a draft may be someone else's, or ours, approved.
fn fits(message: &Message, send: bool) -> bool {
    use MessageStatus::{Draft, Failed, Scheduled, Sending, Sent};
    match &message.status {
        Some(Draft) => !send,
        Some(Scheduled | Sending | Sent | Failed) => send,
        _ => false,
    }
}

/// The names under which this key's notes show, and those of others.
pub(super) struct Us<'a> {
    /// Not needed for a message.
    me: Option<&'a Me>,
    team: &'a Team,
    /// The name that the team has for this key's agent, which may have been renamed.
    listed: Option<&'a str>,
}

impl<'a> Us<'a> {
    pub(super) fn new(me: Option<&'a Me>, team: &'a Team) -> Self {
        let own = me.map(|me| format!("agent:{}", me.agent.id));
        let listed = team.agents.iter().find(|agent| Some(agent.id.to_string()) == own);
        Self { me, team, listed: listed.map(|agent| agent.name.as_str()) }
    }

    fn are(&self, author: &str) -> bool {
        self.listed == Some(author) || self.me.is_some_and(|me| me.agent.name == author)
    }

    /// Returns whether this is surely someone else: the team lists us under one name, and them under another.
    fn is_another(&self, author: &str) -> bool {
        let mut team = self.team.people.iter().chain(&self.team.agents);
        self.listed.is_some() && !self.are(author) && team.any(|member| member.name == author)
    }
}
