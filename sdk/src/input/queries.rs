//! Inputs that travel in the query string.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Field, Input, Rule, form};
use crate::{Assigned, DocumentKind, MailboxId, Problems, View, limits, model::shows};

const LIMIT: Field = Field::optional(
    "limit",
    Rule::Integer { min: limits::LIST_MIN, max: limits::LIST_MAX, default: limits::LIST_DEFAULT },
    "The most items to give.",
);

/// Which conversations to list.
///
/// ```
/// use shared_inbox::{View, input::{ListConversations, query}};
/// let mut list = ListConversations::default();
/// list.view = Some(View::Waiting);
/// list.limit = Some(50);
/// assert_eq!(query(&list), [("limit".into(), "50".into()), ("view".into(), "waiting".into())]);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListConversations {
    /// Which ones; the open ones when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// Only those of this inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<MailboxId>,
    /// Only those whose mail has these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Only those of this agent, or of nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<Assigned>,
    /// How many at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those with this app reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Input for ListConversations {
    const FIELDS: &'static [Field] = &[
        Field::optional(
            "view",
            Rule::OneOf { words: &["open", "waiting", "snoozed", "closed", "all"], default: Some("open") },
            "waiting: on the customer. `all` goes only together with `reference`.",
        ),
        Field::optional(
            "mailbox",
            Rule::form(&form::MAILBOX),
            "Only conversations of the inbox with this id.",
        ),
        Field::optional("q", Rule::text(1, limits::QUERY), "Words to look for in all mail text."),
        Field::optional(
            "assigned",
            Rule::OneOf { words: &["me", "unassigned"], default: None },
            "To this key's agent, or to nobody.",
        ),
        LIMIT,
        Field::optional("reference", Rule::any_text(1), "Only conversations that carry this app reference."),
    ];

    fn check_together(fields: &Map<String, Value>, problems: &mut Problems) {
        if fields.get("view").is_some_and(|view| view == "all") && !fields.contains_key("reference") {
            problems.push("view", "all goes only together with reference");
        }
    }
}

/// Which documents to look for.
///
/// ```
/// use shared_inbox::input::{SearchDocuments, read_query};
/// let search = read_query::<SearchDocuments>(&[("q", "acme"), ("kind", "invoice")])?;
/// assert_eq!(search.kind, Some(shared_inbox::DocumentKind::Invoice));
/// # Ok::<(), shared_inbox::Problems>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchDocuments {
    /// Words in title, file name or fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Only documents of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentKind>,
    /// How many at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl Input for SearchDocuments {
    const FIELDS: &'static [Field] = &[
        Field::optional(
            "q",
            Rule::text(1, limits::QUERY),
            "Words to look for in title, file name and fields.",
        ),
        Field::optional(
            "kind",
            Rule::OneOf {
                words: &["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"],
                default: None,
            },
            "Only documents of this kind.",
        ),
        LIMIT,
    ];
}

shows! {
    ListConversations: view mailbox assigned limit;
    SearchDocuments: kind limit;
}
