//! Files that come with an email or that a person files, and the findings of the document-reading helper.

use serde::{Deserialize, Serialize};
use shared_inbox::{Attachment, DocumentFields, DocumentId, DocumentKind, MailboxId, Nullable, Timestamp};

use crate::world::{Refusal, Result, World, conversation::set};

/// A file attached to an email, and what the document-reading helper finds in it.
///
/// ```
/// use shared_inbox::DocumentKind;
/// use shared_inbox_mock::world::InboundFile;
/// let file = InboundFile::new("march.pdf", "application/pdf", 1200).kind(DocumentKind::Invoice);
/// assert_eq!(serde_json::to_value(file)?["kind"], "invoice");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InboundFile {
    /// The file's name.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// The title that the reading helper gives it; the file's name by default.
    pub title: Option<String>,
    /// The kind that the reading helper finds.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(DocumentKind::KNOWN))))]
    pub kind: Option<DocumentKind>,
    /// The fields that the reading helper finds.
    #[serde(default)]
    pub fields: DocumentFields,
}

redacted_debug!(InboundFile { size, kind });

impl InboundFile {
    /// Returns a file of this name, type and size.
    pub fn new(filename: impl Into<String>, content_type: impl Into<String>, size: u64) -> Self {
        let (filename, content_type) = (filename.into(), content_type.into());
        Self { filename, content_type, size, title: None, kind: None, fields: DocumentFields::default() }
    }

    setters! {
        /// Sets the kind that the reading helper finds.
        kind(kind: DocumentKind) => kind = Some(kind);
        /// Sets the fields that the reading helper finds.
        fields(fields: DocumentFields) => fields = fields;
    }

    /// Returns the document to file.
    pub(crate) fn document(self, mailbox: MailboxId) -> NewDocument {
        let Self { filename, title, kind, fields, .. } = self;
        NewDocument { mailbox, filename, title, kind, fields }
    }

    /// Returns the attachment of the message.
    pub(crate) fn attachment(&self) -> Attachment {
        let Self { filename, content_type, size, .. } = self.clone();
        Attachment::new(filename, content_type, size)
    }
}

/// A file that a person puts into the library, without a conversation.
///
/// ```
/// use shared_inbox_mock::world::NewDocument;
/// let file = NewDocument::new("mbx_help".parse()?, "terms.pdf").title("Our terms");
/// assert_eq!(file.title.as_deref(), Some("Our terms"));
/// # Ok::<(), shared_inbox::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NewDocument {
    /// The inbox whose viewers see it.
    pub mailbox: MailboxId,
    /// The file's name.
    pub filename: String,
    /// Its title; the file's name by default.
    pub title: Option<String>,
    /// Its kind.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(DocumentKind::KNOWN))))]
    pub kind: Option<DocumentKind>,
    /// Its fields.
    #[serde(default)]
    pub fields: DocumentFields,
}

redacted_debug!(NewDocument { mailbox, kind });

impl NewDocument {
    /// Returns a file of this name.
    pub fn new(mailbox: MailboxId, filename: impl Into<String>) -> Self {
        let fields = DocumentFields::default();
        Self { mailbox, filename: filename.into(), title: None, kind: None, fields }
    }

    setters! {
        /// Sets the title.
        title(title: impl Into<String>) => title = Some(title.into());
        /// Sets the kind.
        kind(kind: DocumentKind) => kind = Some(kind);
    }
}

/// The findings of the document-reading helper. A field that is left out stays as it is.
///
/// ```
/// use shared_inbox::DocumentKind;
/// use shared_inbox_mock::world::DocumentReading;
/// let found = DocumentReading::new().kind(DocumentKind::Receipt);
/// assert_eq!(serde_json::to_value(found)?, serde_json::json!({ "kind": "receipt" }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentReading {
    /// A readable title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its kind; null when the helper cannot tell.
    #[serde(default, skip_serializing_if = "Nullable::is_missing")]
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(DocumentKind::KNOWN))))]
    pub kind: Nullable<DocumentKind>,
    /// Its fields, instead of those read before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<DocumentFields>,
}

redacted_debug!(DocumentReading { kind });

impl DocumentReading {
    /// Returns findings that change nothing.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the title.
        title(title: impl Into<String>) => title = Some(title.into());
        /// Sets the kind.
        kind(kind: DocumentKind) => kind = Nullable::Value(kind);
        /// Sets the fields.
        fields(fields: DocumentFields) => fields = Some(fields);
    }
}

/// Returns the problem of an unknown kind.
pub(crate) fn unknown_kind(kind: Option<&DocumentKind>) -> Option<String> {
    let kind = kind.filter(|kind| matches!(kind, DocumentKind::Unknown(_)))?;
    let known: Vec<_> = DocumentKind::KNOWN.iter().map(DocumentKind::as_str).collect();
    Some(format!("{kind} is none of {}", known.join(", ")))
}

fn check_kind(kind: Option<&DocumentKind>) -> Result<()> {
    unknown_kind(kind).map_or(Ok(()), |problem| Err(Refusal::field("kind", problem)))
}

impl World {
    /// Files a document for a person.
    pub fn file_document(&mut self, new: NewDocument, now: Timestamp) -> Result<DocumentId> {
        check_kind(new.kind.as_ref())?;
        if new.filename.trim().is_empty() {
            return Err(Refusal::field("filename", "must not be empty"));
        }
        let mailbox = self.index.mailboxes.get(&new.mailbox).copied();
        let mailbox = mailbox.ok_or_else(|| Refusal::no_such("inbox"))?;
        if self.mailboxes[mailbox].sandbox {
            return Err(Refusal::field("mailbox", "must not be the sandbox, which people never see"));
        }
        Ok(self.file(new, None, now))
    }

    /// Applies the findings of the document-reading helper to a document.
    pub fn read_document(&mut self, id: &str, found: DocumentReading) -> Result<()> {
        check_kind(found.kind.get())?;
        let at = self.documents.iter().position(|filed| filed.document.id.as_str() == id);
        let at = at.ok_or_else(|| Refusal::no_such("document"))?;
        self.check_helpers_run(&self.mailboxes[self.index.mailboxes[&self.documents[at].mailbox]])?;
        self.remove_from_index(at);
        let document = &mut self.documents[at].document;
        if let Some(title) = found.title {
            document.title = title;
        }
        set(&mut document.kind, found.kind);
        if let Some(fields) = found.fields {
            document.fields = fields;
        }
        self.add_to_index(at);
        self.library.words.reindex(at, &self.documents[at]);
        Ok(())
    }
}
