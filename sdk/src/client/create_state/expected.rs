//! The item that a create is meant to make, and the items of a timeline that could be it or surely are.

use serde::{Deserialize, Serialize};

use super::same_text::{same, same_with_checklist};
use crate::{Direction, Me, Message, MessageStatus, Team, TimelineItem};

/// The item that was meant to be created.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Expected {
    Note { body: String },
    Message { body: String, labels: Vec<String>, send: bool },
}

impl Expected {
    /// Returns whether the item can be this create, however the service may have changed it: an item of its
    /// kind that is not known to be another's, or of an unknown kind.
    pub(crate) fn could_be(&self, item: &TimelineItem, own: &OwnNames<'_>) -> bool {
        match (self, item) {
            (Self::Note { .. }, TimelineItem::Note(note)) => !own.is_known_other(&note.author),
            (Self::Message { .. }, TimelineItem::Message(message)) => message.direction != Direction::Inbound,
            (_, TimelineItem::Unknown(_)) => true,
            _ => false,
        }
    }

    /// Returns whether the item is surely this create, if it has the right time.
    pub(crate) fn matches(&self, item: &TimelineItem, own: &OwnNames<'_>) -> bool {
        match (self, item) {
            (Self::Note { body }, TimelineItem::Note(note)) => {
                own.includes(&note.author) && same(body, &note.body)
            }
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

/// Returns whether the status fits. A draft with the text of a reply that was to be sent may be someone
/// else's, or ours, stopped; an email with the text of a draft may be someone else's, or ours, approved.
fn fits(message: &Message, send: bool) -> bool {
    use MessageStatus::{Draft, Failed, Scheduled, Sending, Sent};
    match &message.status {
        Some(Draft) => !send,
        Some(Scheduled | Sending | Sent | Failed) => send,
        _ => false,
    }
}

/// The names under which this key's notes show, and those of others.
pub(crate) struct OwnNames<'a> {
    /// Not needed for a message.
    me: Option<&'a Me>,
    team: &'a Team,
    /// The name that the team has for this key's agent, which may have been renamed.
    listed: Option<&'a str>,
}

impl<'a> OwnNames<'a> {
    pub(crate) fn new(me: Option<&'a Me>, team: &'a Team) -> Self {
        let own = me.map(|me| format!("agent:{}", me.agent.id));
        let listed = team.agents.iter().find(|agent| Some(agent.id.to_string()) == own);
        Self { me, team, listed: listed.map(|agent| agent.name.as_str()) }
    }

    fn includes(&self, author: &str) -> bool {
        self.listed == Some(author) || self.me.is_some_and(|me| me.agent.name == author)
    }

    /// Returns whether this is surely someone else: the team lists us under one name, and them under another.
    fn is_known_other(&self, author: &str) -> bool {
        let mut team = self.team.people.iter().chain(&self.team.agents);
        self.listed.is_some() && !self.includes(author) && team.any(|member| member.name == author)
    }
}
