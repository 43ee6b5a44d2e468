//! What a create looks like in the timeline.

use std::collections::BTreeSet;

use super::words::{Likeness, compare, compare_extended};
use crate::client::error::Expected;
use crate::input::{AddNote, Reply, RequestDocuments};
use crate::{Conversation, Direction, MessageStatus, TimelineItem};

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
