//! Snapshots of the world, to restore and to compare.

use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

use super::Control;
use crate::{
    json::difference::{self, FieldChange},
    runtime::config::LARGE_DOCUMENT,
    world::{Refusal, Result},
};

/// A snapshot in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotEntry {
    /// Its name.
    pub name: String,
    /// When it was taken, on the world's clock.
    pub at: Timestamp,
    /// The size of its document, in bytes.
    pub bytes: usize,
}

/// The difference between two worlds.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{MockServer, world::TeamNote};
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let (inbox, control) = (mock.client(), mock.control());
/// let id = inbox.conversations().await?[0].id.clone();
/// control.take_snapshot("before").await?;
/// control.add_note(&id, TeamNote::new("Called them back.")).await?;
/// let difference = control.compare("before", None).await?;
/// assert_eq!(difference.changes.len(), 1, "{}", difference.text);
///
/// control.restore_snapshot("before").await?;
/// assert!(control.compare("before", None).await?.changes.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WorldDifference {
    /// Every place where they differ.
    pub changes: Vec<FieldChange>,
    /// The same for people: a line for each, `+` for what is new, `-` for what is gone, `~` for what changed.
    pub text: String,
}

impl Control {
    /// Returns the snapshots of this world.
    pub async fn snapshots(&self) -> Vec<SnapshotEntry> {
        self.runtime.snapshots(|all| {
            let entry = |(name, at, bytes)| SnapshotEntry { name, at, bytes };
            all.list().map(entry).collect()
        })
    }

    /// Makes the world what it was at a snapshot.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn restore_snapshot(&self, name: impl AsRef<str>) -> Result<()> {
        let document = self.runtime.snapshots(|all| all.get(name.as_ref()))?;
        self.restore_document(document).await
    }

    /// Deletes a snapshot.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn delete_snapshot(&self, name: impl AsRef<str>) -> Result<()> {
        self.runtime.snapshots(|all| all.remove(name.as_ref()))
    }

    /// Takes a snapshot of the world under a name; an older one of this name is replaced.
    ///
    /// # Errors
    ///
    /// 400 for a name that is none, 409 when there are 100 already, or when the snapshots of all worlds would
    /// take more than three quarters of
    /// [`MockServerBuilder::memory_limit`](crate::MockServerBuilder::memory_limit).
    pub async fn take_snapshot(&self, name: &str) -> Result<SnapshotEntry> {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 80 || !name.chars().all(letter) {
            return Err(Refusal::field("name", "must be 1 to 80 letters, digits, `-`, `_` and `.`"));
        }
        let document = self.runtime.document().await?;
        let at = self.runtime.clock().now;
        let entry = SnapshotEntry { name: name.to_owned(), at, bytes: document.len() };
        // Without the room that the writer reserved to grow.
        let document = document.into_boxed_slice().into();
        self.runtime.snapshots(|all| all.put(name, at, document))?;
        Ok(entry)
    }

    /// Returns the document of a snapshot.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn snapshot(&self, name: &str) -> Result<String> {
        let document = self.runtime.snapshots(|all| all.get(name))?;
        String::from_utf8(document.to_vec()).map_err(|_| Refusal::new(500, "The world is not text."))
    }

    /// Compares a snapshot with a second one, or with the world as it is now.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn compare(&self, from: &str, to: Option<&str>) -> Result<WorldDifference> {
        let was = self.runtime.snapshots(|all| all.get(from))?;
        let is = match to {
            Some(to) => self.runtime.snapshots(|all| all.get(to))?,
            None => self.runtime.document().await?.into(),
        };
        let long = was.len().max(is.len()) > LARGE_DOCUMENT;
        let compare = move || -> serde_json::Result<WorldDifference> {
            let changes = difference::between(&serde_json::from_slice(&was)?, &serde_json::from_slice(&is)?);
            let text = changes.iter().map(|changed| format!("{changed}\n")).collect();
            Ok(WorldDifference { changes, text })
        };
        let compared = self.runtime.offload_if(long, compare).await?;
        compared.map_err(|error| Refusal::new(500, format!("A snapshot is broken: {error}.")))
    }
}
