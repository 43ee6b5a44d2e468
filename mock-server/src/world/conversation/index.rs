//! The index: where everything is, and every list in the order in which it is shown.
//!
//! It is not part of the world document; [`World::prepare`] builds it from the data.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, btree_set},
    iter::Peekable,
    sync::Arc,
};

use serde_json::value::{RawValue, to_raw_value};
use shared_inbox::{
    ActorId, AgentId, ConversationId, DocumentRequestId, MailboxId, MessageId, MessageStatus, Status,
    Timestamp, UserId,
};

use super::{
    ConversationRecord, Item, MessageRecord,
    search::{SearchIndex, Searchable},
};
use crate::world::{
    StepKind, World,
    people::{Key, KeyHash},
    store::LayeredMap,
};

/// Sorts newest first; of two with the same time, the one created later comes first.
pub(crate) type SortKey = (Reverse<i64>, Reverse<u32>);

/// A list in the order in which it is shown.
pub(crate) type SortedSet = Arc<BTreeSet<SortKey>>;

/// The assignee number of unassigned conversations.
pub(crate) const UNASSIGNED: u32 = 0;

/// One of the four views of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListView {
    Open,
    Waiting,
    Closed,
    Snoozed,
}

impl ListView {
    pub(crate) const ALL: [ListView; 4] =
        [ListView::Open, ListView::Waiting, ListView::Closed, ListView::Snoozed];
}

/// The position of a conversation in the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPosition {
    pub(crate) mailbox: usize,
    pub(crate) slot: ListView,
    pub(crate) rank: SortKey,
    /// By number.
    pub(crate) assignee: u32,
}

#[derive(Clone, Default)]
pub(crate) struct Index {
    pub(crate) keys_by_hash: HashMap<KeyHash, usize>,
    pub(crate) agents: HashMap<AgentId, usize>,
    pub(crate) users: HashMap<UserId, usize>,
    pub(crate) mailboxes: HashMap<MailboxId, usize>,
    /// The team of each inbox, as a read shows it.
    pub(crate) teams: Vec<Box<RawValue>>,
    pub(crate) conversations: LayeredMap<ConversationId, u32>,
    /// The conversation of a message, and its index in the timeline.
    pub(crate) messages: LayeredMap<MessageId, (u32, u32)>,
    pub(crate) positions: Vec<ListPosition>,
    /// The numbers of assignees, from 1.
    pub(super) actors: HashMap<ActorId, u32>,
    views: HashMap<(usize, ListView), SortedSet>,
    assigned: HashMap<(usize, ListView, u32), SortedSet>,
    /// By time, conversation and index in the timeline.
    pub(crate) drafts: BTreeSet<(Timestamp, u32, u32)>,
    pub(crate) references: LayeredMap<String, Vec<u32>>,
    pub(crate) tags: HashMap<String, usize>,
    pub(crate) tag_counts: HashMap<(usize, usize), u64>,
    pub(crate) requests: LayeredMap<DocumentRequestId, usize>,
    pub(crate) words: SearchIndex<ConversationRecord>,
}

impl Index {
    /// Returns how many conversations of an inbox are open.
    pub(crate) fn open_in(&self, mailbox: usize) -> u64 {
        self.views.get(&(mailbox, ListView::Open)).map_or(0, |set| set.len() as u64)
    }

    /// Returns the list of one inbox and view, of all assignees or of one.
    pub(crate) fn list(&self, mailbox: usize, slot: ListView, assignee: Option<u32>) -> Option<&SortedSet> {
        match assignee {
            None => self.views.get(&(mailbox, slot)),
            Some(assignee) => self.assigned.get(&(mailbox, slot, assignee)),
        }
    }

    fn number(&mut self, who: Option<&ActorId>) -> u32 {
        let Some(who) = who else { return UNASSIGNED };
        if let Some(number) = self.actors.get(who) {
            return *number;
        }
        let number = self.actors.len() as u32 + 1;
        self.actors.insert(who.clone(), number);
        number
    }

    fn put(&mut self, place: ListPosition) {
        let ListPosition { mailbox, slot, rank, assignee } = place;
        Arc::make_mut(self.views.entry((mailbox, slot)).or_default()).insert(rank);
        Arc::make_mut(self.assigned.entry((mailbox, slot, assignee)).or_default()).insert(rank);
    }

