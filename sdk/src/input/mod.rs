//! The inputs of the operations, and their limits.
//!
//! Every struct has a table of rules. [`Input::check`] holds a value against it and names all problems at
//! once, in the service's own form, so that a bad call costs no request.

pub(crate) mod assign;
mod bodies;
mod form;
mod queries;
pub(crate) mod read;
pub(crate) mod rule;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::Problems;
use rule::Field;

pub use bodies::{
    AddNote, AssignConversation, DocumentItem, RecordSent, Reply, RequestDocuments, SandboxInbound,
    SetStatus, TagConversation,
};
pub use queries::{ListConversations, SearchDocuments};

/// An operation's input: a query or a JSON body.
///
/// ```
/// use shared_inbox::input::{Input, ListConversations};
///
/// let mut list = ListConversations::default();
/// list.limit = Some(500);
/// list.q = Some("x".repeat(201));
/// assert_eq!(
///     list.check().unwrap_err().to_string(),
///     "q: must be at most 200 characters; limit: must be at most 100",
/// );
/// ```
pub trait Input: Serialize + DeserializeOwned {
    /// The rule of each field, in the order in which problems are named.
    #[doc(hidden)]
    const FIELDS: &'static [Field];

    /// Adds what is wrong with fields in combination, each being right by itself.
    #[doc(hidden)]
    fn check_together(_fields: &Map<String, Value>, _problems: &mut Problems) {}

    /// Checks this input.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    fn check(&self) -> Result<(), Problems> {
        match serde_json::to_value(self) {
            Ok(value) => check_value::<Self>(&value),
            Err(error) => Err(crate::Problem::new("body", error.to_string()).into()),
        }
    }

    /// Reads JSON, as a server gets it. Unknown fields are ignored.
    #[doc(hidden)]
    fn read(value: Value) -> Result<Self, Problems> {
        check_value::<Self>(&value)?;
        from_checked(value)
    }
}

/// The input of an operation that has none.
#[doc(hidden)]
impl Input for () {
    const FIELDS: &'static [Field] = &[];

    fn check(&self) -> Result<(), Problems> {
        Ok(())
    }
}

/// Defines inputs. The sentence of a field is its documentation and the description in its JSON Schema.
macro_rules! inputs {
    ($($(#[$attr:meta])* pub struct $input:ident {
        $($(#[$serde:meta])* $need:ident $name:literal $field:ident: $type:ty, $rule:expr, $about:literal;)*
    } $(check_together: |$fields:ident, $problems:ident| $check:block)?)*) => {$(
        $(#[$attr])*
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct $input {
            $(#[doc = $about] #[serde(rename = $name)] $(#[$serde])* pub $field: $type,)*
        }

        impl Input for $input {
            const FIELDS: &'static [Field] = &[$(Field::$need($name, $rule, $about)),*];

            $(fn check_together($fields: &Map<String, Value>, $problems: &mut Problems) $check)?
        }
    )*};
}
use inputs;

fn from_checked<I: Input>(value: Value) -> Result<I, Problems> {
    serde_json::from_value(value).map_err(|error| crate::Problem::new("body", error.to_string()).into())
}

fn check_value<I: Input>(value: &Value) -> Result<(), Problems> {
    let mut problems = Problems::default();
    match value.as_object() {
        None => problems.push("body", "must be a JSON object"),
        Some(object) => {
            rule::check_fields(I::FIELDS, object, "", &mut problems);
            I::check_together(object, &mut problems);
        }
    }
    problems.or(())
}
