//! What makes answers fast: where everything is, and every list in the order in which it is shown.
//!
//! None of it is part of the world document; [`World::prepare`] builds it from the data.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use shared_inbox::{
    ActorId, AgentId, ConversationId, DocumentRequestId, MailboxId, MessageId, Status, Team, UserId,
};

use super::{Item, MessageRecord, search::Words};
use crate::world::{
    World,
    people::{Key, KeyHash},
};

/// Sorts newest first; of two at the same time, the later made comes first.
pub(in crate::world) type Rank = (Reverse<i64>, Reverse<u32>);

/// In which of the four views a conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::world) enum Slot {
    Open,
    Waiting,
    Closed,
    Snoozed,
}

impl Slot {
    pub(in crate::world) const ALL: [Slot; 4] = [Slot::Open, Slot::Waiting, Slot::Closed, Slot::Snoozed];
}

/// Where a conversation is filed in the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::world) struct Place {
    pub(in crate::world) mailbox: usize,
    pub(in crate::world) slot: Slot,
    pub(in crate::world) rank: Rank,
    pub(in crate::world) assignee: Option<ActorId>,
}

#[derive(Debug, Clone, Default)]
pub(in crate::world) struct Index {
    pub(in crate::world) keys_by_hash: HashMap<KeyHash, usize>,
    pub(in crate::world) agents: HashMap<AgentId, usize>,
    pub(in crate::world) users: HashMap<UserId, usize>,
    pub(in crate::world) mailboxes: HashMap<MailboxId, usize>,
    /// Whom a conversation in each inbox can be assigned to.
    pub(in crate::world) teams: Vec<Team>,
    pub(in crate::world) conversations: HashMap<ConversationId, u32>,
    /// Conversation and place in its timeline.
    pub(in crate::world) messages: HashMap<MessageId, (u32, u32)>,
    pub(in crate::world) places: Vec<Place>,
    views: HashMap<(usize, Slot), BTreeSet<Rank>>,
    assigned: HashMap<(usize, Slot, Option<ActorId>), BTreeSet<Rank>>,
    pub(in crate::world) references: HashMap<String, Vec<u32>>,
    pub(in crate::world) tags: HashMap<String, usize>,
    pub(in crate::world) tag_counts: HashMap<(usize, usize), u64>,
    pub(in crate::world) requests: HashMap<DocumentRequestId, usize>,
    pub(in crate::world) words: Words,
    /// Documents, newest first, and the words of each.
    pub(in crate::world) documents: BTreeSet<Rank>,
    pub(in crate::world) document_words: Vec<String>,
}

impl Index {
    /// How many conversations of an inbox the view `open` shows.
    pub(in crate::world) fn open_in(&self, mailbox: usize) -> u64 {
        self.views.get(&(mailbox, Slot::Open)).map_or(0, |set| set.len() as u64)
    }

    /// A list in its order: one inbox and view, of everybody or of one assignee (or of nobody).
    pub(in crate::world) fn list(
        &self,
        mailbox: usize,
        slot: Slot,
        assignee: Option<&Option<ActorId>>,
    ) -> Option<&BTreeSet<Rank>> {
        match assignee {
            None => self.views.get(&(mailbox, slot)),
            Some(assignee) => self.assigned.get(&(mailbox, slot, assignee.clone())),
        }
    }

    fn put(&mut self, place: &Place) {
        self.views.entry((place.mailbox, place.slot)).or_default().insert(place.rank);
        let key = (place.mailbox, place.slot, place.assignee.clone());
        self.assigned.entry(key).or_default().insert(place.rank);
    }

    fn take(&mut self, place: &Place) {
        if let Some(set) = self.views.get_mut(&(place.mailbox, place.slot)) {
            set.remove(&place.rank);
        }
        let key = (place.mailbox, place.slot, place.assignee.clone());
        if let Some(set) = self.assigned.get_mut(&key) {
            set.remove(&place.rank);
            if set.is_empty() {
                self.assigned.remove(&key);
            }
        }
    }
}

/// The rank of the thing at place `at` of its list with this time.
pub(in crate::world) fn rank(time: shared_inbox::Timestamp, at: usize) -> Rank {
    (Reverse(time.as_millis()), Reverse(at as u32))
}

