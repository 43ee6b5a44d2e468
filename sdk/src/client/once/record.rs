//! The record of one key.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::client::create_state::UnconfirmedCreate;
use crate::{ConversationId, Timestamp, operation::Operation};

/// A hash of what is created and where. Displayed as 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn new(operation: Operation, conversation: &ConversationId, body: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(operation.path()).chain_update("\n");
        Self(hex(&hash.chain_update(conversation.as_str()).chain_update("\n").chain_update(body).finalize()))
    }
}

/// Returns the name of a key in a store. A key may be long and hold any characters.
pub(super) fn key_hash(key: &str) -> String {
    hex(&Sha256::digest(key))
}

/// Returns the first half of a hash in hexadecimal digits.
pub(super) fn hex(hash: &[u8]) -> String {
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a store keeps of one key, as JSON.
///
/// Until there is a result, that JSON holds the text of the note or email, because the item is recognised by
/// it. `Debug` does not show it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnceRecord {
    pub(crate) key: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) conversation: ConversationId,
    pub(crate) since: Timestamp,
    pub(crate) owner: String,
    /// What to look for. `None` until something may have been sent, and when there is a result.
    #[serde(default)]
    pub(crate) create: Option<UnconfirmedCreate>,
    #[serde(default)]
    pub(crate) result: Option<CreateResult>,
}

/// The result of a create.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CreateResult {
    /// The id of the item. The response to a note does not name it.
    pub(crate) item: Option<String>,
    /// The service's response.
    pub(crate) response: Value,
}

impl OnceRecord {
    /// Returns the caller's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the hash of what is created and where.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Returns the conversation.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Returns when its owner began, by the owner's clock.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Returns who made it, or last took it over; see
    /// [`ClientBuilder::once_owner`](crate::ClientBuilder::once_owner).
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns what to look for, if something may have been sent and there is no result.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<&UnconfirmedCreate> {
        self.create.as_ref()
    }

    /// Returns whether there is a result.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.result.is_some()
    }

    /// Returns the service's response, if there is a result.
    #[must_use]
    pub fn response(&self) -> Option<&Value> {
        Some(&self.result.as_ref()?.response)
    }

    /// Returns whether an update may replace it by this one, or extend its lease: a result stays one.
    pub(super) fn can_become(&self, record: Option<&Self>) -> bool {
        !self.is_finished() || record.is_some_and(Self::is_finished)
    }
}

impl fmt::Debug for OnceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceRecord")
            .field("conversation", &self.conversation)
            .field("since", &self.since)
            .field("owner", &self.owner)
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