    fn take(&mut self, place: ListPosition) {
        let ListPosition { mailbox, slot, rank, assignee } = place;
        if let Some(list) = self.views.get_mut(&(mailbox, slot)) {
            Arc::make_mut(list).remove(&rank);
        }
        if let Some(list) = self.assigned.get_mut(&(mailbox, slot, assignee)) {
            Arc::make_mut(list).remove(&rank);
            if list.is_empty() {
                self.assigned.remove(&(mailbox, slot, assignee));
            }
        }
    }

    /// Indexes a message, and whether it waits for approval.
    fn index_message(&mut self, message: &MessageRecord, (at, item): (usize, usize)) {
        let place = (at as u32, item as u32);
        self.messages.insert(message.id.clone(), place);
        if message.status == Some(MessageStatus::Draft) {
            self.drafts.insert((message.at, place.0, place.1));
        }
    }
}

/// Merges several lists, newest first.
pub(crate) struct NewestFirst<'a>(Vec<Peekable<btree_set::Iter<'a, SortKey>>>);

impl<'a> NewestFirst<'a> {
    pub(crate) fn merge(lists: impl Iterator<Item = &'a SortedSet>) -> Self {
        Self(lists.map(|list| list.iter().peekable()).collect())
    }
}

impl Iterator for NewestFirst<'_> {
    type Item = usize;
    fn next(&mut self) -> Option<usize> {
        let heads = self.0.iter_mut().enumerate();
        let (_, list) = heads.filter_map(|(i, list)| list.peek().map(|rank| (**rank, i))).min()?;
        self.0[list].next().map(|rank| rank.1.0 as usize)
    }
}

impl Searchable for ConversationRecord {
    fn visit_texts(&self, visit: &mut dyn FnMut(&str)) {
        visit(&self.subject);
        self.messages().for_each(|message| visit(&message.text));
    }
}

/// Returns the sort key of the item at `at` with this time.
pub(crate) fn sort_key(time: shared_inbox::Timestamp, at: usize) -> SortKey {
    (Reverse(time.as_millis()), Reverse(at as u32))
}

impl World {
    /// Indexes people, inboxes, keys and teams. Called whenever they change.
    pub(crate) fn index_people(&mut self) {
        let by = |(at, key): (usize, &Key)| (key.key_hash, at);
        self.index.keys_by_hash = self.keys.iter().enumerate().map(by).collect();
        self.index.agents = self.keys.iter().enumerate().map(|(at, k)| (k.agent_id.clone(), at)).collect();
        self.index.users = self.users.iter().enumerate().map(|(at, u)| (u.id.clone(), at)).collect();
        self.index.mailboxes = self.mailboxes.iter().enumerate().map(|(at, m)| (m.id.clone(), at)).collect();
        let team = |mailbox| to_raw_value(&self.team_of(mailbox)).unwrap_or_default();
        self.index.teams = self.mailboxes.iter().map(team).collect();
    }

    fn place(&mut self, at: usize) -> ListPosition {
        let thread = &self.conversations[at];
        let slot = match thread.status {
            _ if thread.snoozed_until.is_some() => ListView::Snoozed,
            Status::Waiting => ListView::Waiting,
            Status::Closed => ListView::Closed,
            _ => ListView::Open,
        };
        let mailbox = self.index.mailboxes[&thread.mailbox];
        let assignee = self.index.number(thread.assignee.as_ref());
        ListPosition { mailbox, slot, rank: sort_key(thread.last_message_at(), at), assignee }
    }

    /// Indexes all conversations.
    pub(crate) fn index_conversations(&mut self) {
        (0..self.conversations.len()).for_each(|at| self.index_conversation(at));
        self.index.words = SearchIndex::from_items(&self.conversations);
    }

    /// Indexes the last conversation, except its words.
    fn index_conversation(&mut self, at: usize) {
        let place = self.place(at);
        self.index.put(place);
        self.index.positions.push(place);
        let thread = &self.conversations[at];
        self.index.conversations.insert(thread.id.clone(), at as u32);
        if let Some(reference) = &thread.reference {
            let mut there = self.index.references.get(reference).cloned().unwrap_or_default();
            there.push(at as u32);
            self.index.references.insert(reference.clone(), there);
        }
        for tag in &thread.tags {
            if let Some(tag) = self.index.tags.get(tag) {
                *self.index.tag_counts.entry((*tag, place.mailbox)).or_default() += 1;
            }
        }
        for (i, item) in thread.timeline.iter().enumerate() {
            if let Item::Message(message) = item {
                self.index.index_message(message, (at, i));
            }
        }
    }