impl World {
    /// Notes who there is and who is on which team. Called whenever people, inboxes or keys change.
    pub(in crate::world) fn index_people(&mut self) {
        let by = |(at, key): (usize, &Key)| (key.key_hash, at);
        self.index.keys_by_hash = self.keys.iter().enumerate().map(by).collect();
        self.index.agents = self.keys.iter().enumerate().map(|(at, k)| (k.agent_id.clone(), at)).collect();
        self.index.users = self.users.iter().enumerate().map(|(at, u)| (u.id.clone(), at)).collect();
        self.index.mailboxes = self.mailboxes.iter().enumerate().map(|(at, m)| (m.id.clone(), at)).collect();
        self.index.teams = self.mailboxes.iter().map(|mailbox| self.team_of(mailbox)).collect();
    }

    fn place(&self, at: usize) -> Place {
        let thread = &self.conversations[at];
        let slot = match thread.status {
            _ if thread.snoozed_until.is_some() => Slot::Snoozed,
            Status::Waiting => Slot::Waiting,
            Status::Closed => Slot::Closed,
            _ => Slot::Open,
        };
        let mailbox = self.index.mailboxes[&thread.mailbox];
        Place { mailbox, slot, rank: rank(thread.last_message_at(), at), assignee: thread.assignee.clone() }
    }

    /// Puts a new conversation, the last of all, into the index.
    pub(in crate::world) fn index_conversation(&mut self) {
        let at = self.conversations.len() - 1;
        let place = self.place(at);
        self.index.put(&place);
        self.index.places.push(place);
        let thread = &self.conversations[at];
        self.index.conversations.insert(thread.id.clone(), at as u32);
        if let Some(reference) = &thread.reference {
            self.index.references.entry(reference.clone()).or_default().push(at as u32);
        }
        for tag in &thread.tags {
            if let Some(tag) = self.index.tags.get(tag) {
                *self.index.tag_counts.entry((*tag, self.index.places[at].mailbox)).or_default() += 1;
            }
        }
        self.index.words.add(at, &thread.subject);
        for (i, item) in thread.timeline.iter().enumerate() {
            if let Item::Message(message) = item {
                self.index.messages.insert(message.id.clone(), (at as u32, i as u32));
                self.index.words.add(at, &message.text);
            }
        }
    }

    /// Brings the lists up to date after a change of a conversation.
    pub(in crate::world) fn touch(&mut self, at: usize) {
        let new = self.place(at);
        if self.index.places[at] != new {
            let old = std::mem::replace(&mut self.index.places[at], new.clone());
            self.index.take(&old);
            self.index.put(&new);
        }
    }

    /// Puts an item at the end of a timeline.
    pub(in crate::world) fn append(&mut self, at: usize, item: Item) {
        let thread = &mut self.conversations[at];
        if let Item::Message(message) = &item {
            self.index.messages.insert(message.id.clone(), (at as u32, thread.timeline.len() as u32));
            self.index.words.add(at, &message.text);
        }
        // A note moves nothing in any list, and the latest message may lie behind thousands of them.
        let moves = !matches!(item, Item::Note(_));
        thread.timeline.push(item);
        if moves {
            self.touch(at);
        }
    }

    /// Takes a message out of its timeline.
    pub(in crate::world) fn take_out(&mut self, (at, item): (usize, usize)) {
        if let Item::Message(message) = self.conversations[at].timeline.remove(item) {
            self.index.messages.remove(&message.id);
        }
        for (place, later) in self.conversations[at].timeline.iter().enumerate().skip(item) {
            if let Item::Message(message) = later {
                self.index.messages.insert(message.id.clone(), (at as u32, place as u32));
            }
        }
        self.reread(at);
        self.touch(at);
    }

    /// Forgets the words of a conversation and reads them anew, after a text was replaced.
    pub(in crate::world) fn reread(&mut self, at: usize) {
        let thread = &self.conversations[at];
        self.index.words.forget(at);
        self.index.words.add(at, &thread.subject);
        thread.messages().for_each(|message| self.index.words.add(at, &message.text));
    }

    pub(in crate::world) fn message(&self, id: &str) -> Option<(usize, usize)> {
        let id = MessageId::parse(id).ok()?;
        self.index.messages.get(&id).map(|(at, item)| (*at as usize, *item as usize))
    }

    pub(in crate::world) fn message_mut(&mut self, (at, item): (usize, usize)) -> &mut MessageRecord {
        match &mut self.conversations[at].timeline[item] {
            Item::Message(message) => message,
            _ => unreachable!("the index of messages points at messages"),
        }
    }

    pub(in crate::world) fn message_at(&self, (at, item): (usize, usize)) -> &MessageRecord {
        match &self.conversations[at].timeline[item] {
            Item::Message(message) => message,
            _ => unreachable!("the index of messages points at messages"),
        }
    }
}
