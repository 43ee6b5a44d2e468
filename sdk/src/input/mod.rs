//! What each operation takes, and the limits it is held to.
//!
//! Every struct has a table of rules, [`Input::FIELDS`]. [`Input::check`] holds a value against it and names all
//! problems at once, in the service's own form, so that a bad call costs no request.

pub(crate) mod assign;
mod bodies;
mod form;
mod queries;
mod rule;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::Problems;

pub use bodies::{
    AddNote, AssignConversation, DocumentItem, RecordSent, Reply, RequestDocuments, SandboxInbound,
    SetStatus, TagConversation,
};
pub use queries::{ListConversations, SearchDocuments};
pub use rule::{Field, Form, Rule};

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

    /// Reads JSON, as a server gets it. Fields that no rule names are passed over.
    fn read(value: Value) -> Result<Self, Problems> {
        check_value::<Self>(&value)?;
        from_checked(value)
    }
}

/// Reads the arguments of a tool, as a model writes them: an optional field that is `null` or an empty text is not
/// given, and `10.0` is a whole number. Strict modes of model vendors send exactly these.
///
/// ```
/// use serde_json::json;
/// use shared_inbox::input::{ListConversations, read_arguments};
///
/// let list: ListConversations = read_arguments(json!({ "q": "", "mailbox": null, "limit": 10.0 }))?;
/// assert_eq!((list.q, list.mailbox, list.limit), (None, None, Some(10)));
/// # Ok::<(), shared_inbox::Problems>(())
/// ```
pub fn read_arguments<I: Input>(mut value: Value) -> Result<I, Problems> {
    if let Value::Object(fields) = &mut value {
        rule::relax_fields(I::FIELDS, fields);
    }
    I::read(value)
}

/// Reads the pairs of a query string. A parameter that is named twice or empty is a problem.
pub fn read_query<I: Input>(pairs: &[(impl AsRef<str>, impl AsRef<str>)]) -> Result<I, Problems> {
    let mut fields = Map::new();
    let mut problems = Problems::default();
    for field in I::FIELDS {
        let mut values = pairs.iter().filter(|(key, _)| key.as_ref() == field.name).map(|(_, v)| v.as_ref());
        match (values.next(), values.next()) {
            (Some(""), None) => problems.push(field.name, "must not be empty"),
            (Some(text), None) => {
                let number = matches!(field.rule, Rule::Integer { .. }).then(|| whole_number(text)).flatten();
                fields.insert(field.name.to_owned(), number.unwrap_or_else(|| text.into()));
            }
            (Some(_), Some(_)) => problems.push(field.name, "must be given only once"),
            (None, _) => {}
        }
    }
    let value = Value::Object(fields);
    if let Err(more) = check_value::<I>(&value) {
        more.iter().for_each(|problem| problems.push(&problem.field, &problem.message));
    }
    problems.or(())?;
    from_checked(value)
}

/// Returns an input as the pairs of a query string.
pub fn query(input: &impl Input) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(input) else { return Vec::new() };
    let text = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
    fields.into_iter().map(|(name, value)| (name, text(value))).collect()
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

/// Reads digits alone: `+5`, `5.0` and ` 5` are not numbers here.
fn whole_number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Beyond 64 bits it is a number all the same, and too large or too small in any case.
    Some(
        text.parse::<i64>()
            .map_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }.into(), Value::from),
    )
}