    /// Adds a new conversation.
    pub(crate) fn add_conversation(&mut self, thread: ConversationRecord) -> usize {
        let at = self.conversations.len();
        self.conversations.push(thread);
        self.index_conversation(at);
        self.index.words.reindex(at, &self.conversations[at]);
        at
    }

    /// Updates the lists after a change of a conversation.
    pub(crate) fn update_lists(&mut self, at: usize) {
        let new = self.place(at);
        let old = std::mem::replace(&mut self.index.positions[at], new);
        if old != new {
            self.index.take(old);
            self.index.put(new);
        }
    }

    /// Appends an item to a timeline.
    pub(crate) fn append(&mut self, at: usize, item: Item) {
        let thread = &mut self.conversations[at];
        // A note changes no list, and finding the latest message behind thousands of notes would take long.
        let moves = !matches!(item, Item::Note(_));
        thread.timeline.push(item);
        let last = thread.timeline.len() - 1;
        if let Item::Message(message) = &thread.timeline[last] {
            self.index.index_message(message, (at, last));
            self.index.words.add(at, thread, &message.text);
        }
        if moves {
            self.update_lists(at);
        }
        self.record_item_step(at);
    }

    /// Records a trace step for the last item of a timeline.
    fn record_item_step(&mut self, at: usize) {
        let last = self.conversations[at].timeline.len() - 1;
        match &self.conversations[at].timeline[last] {
            Item::Message(message) => {
                let now = message.at;
                self.record_message_step((at, last), now);
            }
            Item::Note(note) => {
                let (id, now) = (note.id.clone(), note.at);
                self.record_step(StepKind::Note, id.as_str(), "written", Some(at), now);
            }
            Item::Event(event) => {
                let (what, now) = (event.event.clone(), event.at);
                let id = self.conversations[at].id.clone();
                self.record_step(StepKind::Conversation, id.as_str(), &what, Some(at), now);
            }
        }
    }

    /// Removes a message from its timeline.
    pub(crate) fn remove_message(&mut self, (at, item): (usize, usize)) {
        for (place, item) in self.conversations[at].timeline.iter().enumerate().skip(item) {
            self.index.drafts.remove(&(item.at(), at as u32, place as u32));
        }
        if let Item::Message(message) = self.conversations[at].timeline.remove(item) {
            self.index.messages.remove(message.id);
        }
        for (place, later) in self.conversations[at].timeline.iter().enumerate().skip(item) {
            if let Item::Message(message) = later {
                self.index.index_message(message, (at, place));
            }
        }
        self.reindex_words(at);
        self.update_lists(at);
    }

    /// Indexes the words of a conversation again after a text was replaced.
    pub(crate) fn reindex_words(&mut self, at: usize) {
        self.index.words.reindex(at, &self.conversations[at]);
    }

    /// Sets the status of a message and updates the approval queue.
    pub(crate) fn set_message_status(&mut self, place: (usize, usize), status: MessageStatus) {
        let is_draft = status == MessageStatus::Draft;
        let message = self.message_mut(place);
        message.status = Some(status);
        let entry = (message.at, place.0 as u32, place.1 as u32);
        if is_draft {
            self.index.drafts.insert(entry);
        } else {
            self.index.drafts.remove(&entry);
        }
    }

    pub(crate) fn message(&self, id: &str) -> Option<(usize, usize)> {
        let id = MessageId::parse(id).ok()?;
        self.index.messages.get(&id).map(|(at, item)| (*at as usize, *item as usize))
    }

    pub(crate) fn message_mut(&mut self, (at, item): (usize, usize)) -> &mut MessageRecord {
        match &mut self.conversations[at].timeline[item] {
            Item::Message(message) => message,
            _ => unreachable!("the index of messages points at messages"),
        }
    }

    pub(crate) fn message_at(&self, (at, item): (usize, usize)) -> &MessageRecord {
        match &self.conversations[at].timeline[item] {
            Item::Message(message) => message,
            _ => unreachable!("the index of messages points at messages"),
        }
    }
}
