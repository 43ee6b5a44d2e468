//! Arguments that a tool does not have are refused, with the name that was probably meant: a model that is told nothing
//! believes that they counted.

use rmcp::model::JsonObject;
use serde_json::Value;

/// What models call an argument, beside its name.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("id", &["conversation", "conversationid", "cnv", "thread", "threadid"]),
    ("q", &["query", "search", "text", "words", "term", "keywords"]),
    ("view", &["status", "state", "filter"]),
    ("status", &["state", "view"]),
    ("add", &["tags", "tag", "labels", "label", "names", "name"]),
    ("remove", &["delete", "untag"]),
    ("assigned", &["assignee", "assignedto", "owner"]),
    ("to", &["assignee", "assignto", "user", "agent", "person", "owner", "teammate", "name"]),
    ("body", &["text", "message", "note", "content", "comment", "reply"]),
    ("message", &["body", "text", "note", "content"]),
    ("documents", &["items", "document", "docs", "files", "checklist"]),
    ("dueDate", &["due", "deadline", "date"]),
    ("limit", &["count", "max", "n", "top", "size", "pagesize", "maxresults"]),
    ("mailbox", &["inbox", "mailboxid", "inboxid"]),
    ("kind", &["type", "category"]),
    ("items", &["range", "part", "page"]),
    ("label", &["name", "title", "document"]),
];

/// How much two names must have in common to be taken for one, of 1.
const SIMILAR: f64 = 0.8;

/// Returns what is wrong with the names of these arguments, at any depth; nothing when the schema has them all.
pub(in crate::server) fn unknown(schema: &JsonObject, arguments: &JsonObject) -> Option<String> {
    let mut problems = Vec::new();
    collect(schema, arguments, "", &mut problems);
    if problems.is_empty() {
        return None;
    }
    let known = names(schema).collect::<Vec<_>>().join(", ");
    let takes = if known.is_empty() { "no arguments".to_owned() } else { known };
    Some(format!("{} Nothing was done. The tool takes {takes}.", problems.join(" ")))
}

fn collect(schema: &JsonObject, given: &JsonObject, place: &str, problems: &mut Vec<String>) {
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, value) in given {
        match fields.and_then(|fields| fields.get(name)) {
            Some(field) => descend(field, value, &format!("{place}{name}"), problems),
            // What is not given is no argument: strict modes of model vendors send it for all.
            None if value.is_null() => {}
            None => problems.push(match nearest(schema, name) {
                Some(meant) => format!("unknown argument `{place}{name}`; did you mean `{place}{meant}`?"),
                None => format!("unknown argument `{place}{name}`."),
            }),
        }
    }
}

fn descend(schema: &Value, value: &Value, place: &str, problems: &mut Vec<String>) {
    match (schema, value) {
        (Value::Object(schema), Value::Object(given)) if schema.contains_key("properties") => {
            collect(schema, given, &format!("{place}."), problems);
        }
        (Value::Object(schema), Value::Array(items)) => {
            let Some(of) = schema.get("items") else { return };
            for (i, item) in items.iter().enumerate() {
                descend(of, item, &format!("{place}[{i}]"), problems);
            }
        }
        _ => {}
    }
}

fn names(schema: &JsonObject) -> impl Iterator<Item = &str> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
}

/// Returns the argument that was probably meant.
fn nearest<'a>(schema: &'a JsonObject, name: &str) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    let given = plain(name);
    let means = |argument: &str| {
        let synonyms =
            SYNONYMS.iter().find(|(one, _)| *one == argument).map_or(&[][..], |(_, synonyms)| synonyms);
        plain(argument) == given || synonyms.contains(&given.as_str())
    };
    names(schema).find(|argument| means(argument)).or_else(|| {
        let likeness = |argument: &&str| strsim::jaro_winkler(&plain(argument), &given);
        names(schema)
            .filter(|argument| likeness(argument) >= SIMILAR)
            .max_by(|one, other| likeness(one).total_cmp(&likeness(other)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared_inbox::Operation;

    use super::*;
    use crate::server::tools::input_schema;

    fn said(operation: Operation, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        unknown(input_schema(operation).unwrap(), &arguments).unwrap_or_default()
    }

    #[test]
    fn an_unknown_argument_is_named_with_the_one_that_was_meant() {
        for (operation, arguments, unknown, meant) in [
            (Operation::TagConversation, json!({ "id": "cnv_1", "tags": ["x"] }), "tags", "add"),
            (Operation::ListConversations, json!({ "status": "closed" }), "status", "view"),
            (Operation::SearchDocuments, json!({ "query": "x" }), "query", "q"),
            (Operation::AddNote, json!({ "conversation_id": "cnv_1", "body": "x" }), "conversation_id", "id"),
            (Operation::AddNote, json!({ "id": "cnv_1", "note": "x" }), "note", "body"),
            (Operation::AssignConversation, json!({ "id": "cnv_1", "assignee": "me" }), "assignee", "to"),
            (Operation::RecordSent, json!({ "message_id": "x" }), "message_id", "messageId"),
            (Operation::Reply, json!({ "id": "cnv_1", "boddy": "x" }), "boddy", "body"),
            (
                Operation::RequestDocuments,
                json!({ "id": "cnv_1", "documents": [{ "name": "Passport" }] }),
                "documents[0].name",
                "documents[0].label",
            ),
        ] {
            let said = said(operation, arguments);
            let expected = format!("unknown argument `{unknown}`; did you mean `{meant}`?");
            assert!(said.starts_with(&expected), "{operation:?}: {said}");
        }
    }

    #[test]
    fn every_unknown_argument_is_named_at_once_and_those_that_there_are_too() {
        let said = said(Operation::TagConversation, json!({ "id": "cnv_1", "tags": [], "zzz": 1 }));
        assert_eq!(
            said,
            "unknown argument `tags`; did you mean `add`? unknown argument `zzz`. Nothing was done. The tool takes add, id, \
             remove."
        );
        assert!(
            super::unknown(
                input_schema(Operation::ListTags).unwrap(),
                &json!({ "q": 1 }).as_object().unwrap().clone()
            )
            .unwrap()
            .contains("takes no arguments")
        );
    }

    #[test]
    fn what_is_known_or_null_passes() {
        assert_eq!(said(Operation::ListConversations, json!({ "view": "any", "q": "x", "other": null })), "");
        assert_eq!(said(Operation::Reply, json!({ "id": 1, "documents": [{ "label": "x" }, 3] })), "");
    }
}
