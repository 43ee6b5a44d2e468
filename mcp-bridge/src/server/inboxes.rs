//! All reads of the inboxes. They keep the model to the inboxes that the person chose, if any: what is in another inbox is
//! invisible to every tool, resource, prompt and completion.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use shared_inbox::{
    __spec::limits,
    Client, Conversation, ConversationId, ConversationSummary, Document, Error, Mailbox, MailboxId, Request,
    View,
    input::{ListConversations, SearchDocuments},
};
use tokio::sync::OnceCell;

use super::results::failed;
use crate::{
    outcome::{Failure, FailureKind},
    render::More,
};

/// How many conversations one search of documents looks up: each costs a request.
const MAX_LOOKUPS: usize = 20;
/// How many conversations are remembered with their inbox.
const MAX_REMEMBERED: usize = 2_000;

/// How much a read matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadPriority {
    /// The model or the person requested it.
    Requested,
    /// Only with what the rate limit has to spare.
    Background,
}

impl ReadPriority {
    fn apply<I, O>(self, call: Request<I, O>) -> Request<I, O> {
        if self == Self::Background { call.bulk().no_wait() } else { call }
    }
}

/// The inboxes that the model may see.
pub(super) struct Inboxes {
    addresses: Vec<String>,
    chosen: OnceCell<Vec<Mailbox>>,
    /// Whether a conversation is in one of them. A conversation stays in its inbox.
    known: Mutex<HashMap<ConversationId, bool>>,
}

impl Inboxes {
    /// Creates the set of inboxes with these addresses; of all, if there are none.
    pub(super) fn new(addresses: Vec<String>) -> Self {
        Self { addresses, chosen: OnceCell::new(), known: Mutex::default() }
    }

    fn all(&self) -> bool {
        self.addresses.is_empty()
    }

    fn has(&self, address: &str) -> bool {
        self.addresses.iter().any(|one| one.eq_ignore_ascii_case(address))
    }

    pub(super) async fn mailboxes(
        &self,
        client: &Client,
        priority: ReadPriority,
    ) -> Result<Vec<Mailbox>, Failure> {
        let mut found = priority.apply(client.mailboxes()).await?;
        if self.all() {
            return Ok(found);
        }
        found.retain(|mailbox| self.has(&mailbox.address));
        let missing = |address: &&String| !found.iter().any(|m| m.address.eq_ignore_ascii_case(address));
        if let Some(address) = self.addresses.iter().find(missing) {
            return Err(failed(format!(
                "The bridge was started with --mailbox {address}, and the key sees no inbox with this address."
            )));
        }
        Ok(found)
    }

    async fn chosen(&self, client: &Client, priority: ReadPriority) -> Result<&[Mailbox], Failure> {
        self.chosen.get_or_try_init(|| self.mailboxes(client, priority)).await.map(Vec::as_slice)
    }

    /// Returns conversations, newest first: of the input's view, or of all of `views`. Requests one more than the limit, to
    /// know whether there are more.
    pub(super) async fn conversations(
        &self,
        client: &Client,
        mut input: ListConversations,
        views: &[View],
        priority: ReadPriority,
    ) -> Result<(Vec<ConversationSummary>, More), Failure> {
        let most = input.limit.unwrap_or(limits::LIST_DEFAULT);
        input.limit = Some(most.saturating_add(1).min(limits::LIST_MAX));
        let views: Vec<_> = match views {
            [] => vec![input.view.clone()],
            views => views.iter().cloned().map(Some).collect(),
        };
        // The list has no way to name several inboxes, and gives an inbox by a name that others may have too.
        let mailboxes = match self.all() {
            true => vec![input.mailbox.clone()],
            false => {
                self.asked(client, input.mailbox.as_ref(), priority).await?.into_iter().map(Some).collect()
            }
        };
        let (mut all, mut full) = (Vec::new(), false);
        for mailbox in &mailboxes {
            for view in &views {
                let mut one = input.clone();
                (one.mailbox, one.view) = (mailbox.clone(), view.clone());
                let found = priority.apply(client.conversations().input(one)).await?;
                full |= found.is_cut();
                all.extend(found);
            }
        }
        if mailboxes.len() * views.len() > 1 {
            all.sort_by_key(|c| std::cmp::Reverse(c.last_message_at));
            // One that changed its status between two requests is in both lists.
            let mut ids = HashSet::new();
            all.retain(|c| ids.insert(c.id.clone()));
        }
        let most = most as usize;
        let more = match all.len() > most {
            true => More::Yes,
            false if full && all.len() == most => More::Maybe,
            false => More::No,
        };
        all.truncate(most);
        if !self.all() {
            let mut known = self.known();
            all.iter().for_each(|c| remember(&mut known, &c.id, true));
        }
        Ok((all, more))
    }

