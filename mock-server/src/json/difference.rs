//! The differences between two world documents.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::matching::short;

/// One place where two worlds differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FieldChange {
    /// Where, such as `conversations[cnv_4k7q2m9x].status`. Things with an id stand under it, others under
    /// their number.
    pub path: String,
    /// What was there; left out when it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Value>,
    /// What is there; left out when it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Value>,
}

impl std::fmt::Display for FieldChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = &self.path;
        match (&self.was, &self.is) {
            (Some(was), Some(is)) => write!(f, "~ {path}: {} → {}", short(was), short(is)),
            (None, Some(is)) => write!(f, "+ {path}: {}", short(is)),
            (Some(was), None) => write!(f, "- {path}: {}", short(was)),
            (None, None) => Ok(()),
        }
    }
}

/// Returns every place where two documents differ, except the state of the id generator, which changes with
/// every call.
pub(crate) fn between(was: &Value, is: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare("", was, is, &mut found);
    found.retain(|changed| changed.path != "ids" && !changed.path.starts_with("ids."));
    found
}

fn compare(path: &str, was: &Value, is: &Value, found: &mut Vec<FieldChange>) {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            parts(
                was.iter().map(|(name, part)| (at(name), part)),
                is.iter().map(|(name, part)| (at(name), part)),
                found,
            );
        }
        (Value::Array(was), Value::Array(is)) => {
            let at = |(number, item): (usize, &Value)| {
                format!("{path}[{}]", id(item).unwrap_or(number.to_string()))
            };
            parts(
                was.iter().enumerate().map(|numbered| (at(numbered), numbered.1)),
                is.iter().enumerate().map(|numbered| (at(numbered), numbered.1)),
                found,
            );
        }
        (was, is) if was == is => {}
        (was, is) => {
            found.push(FieldChange { path: path.to_owned(), was: Some(was.clone()), is: Some(is.clone()) })
        }
    }
}

/// Returns the id of an item in its list.
fn id(item: &Value) -> Option<String> {
    ["id", "agentId", "messageId", "name"].iter().find_map(|field| item[field].as_str()).map(str::to_owned)
}

fn parts<'v>(
    was: impl Iterator<Item = (String, &'v Value)>,
    is: impl Iterator<Item = (String, &'v Value)>,
    found: &mut Vec<FieldChange>,
) {
    let mut old: BTreeMap<String, &Value> = was.collect();
    let mut new = Vec::new();
    for (path, part) in is {
        match old.remove(&path) {
            Some(before) => compare(&path, before, part, found),
            None => new.push((path, part)),
        }
    }
    found.extend(old.into_iter().map(|(path, part)| FieldChange { path, was: Some(part.clone()), is: None }));
    found.extend(new.into_iter().map(|(path, part)| FieldChange { path, was: None, is: Some(part.clone()) }));
}
