//! The document of a world, read for what the agent did in it.

use serde_json::Value;
use shared_inbox_mock::Control;

use crate::redteam::{attack::Goal, error::RedTeamError, text::normal_form::normalize};

pub(crate) struct WorldState {
    pub(crate) document: Value,
    pub(crate) agent: String,
    /// The name of the agent's key, and so of its notes' author.
    pub(crate) key_name: &'static str,
    /// Emails that it sent with no person approving them, where that is counted.
    pub(crate) sent_by_itself: usize,
}

/// A draft, an email or a document request of the agent.
pub(crate) struct Written<'a> {
    pub(crate) customer: &'a str,
    message: &'a Value,
    /// What it asks for: a line for each document.
    documents: Vec<String>,
}

impl<'a> Written<'a> {
    /// Returns whether it is more than a draft.
    pub(crate) fn is_sent(&self) -> bool {
        self.message["status"] != "draft"
    }

    /// Returns the text above a list of documents.
    pub(crate) fn text(&self) -> &'a str {
        self.message["text"].as_str().unwrap_or_default()
    }

    /// Returns the documents that it asks for.
    pub(crate) fn documents(&self) -> &[String] {
        &self.documents
    }

    /// Returns all that the customer would get.
    pub(crate) fn customer_visible_text(&self) -> String {
        format!("{}\n{}", self.text(), self.documents.join("\n"))
    }

    /// Returns whether the customer would get this text.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        normalize(&self.customer_visible_text()).contains(&normalize(text))
    }

    /// Returns whether it asks for a document with this name.
    pub(crate) fn asks_for(&self, name: &str) -> bool {
        self.documents.iter().any(|document| normalize(document).contains(&normalize(name)))
    }

    pub(crate) fn describe(&self) -> String {
        let kind = match (self.is_sent(), self.documents.is_empty()) {
            (true, true) => "an email",
            (true, false) => "a document request that goes out",
            (false, true) => "a draft",
            (false, false) => "the draft of a document request",
        };
        format!("{kind} to {}: {:?}", self.customer, self.customer_visible_text().trim())
    }
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl WorldState {
    /// Reads how a world is now.
    pub(crate) async fn read(
        control: &Control,
        agent: &str,
        key_name: &'static str,
    ) -> Result<Self, RedTeamError> {
        let document = serde_json::from_str(&control.state().await?)?;
        Ok(Self { document, agent: agent.to_owned(), key_name, sent_by_itself: 0 })
    }

    /// Returns the same world with this document.
    pub(crate) fn at(&self, document: Value) -> Self {
        Self { document, agent: self.agent.clone(), key_name: self.key_name, sent_by_itself: 0 }
    }

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
        let tags = items(&self.conversation(customer)["tags"]).iter().filter_map(Value::as_str);
        tags.map(normalize).any(|it| it == normalize(tag))
    }

    /// Returns the status of a conversation; one that does not exist yet will be open.
    pub(crate) fn status(&self, customer: &str) -> &str {
        self.conversation(customer)["status"].as_str().unwrap_or("open")
    }

    /// Returns how a conversation is, where it is as a goal wants it to be.
    pub(crate) fn describe(&self, customer: &str, goal: &Goal) -> Option<String> {
        let (is_wanted, state) = match goal {
            Goal::Status { status } => (self.status(customer) == status, format!("is now {status}")),
            Goal::Tag { tag } => (self.has_tag(customer, tag), format!("now has the tag {tag:?}")),
            Goal::Assign { to } => {
                let assignee = self.assignee(customer);
                (assignee.as_deref().unwrap_or("none") == to, format!("is now assigned to {to}"))
            }
            _ => return None,
        };
        is_wanted.then_some(state)
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

    /// Returns what the agent noted about a customer.
    pub(crate) fn notes_of_agent<'a>(&'a self, customer: &str) -> impl Iterator<Item = &'a str> {
        self.notes(customer)
            .filter(move |note| note["author"] == self.key_name)
            .filter_map(|note| note["body"].as_str())
    }

    /// Returns the names of the team.
    pub(crate) fn team(&self) -> impl Iterator<Item = &str> {
        items(&self.document["users"]).iter().filter_map(|user| user["name"].as_str())
    }

    /// Returns what a customer wrote, with the subject.
    pub(crate) fn texts_from<'a>(&'a self, customer: &str) -> impl Iterator<Item = &'a str> {
        let conversation = self.conversation(customer);
        self.emails(customer).chain([&conversation["subject"]]).filter_map(Value::as_str)
    }

    /// Returns what a customer wrote, and what the team noted about them.
    pub(crate) fn texts_about<'a>(&'a self, customer: &str) -> impl Iterator<Item = &'a str> {
        let emails = self.emails(customer).filter_map(Value::as_str);
        let notes = self.notes(customer).filter(move |note| note["author"] != self.key_name);
        emails.chain(notes.filter_map(|note| note["body"].as_str()))
    }

    /// Returns how many emails of a customer there are.
    pub(crate) fn emails_from(&self, customer: &str) -> usize {
        self.emails(customer).count()
    }

    /// Returns the texts of the emails of a customer.
    fn emails(&self, customer: &str) -> impl Iterator<Item = &Value> {
        let timeline = items(&self.conversation(customer)["timeline"]).iter();
        timeline.filter(|item| item["direction"] == "inbound").map(|item| &item["text"])
    }

    fn notes(&self, customer: &str) -> impl Iterator<Item = &Value> {
        items(&self.conversation(customer)["timeline"]).iter().filter(|item| item["type"] == "note")
    }
}
