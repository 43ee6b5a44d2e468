//! Tags. The live workspace and the sandbox share their names, and count separately.

use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::{
    ActorId, Tag, TagId, Timestamp, UserId,
    input::{Input, TagConversation},
};

use super::Item;
use crate::world::{Actor, Result, ServiceResponse, World};

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TagRecord {
    /// Its id.
    pub id: TagId,
    /// Its name.
    pub name: String,
    /// The person in whose private inboxes alone it has been used: nobody else sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_to: Option<UserId>,
}

/// A change of tags by someone on the team.
///
/// ```
/// use shared_inbox_mock::world::TagChange;
/// let change = TagChange::new().add("refund").remove("new");
/// assert_eq!(serde_json::to_value(change)?["add"], serde_json::json!(["refund"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TagChange {
    /// Names to add, at most 10; unknown ones are created.
    #[serde(default)]
    pub add: Vec<String>,
    /// Names to remove, at most 10.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Who does it.
    pub by: Option<Actor>,
}

impl TagChange {
    /// Returns an empty change.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Adds a tag.
        #[allow(clippy::should_implement_trait)]
        add(name: impl Into<String>) => add.push(name.into());
        /// Removes a tag.
        remove(name: impl Into<String>) => remove.push(name.into());
        /// Sets who does it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

impl World {
    /// Adds and removes tags for someone on the team.
    pub fn tag_by_team(&mut self, id: &str, change: TagChange, now: Timestamp) -> Result<()> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, change.by.as_ref())?;
        let mut tags = TagConversation::default();
        (tags.add, tags.remove) = (change.add, change.remove);
        tags.check()?;
        self.tag(at, by.as_ref(), tags, now);
        Ok(())
    }

    pub(crate) fn list_tags(&self, key: usize) -> Result<ServiceResponse> {
        let key_record = &self.keys[key];
        let inboxes: Vec<_> = self.inboxes_of(key).collect();
        let count = |tag: usize| {
            let counts = inboxes.iter().filter_map(|inbox| self.index.tag_counts.get(&(tag, *inbox)));
            counts.sum()
        };
        let visible = |tag: &TagRecord| {
            tag.private_to.is_none() || (key_record.livemode && tag.private_to == key_record.created_by)
        };
        let tags = self.tags.iter().enumerate().filter(|(_, tag)| visible(tag));
        ServiceResponse::list(tags.map(|(at, tag)| Tag::new(tag.id.clone(), &tag.name, count(at))))
    }

    /// Adds tags, then removes tags. No tag is added twice.
    pub(crate) fn tag(&mut self, at: usize, by: Option<&ActorId>, change: TagConversation, now: Timestamp) {
        let before = self.conversations[at].tags.clone();
        for name in change.add {
            self.tag_named(&name, at);
            let tags = &mut self.conversations[at].tags;
            if !tags.contains(&name) {
                tags.push(name);
            }
        }
        self.conversations[at].tags.retain(|name| !change.remove.contains(name));

        let after = &self.conversations[at].tags;
        let added: Vec<String> = after.iter().filter(|name| !before.contains(name)).cloned().collect();
        let removed: Vec<String> = before.iter().filter(|name| !after.contains(name)).cloned().collect();
        if added.is_empty() && removed.is_empty() {
            return;
        }
        let inbox = self.index.positions[at].mailbox;
        for name in &added {
            *self.index.tag_counts.entry((self.index.tags[name], inbox)).or_default() += 1;
        }
        for name in &removed {
            *self.index.tag_counts.entry((self.index.tags[name], inbox)).or_default() -= 1;
        }
        let actor = self.actor_name(by);
        let data = [("added", json!(added)), ("removed", json!(removed))];
        self.append(at, Item::event(now, &actor, "tags", data));
    }

    /// Creates a tag, or makes a private one public when another inbox uses it.
    pub(crate) fn tag_named(&mut self, name: &str, at: usize) {
        let owner = self.mailbox_of(at).owner.clone();
        if let Some(tag) = self.index.tags.get(name) {
            let tag = &mut self.tags[*tag];
            if tag.private_to != owner {
                tag.private_to = None;
            }
        } else {
            self.index.tags.insert(name.to_owned(), self.tags.len());
            self.tags.push(TagRecord { id: self.ids.next_id(), name: name.to_owned(), private_to: owner });
        }
    }
}
