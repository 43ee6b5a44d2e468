//! Documents in the library, and what was read out of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{constructors, shows, wire};
use crate::{ConversationId, DocumentId, DocumentKind, Timestamp};

/// A value that may be missing, may be null, or may be there: three different things.
///
/// ```
/// use shared_inbox::{DocumentFields, Nullable};
/// let fields: DocumentFields = serde_json::from_str(r#"{"vendor":"Acme","amount":null}"#)?;
/// assert_eq!(fields.vendor.get().map(String::as_str), Some("Acme"));
/// assert_eq!(fields.amount, Nullable::Null);
/// assert_eq!(fields.currency, Nullable::Missing);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Nullable<T> {
    /// The key is not there.
    #[default]
    Missing,
    /// The key is there and says null.
    Null,
    /// The key is there with a value.
    Value(T),
}

impl<T> Nullable<T> {
    /// Returns the value, if there is one.
    pub fn get(&self) -> Option<&T> {
        if let Nullable::Value(value) = self { Some(value) } else { None }
    }

    /// Returns whether the key is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Nullable::Missing)
    }
}

impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(s)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nullable<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(d)?.map_or(Nullable::Null, Nullable::Value))
    }
}

#[cfg(feature = "__schemas")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Nullable<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Option::<T>::schema_name()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Option::<T>::json_schema(generator)
    }
}

wire! {
    /// A document in the library.
    pub struct Document {
        /// The document's id.
        pub id: DocumentId,
        /// A readable title, or the file's name.
        pub title: String,
        /// The file's name.
        pub filename: String,
        /// The kind of document, if known.
        pub kind: Option<DocumentKind>,
        /// The data that was read out of it.
        pub fields: DocumentFields,
        /// The conversation it came with.
        pub conversation_id: Option<ConversationId>,
        /// The time at which it was filed.
        pub created_at: Timestamp,
    }

    /// The data that was read out of a document. Each field may be missing.
    #[derive(Default)]
    pub struct DocumentFields {
        /// The company or person that issued it.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub vendor: Nullable<String>,
        /// The amount of money.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub amount: Nullable<f64>,
        /// The currency of the amount.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub currency: Nullable<String>,
        /// Its date.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub date: Nullable<String>,
        /// The date on which it is due.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub due_date: Nullable<String>,
        /// Its number or other reference.
        #[serde(default, skip_serializing_if = "Nullable::is_missing")]
        pub reference: Nullable<String>,
    }
}

constructors! {
    Document(id: DocumentId, title: impl Into<String>, filename: impl Into<String>, created_at: Timestamp) {
        kind: None, fields: DocumentFields::default(), conversation_id: None
    };
}

shows! {
    Document: id kind conversation_id created_at;
    DocumentFields: ;
}
