//! Inputs that travel in the query string.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rule::{Field, Rule};
use super::{Input, form, inputs};
use crate::{Assigned, DocumentKind, MailboxId, Problems, View, limits, model::shows};

const LIMIT: Rule =
    Rule::Integer { min: limits::LIST_MIN, max: limits::LIST_MAX, default: limits::LIST_DEFAULT };

inputs! {
    /// Which conversations to list.
    #[derive(Default)]
    pub struct ListConversations {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "view" view: Option<View>,
            Rule::OneOf { words: &["open", "waiting", "snoozed", "closed", "all"], default: Some("open") },
            "waiting: on the customer. `all` goes only together with `reference`.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "mailbox" mailbox: Option<MailboxId>, Rule::form(&form::MAILBOX),
            "Only conversations of the inbox with this id.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "q" q: Option<String>, Rule::text(1, limits::QUERY), "Words to look for in all email text.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "assigned" assigned: Option<Assigned>,
            Rule::OneOf { words: &["me", "unassigned"], default: None }, "To this key's agent, or to nobody.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "limit" limit: Option<u32>, LIMIT, "The most items to give.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "reference" reference: Option<String>, Rule::any_text(1),
            "Only conversations that carry this app reference.";
    }
    check_together: |fields, problems| {
        if fields.get("view").is_some_and(|view| view == "all") && !fields.contains_key("reference") {
            problems.push("view", "all goes only together with reference");
        }
    }

    /// Which documents to look for.
    #[derive(Default)]
    pub struct SearchDocuments {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "q" q: Option<String>, Rule::text(1, limits::QUERY),
            "Words to look for in title, file name and fields.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "kind" kind: Option<DocumentKind>,
            Rule::OneOf {
                words: &["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"],
                default: None,
            },
            "Only documents of this kind.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "limit" limit: Option<u32>, LIMIT, "The most items to give.";
    }
}

shows! {
    ListConversations: view mailbox assigned limit;
    SearchDocuments: kind limit;
}
