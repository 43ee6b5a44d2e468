//! The records of `once` keys that have no result, for the person who has looked.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::json;

use super::client::Client;
use crate::client::create::{once_settings, store_failed};
use crate::client::create_state::Expected;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::once::{
    CreateResult, LeaseStatus, OnceRecord, OnceSettings, OnceStoreError, StoredRecord,
};
use crate::{MessageId, NoteId, Problem};

impl Client {
    /// Lists the [`once`](crate::create::CreateRequest::once) records without a result: creates under way,
    /// and those whose process was killed or that ended with an unknown outcome. A call with the same key
    /// settles most of them by looking in the conversation; where that stays unclear, a person looks and says
    /// what is there:
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// for record in inbox.once_records().await? {
    ///     println!("{} in {}, since {} by {}", record.key(), record.conversation(), record.since(), record.owner());
    /// }
    /// # let record = inbox.once_records().await?.remove(0);
    /// record.created("msg_41").await?; // or `record.not_created()`, and the next call with the key sends
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no store, or it fails.
    pub async fn once_records(&self) -> Result<Vec<UnfinishedRecord>> {
        let once = once_settings(&self.core)?;
        let mut records = once.store.list().await.map_err(store_failed)?;
        records.retain(|stored| !stored.record.is_finished());
        records.sort_by_key(|stored| stored.record.since());
        Ok(records.into_iter().map(|stored| UnfinishedRecord { once: Arc::clone(once), stored }).collect())
    }

    /// Removes the results of [`once`](crate::create::CreateRequest::once) keys whose
    /// [time](crate::ClientBuilder::once_retention) is over. A store also does this by itself now and then.
    ///
    /// # Errors
    ///
    /// When there is no store, or it fails.
    pub async fn purge_once_records(&self) -> Result<()> {
        once_settings(&self.core)?.store.purge().await.map_err(store_failed)
    }
}

/// A record without a result, which a person can settle. Dereferences to the [record](OnceRecord).
pub struct UnfinishedRecord {
    once: Arc<OnceSettings>,
    stored: StoredRecord,
}

impl UnfinishedRecord {
    /// Returns whether its owner was at it when this was listed.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.stored.is_held
    }

    /// Records that the create made this item: the id of a message, or of a note.
    ///
    /// # Errors
    ///
    /// When the id is of another kind, another call is at the record, or the store fails. Nothing is changed
    /// then.
    pub async fn created(self, id: impl AsRef<str>) -> Result<()> {
        let (id, record) = (id.as_ref(), &self.stored.record);
        let expected = record.create.as_ref().map(|create| &create.expected);
        let (is_note, is_sent) = match expected {
            Some(Expected::Message { send, .. }) => (false, *send),
            Some(Expected::Note { .. }) => (true, false),
            None => (id.parse::<NoteId>().is_ok(), false),
        };
        let is_id = if is_note { id.parse::<NoteId>().is_ok() } else { id.parse::<MessageId>().is_ok() };
        if !is_id {
            let kind = if is_note { "note (`not_…`)" } else { "message (`msg_…`)" };
            let problem = Problem::new("id", format!("must be the id of a {kind}"));
            return Err(Error::new(Cause::Input(problem.into()), Certainty::NotSent));
        }
        let status = if is_sent { "scheduled" } else { "draft" };
        let response =
            if is_note { json!({ "ok": true }) } else { json!({ "messageId": id, "status": status }) };
        let result = Some(CreateResult { item: Some(id.to_owned()), response });
        let record = OnceRecord { create: None, result, ..record.clone() };
        self.check_not_held()?;
        let (fence, retention) = (self.stored.fence, self.once.retention);
        self.settle(self.once.store.update(&record.key, fence, Some(&record), retention).await)
    }

    /// Records that the create did not happen: the next call with this key sends.
    ///
    /// # Errors
    ///
    /// When another call is at the record, or the store fails. Nothing is changed then.
    pub async fn not_created(self) -> Result<()> {
        self.check_not_held()?;
        self.settle(self.once.store.remove(self.key(), self.stored.fence).await)
    }

    fn check_not_held(&self) -> Result<()> {
        self.settle(Ok(if self.is_held() { LeaseStatus::Lost } else { LeaseStatus::Held }))
    }

    fn settle(&self, status: Result<LeaseStatus, OnceStoreError>) -> Result<()> {
        match status.map_err(store_failed)? {
            LeaseStatus::Held => Ok(()),
            LeaseStatus::Lost => {
                let cause = Cause::OnceInProgress(Box::new(self.stored.record.clone()));
                Err(Error::new(cause, Certainty::NotSent))
            }
        }
    }
}

impl Deref for UnfinishedRecord {
    type Target = OnceRecord;
    fn deref(&self) -> &OnceRecord {
        &self.stored.record
    }
}

impl std::fmt::Debug for UnfinishedRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stored.fmt(f)
    }
}
