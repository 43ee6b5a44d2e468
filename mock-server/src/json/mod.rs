//! Comparing, redacting and reading JSON.

pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod nearest;
pub(crate) mod read;
pub(crate) mod redact;
pub(crate) mod schema;

use shared_inbox::Problems;

/// Adds the problems of a part, whose fields are in the field `outer`, or else in the whole.
pub(crate) fn add_all(problems: &mut Problems, outer: &str, part: &Problems) {
    let dot = if outer.is_empty() { "" } else { "." };
    for problem in part {
        problems.push(format!("{outer}{dot}{}", problem.field), problem.message.clone());
    }
}

/// The values of an enum that may grow, for the schemas of inputs, which take only those that there are.
#[cfg(feature = "schemas")]
pub(crate) mod words {
    use serde::Serialize;
    use serde_json::{Value, json};

    pub(crate) fn list<T: Serialize>(known: &[T]) -> Vec<Value> {
        known.iter().map(|word| json!(word)).collect()
    }

    /// Returns the schema of an item of a list of them.
    pub(crate) fn item<T: Serialize>(known: &[T]) -> Value {
        json!({ "type": "string", "enum": list(known) })
    }

    pub(crate) fn or_null<T: Serialize>(known: &[T]) -> Vec<Value> {
        list(known).into_iter().chain([Value::Null]).collect()
    }
}