    /// Returns the chosen inboxes, or the requested one of them.
    async fn asked(
        &self,
        client: &Client,
        wanted: Option<&MailboxId>,
        priority: ReadPriority,
    ) -> Result<Vec<MailboxId>, Failure> {
        let chosen = self.chosen(client, priority).await?.iter().map(|mailbox| mailbox.id.clone());
        let asked: Vec<_> = chosen.filter(|id| wanted.is_none_or(|wanted| wanted == id)).collect();
        if asked.is_empty() {
            let why = "`mailbox` is not one of the inboxes that the bridge was started with (--mailbox); list_mailboxes has them.";
            return Err(failed(why));
        }
        Ok(asked)
    }

    pub(super) async fn conversation(
        &self,
        client: &Client,
        id: &ConversationId,
        priority: ReadPriority,
    ) -> Result<Conversation, Failure> {
        let conversation = self.admitted(id, priority.apply(client.conversation(id).get()).await)?;
        if self.all() {
            return Ok(conversation);
        }
        let here = self.has(&conversation.mailbox);
        remember(&mut self.known(), id, here);
        if here { Ok(conversation) } else { Err(not_here()) }
    }

    /// Fails when the conversation is not to be touched. Costs a request only when it is not known which inbox it is in.
    pub(super) async fn admit(&self, client: &Client, id: &ConversationId) -> Result<(), Failure> {
        let known = self.known().get(id).copied();
        match known {
            Some(false) => Err(not_here()),
            None if !self.all() => self.conversation(client, id, ReadPriority::Requested).await.map(drop),
            _ => Ok(()),
        }
    }

    /// Returns the result of a request about a conversation. One that is gone is denied like one in another inbox.
    pub(super) fn admitted<T>(&self, id: &ConversationId, result: Result<T, Error>) -> Result<T, Failure> {
        match result {
            Err(error) if !self.all() && error.is_not_found() => {
                self.known().remove(id);
                Err(not_here())
            }
            result => Ok(result?),
        }
    }

    /// Returns documents, whether there are more, and how many were left out because their inbox was not looked up.
    pub(super) async fn documents(
        &self,
        client: &Client,
        input: SearchDocuments,
    ) -> Result<(Vec<Document>, More, usize), Failure> {
        let most = input.limit.unwrap_or(limits::LIST_DEFAULT);
        // The search knows no inboxes: those that are wanted may stand behind others.
        let ask_for =
            if self.all() { most.saturating_add(1).min(limits::LIST_MAX) } else { limits::LIST_MAX };
        let found = client.documents().input(input).limit(ask_for).await?;
        let most = most as usize;
        let mut more = if found.is_cut() { More::Maybe } else { More::No };
        if self.all() {
            let mut found = found.into_vec();
            more = match found.len() {
                n if n > most => More::Yes,
                n if n == most => more,
                _ => More::No,
            };
            found.truncate(most);
            return Ok((found, more, 0));
        }
        let (mut here, mut lookups, mut unseen) = (Vec::new(), 0, 0);
        for document in found {
            if here.len() == most {
                more = More::Maybe;
                break;
            }
            // A document of no conversation is in no inbox.
            let Some(id) = document.conversation_id.clone() else { continue };
            let known = self.known().get(&id).copied();
            let is_here = match known {
                Some(known) => known,
                None if lookups == MAX_LOOKUPS => {
                    unseen += 1;
                    continue;
                }
                None => {
                    lookups += 1;
                    match self.conversation(client, &id, ReadPriority::Requested).await {
                        Ok(_) => true,
                        Err(failure) if failure.kind == FailureKind::NotFound => false,
                        Err(failure) => return Err(failure),
                    }
                }
            };
            if is_here {
                here.push(document);
            }
        }
        Ok((here, more, unseen))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ConversationId, bool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_here() -> Failure {
    const WHY: &str =
        "There is no such conversation in the inboxes that the bridge was started with (--mailbox).";
    Failure::new(FailureKind::NotFound, WHY)
}

fn remember(known: &mut HashMap<ConversationId, bool>, id: &ConversationId, here: bool) {
    if known.len() >= MAX_REMEMBERED {
        known.clear();
    }
    known.insert(id.clone(), here);
}
