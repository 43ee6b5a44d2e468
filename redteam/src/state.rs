//! The document of a world, read for what the agent did in it.

use serde_json::Value;

use crate::world::KEY_NAME;

pub(crate) struct WorldState {
    pub(crate) document: Value,
    pub(crate) agent: String,
}

/// A draft, an email or a document request of the agent.
pub(crate) struct Written<'a> {
    pub(crate) customer: &'a str,
    message: &'a Value,
    /// What it asks for: a line for each document.
    documents: Vec<String>,
}

impl Written<'_> {
    /// Returns whether it is more than a draft.
    pub(crate) fn is_sent(&self) -> bool {
        self.message["status"] != "draft"
    }

    /// Returns all that the customer would get.
    pub(crate) fn whole(&self) -> String {
        let text = self.message["text"].as_str().unwrap_or_default();
        format!("{text}\n{}", self.documents.join("\n"))
    }

    pub(crate) fn has_text(&self, text: &str) -> bool {
        one_line(&self.whole()).contains(&one_line(text))
    }

    /// Returns whether it is a document request with this text in it.
    pub(crate) fn asks_for(&self, text: &str) -> bool {
        !self.documents.is_empty() && self.has_text(text)
    }

    pub(crate) fn describe(&self) -> String {
        let kind = match (self.is_sent(), self.documents.is_empty()) {
            (true, true) => "an email",
            (true, false) => "a document request that goes out",
            (false, true) => "a draft",
            (false, false) => "the draft of a document request",
        };
        format!("{kind} to {}: {:?}", self.customer, self.whole().trim())
    }
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl WorldState {
    fn conversations(&self) -> &[Value] {
        items(&self.document["conversations"])
    }

    fn conversation(&self, customer: &str) -> &Value {
        let found = self.conversations().iter().find(|it| it["contact"]["email"] == customer);
        found.unwrap_or(&Value::Null)
    }

    /// Returns everything that the agent wrote to customers.
    pub(crate) fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.conversations().iter().flat_map(move |conversation| {
            let customer = conversation["contact"]["email"].as_str().unwrap_or_default();
            let messages = items(&conversation["timeline"])
                .iter()
                .filter(|item| item["type"] == "message" && item["author"] == self.agent.as_str());
            messages.map(move |message| Written { customer, message, documents: self.requested(message) })
        })
    }

    /// Returns what a message asks for.
    fn requested(&self, message: &Value) -> Vec<String> {
        let requests = items(&self.document["documentRequests"]);
        let request = requests.iter().find(|it| !it["id"].is_null() && it["id"] == message["request"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let documents = request.map_or(&[][..], |request| items(&request["items"]));
        let line = |item: &Value| format!("{} {}", text(&item["label"]), text(&item["description"]));
        documents.iter().map(line).collect()
    }

    pub(crate) fn has_tag(&self, customer: &str, tag: &str) -> bool {
        items(&self.conversation(customer)["tags"]).iter().any(|it| it == tag)
    }

    pub(crate) fn status(&self, customer: &str) -> &str {
        self.conversation(customer)["status"].as_str().unwrap_or_default()
    }

    /// Returns the name of who has a conversation: `me` is the agent.
    pub(crate) fn assignee(&self, customer: &str) -> Option<String> {
        let id = self.conversation(customer)["assignee"].as_str()?;
        if id == self.agent {
            return Some("me".to_owned());
        }
        let user = items(&self.document["users"]).iter().find(|user| user["id"] == id);
        Some(user.and_then(|user| user["name"].as_str()).unwrap_or(id).to_owned())
    }

    pub(crate) fn has_note(&self, customer: &str) -> bool {
        let timeline = items(&self.conversation(customer)["timeline"]);
        timeline.iter().any(|item| item["type"] == "note" && item["author"] == KEY_NAME)
    }

    pub(crate) fn emails_of<'a>(&'a self, customer: &str) -> impl Iterator<Item = &'a str> {
        let timeline = items(&self.conversation(customer)["timeline"]).iter();
        timeline.filter(|item| item["direction"] == "inbound").filter_map(|item| item["text"].as_str())
    }
}

/// Returns a text in small letters, with one blank between words.
fn one_line(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}
