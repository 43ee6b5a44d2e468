//! All reads of the inboxes. They keep the model to the inboxes that the person chose, if any: what is in
//! another inbox is invisible to every tool, resource, prompt and completion.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use shared_inbox::{
    __spec::limits,
    Client, Conversation, ConversationId, ConversationSummary, Document, Error, Mailbox, MailboxId, Request,
    Tag, View,
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

    /// Returns the reader of what the model, or the person, asks for.
    pub(super) fn reader<'a>(&'a self, client: &'a Client) -> InboxReader<'a> {
        InboxReader { inboxes: self, client, is_background: false }
    }

    /// Returns the result of a request about a conversation. One that is gone is denied like one in another
    /// inbox.
    pub(super) fn admitted<T>(&self, id: &ConversationId, result: Result<T, Error>) -> Result<T, Failure> {
        match result {
            Err(error) if !self.all() && error.is_not_found() => {
                self.known().remove(id);
                Err(not_here())
            }
            result => Ok(result?),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ConversationId, bool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the inboxes with one client.
#[derive(Clone, Copy)]
pub(super) struct InboxReader<'a> {
    inboxes: &'a Inboxes,
    client: &'a Client,
    is_background: bool,
}

impl<'a> InboxReader<'a> {
    /// Reads only with what the rate limit has to spare.
    pub(super) fn in_background(self) -> Self {
        Self { is_background: true, ..self }
    }

    fn call<I, O>(&self, call: Request<I, O>) -> Request<I, O> {
        if self.is_background { call.bulk().no_wait() } else { call }
    }

    pub(super) async fn tags(&self) -> Result<Vec<Tag>, Failure> {
        Ok(self.call(self.client.tags()).await?)
    }

    pub(super) async fn mailboxes(&self) -> Result<Vec<Mailbox>, Failure> {
        let mut found = self.call(self.client.mailboxes()).await?;
        if self.inboxes.all() {
            return Ok(found);
        }
        found.retain(|mailbox| self.inboxes.has(&mailbox.address));
        let missing = |address: &&String| !found.iter().any(|m| m.address.eq_ignore_ascii_case(address));
        if let Some(address) = self.inboxes.addresses.iter().find(missing) {
            return Err(failed(format!(
                "The bridge was started with --mailbox {address}, and the key sees no inbox with this address."
            )));
        }
        Ok(found)
    }

    async fn chosen(&self) -> Result<&'a [Mailbox], Failure> {
        self.inboxes.chosen.get_or_try_init(|| self.mailboxes()).await.map(Vec::as_slice)
    }

    /// Returns conversations, newest first: of the input's view, or of all of `views`. Requests one more than
    /// the limit, to know whether there are more.
    pub(super) async fn conversations(
        &self,
        mut input: ListConversations,
        views: &[View],
    ) -> Result<(Vec<ConversationSummary>, More), Failure> {
        let most = input.limit.unwrap_or(limits::LIST_DEFAULT);
        input.limit = Some(most.saturating_add(1).min(limits::LIST_MAX));
        let views: Vec<_> = match views {
            [] => vec![input.view.clone()],
            views => views.iter().cloned().map(Some).collect(),
        };
        // The list has no way to name several inboxes, and gives an inbox by a name that others may have too.
        let mailboxes = match self.inboxes.all() {
            true => vec![input.mailbox.clone()],
            false => self.asked(input.mailbox.as_ref()).await?.into_iter().map(Some).collect(),
        };
        let (mut all, mut full) = (Vec::new(), false);
        for mailbox in &mailboxes {
            for view in &views {
                let mut one = input.clone();
                (one.mailbox, one.view) = (mailbox.clone(), view.clone());
                let found = self.call(self.client.conversations().input(one)).await?;
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
        if !self.inboxes.all() {
            let mut known = self.inboxes.known();
            all.iter().for_each(|c| remember(&mut known, &c.id, true));
        }
        Ok((all, more))
    }

    /// Returns the chosen inboxes, or the requested one of them.
    async fn asked(&self, wanted: Option<&MailboxId>) -> Result<Vec<MailboxId>, Failure> {
        let chosen = self.chosen().await?.iter().map(|mailbox| mailbox.id.clone());
        let asked: Vec<_> = chosen.filter(|id| wanted.is_none_or(|wanted| wanted == id)).collect();
        if asked.is_empty() {
            let why = "`mailbox` is not one of the inboxes that the bridge was started with (--mailbox); list_mailboxes has them.";
            return Err(failed(why));
        }
        Ok(asked)
    }

    pub(super) async fn conversation(&self, id: &ConversationId) -> Result<Conversation, Failure> {
        let read = self.call(self.client.conversation(id).get()).await;
        let conversation = self.inboxes.admitted(id, read)?;
        if self.inboxes.all() {
            return Ok(conversation);
        }
        let here = self.inboxes.has(&conversation.mailbox);
        remember(&mut self.inboxes.known(), id, here);
        if here { Ok(conversation) } else { Err(not_here()) }
    }

    /// Fails when the conversation is not to be touched. Costs a request only when it is not known which
    /// inbox it is in.
    pub(super) async fn admit(&self, id: &ConversationId) -> Result<(), Failure> {
        let known = self.inboxes.known().get(id).copied();
        match known {
            Some(false) => Err(not_here()),
            None if !self.inboxes.all() => self.conversation(id).await.map(drop),
            _ => Ok(()),
        }
    }

    /// Returns documents, whether there are more, and how many were left out because their inbox was not
    /// looked up.
    pub(super) async fn documents(
        &self,
        input: SearchDocuments,
    ) -> Result<(Vec<Document>, More, usize), Failure> {
        let most = input.limit.unwrap_or(limits::LIST_DEFAULT);
        // The search knows no inboxes: those that are wanted may stand behind others.
        let ask_for =
            if self.inboxes.all() { most.saturating_add(1).min(limits::LIST_MAX) } else { limits::LIST_MAX };
        let found = self.client.documents().input(input).limit(ask_for).await?;
        let most = most as usize;
        let mut more = if found.is_cut() { More::Maybe } else { More::No };
        if self.inboxes.all() {
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
            let known = self.inboxes.known().get(&id).copied();
            let is_here = match known {
                Some(known) => known,
                None if lookups == MAX_LOOKUPS => {
                    unseen += 1;
                    continue;
                }
                None => {
                    lookups += 1;
                    match self.conversation(&id).await {
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
