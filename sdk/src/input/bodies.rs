//! Inputs that travel as a JSON body.

use serde::{Deserialize, Serialize};

use super::rule::{Field, Rule};
use super::{Input, form, inputs};
use crate::model::{constructors, setters, shows};
use crate::{AssignTo, Date, Reference, Status, limits};

const TAGS: Rule =
    Rule::List { min: 0, max: Some(limits::TAGS_PER_CALL), of: &Rule::text(1, limits::TAG_NAME) };
const DOCUMENT: Rule = Rule::Object(DocumentItem::FIELDS);
const ADDRESS: Rule = Rule::form(&form::ADDRESS);
const SEND: Rule = Rule::Flag { default: false };

inputs! {
    /// A note for the team.
    pub struct AddNote {
        required "body" body: String, Rule::text(1, limits::NOTE_BODY),
            "The note, in plain text. @FirstName mentions a person.";
    }

    /// A change of status.
    pub struct SetStatus {
        required "status" status: Status, Rule::OneOf { words: &["open", "waiting", "closed"], default: None },
            "The new status; `waiting` means waiting on the customer.";
    }

    /// Tags to add and to take away.
    #[derive(Default)]
    pub struct TagConversation {
        #[serde(default)]
        optional "add" add: Vec<String>, TAGS, "Tags to add. Unknown names are created.";
        #[serde(default)]
        optional "remove" remove: Vec<String>, TAGS, "Tags to take away.";
    }

    /// A change of the assignee.
    pub struct AssignConversation {
        required "to" to: AssignTo,
            Rule::Text { min: 0, max: Some(limits::ASSIGN_TO), form: Some(&form::ASSIGN_TO) },
            "An id from `team` (user:usr_… or agent:agt_…), `me`, or `none` to unassign.";
    }

    /// A reply to the customer: a draft unless `send` is set.
    ///
    /// ```
    /// use shared_inbox::input::{Input, Reply};
    /// let mut reply = Reply::new("Your refund is on its way.");
    /// reply.summary = Some("Confirms the refund".into());
    /// assert!(!reply.send && reply.check().is_ok());
    /// ```
    pub struct Reply {
        required "body" body: String, Rule::text(0, limits::REPLY_BODY), "The reply, in plain text.";
        #[serde(default)]
        optional "send" send: bool, SEND,
            "false: a draft for a person to approve. true: emails the customer after the undo window; needs the `send` scope.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "summary" summary: Option<String>, Rule::text(0, limits::REPLY_SUMMARY),
            "One line for the person who approves it.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "documents" documents: Option<Vec<DocumentItem>>,
            Rule::List { min: 0, max: Some(limits::DOCUMENTS), of: &DOCUMENT },
            "Documents to ask for; an upload link and a checklist are added, and reminders follow.";
    }

    /// A request for documents: a draft unless `send` is set.
    pub struct RequestDocuments {
        required "documents" documents: Vec<DocumentItem>,
            Rule::List { min: 1, max: Some(limits::DOCUMENTS), of: &DOCUMENT }, "The documents to ask for.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "message" message: Option<String>, Rule::text(0, limits::REQUEST_MESSAGE),
            "A short text above the checklist.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "dueDate" due_date: Option<Date>, Rule::form(&form::DATE), "By when, as a date.";
        #[serde(default)]
        optional "send" send: bool, SEND,
            "false: a draft for a person to approve. true: emails the customer after the undo window; needs the `send` scope.";
    }

    /// A requested document.
    ///
    /// ```
    /// use shared_inbox::input::DocumentItem;
    /// let item = DocumentItem::new("Bank statement").description("The last three months").nice_to_have();
    /// assert!(!item.required);
    /// ```
    pub struct DocumentItem {
        required "label" label: String, Rule::text(0, limits::DOCUMENT_LABEL), "Its name in the checklist.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "description" description: Option<String>, Rule::text(0, limits::DOCUMENT_DESCRIPTION),
            "More about it.";
        #[serde(default = "yes")]
        optional "required" required: bool, Rule::Flag { default: true }, "false marks it nice to have.";
    }

    /// An email that the app sent by itself, recorded so that a reply to it arrives with the reference.
    ///
    /// ```
    /// use shared_inbox::{Reference, input::{Input, RecordSent}};
    /// let mail = RecordSent::new(
    ///     "<6f0c2b7d91e84e0c@shop.example>", Reference::parse("order-1042")?, ["kim@example.com"], "Your order");
    /// assert!(mail.check().is_ok());
    /// # Ok::<(), shared_inbox::InvalidReference>(())
    /// ```
    pub struct RecordSent {
        required "messageId" message_id: String, Rule::any_text(1),
            "The Message-ID header that the email went out with.";
        required "reference" reference: Reference,
            Rule::Text { min: 1, max: Some(limits::REFERENCE), form: Some(&form::REFERENCE) },
            "The app's reference to its own record.";
        required "to" to: Vec<String>, Rule::List { min: 1, max: None, of: &ADDRESS },
            "The addresses that it went to.";
        required "subject" subject: String, Rule::any_text(0), "Its subject.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "text" text: Option<String>, Rule::any_text(0), "Its plain text.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "html" html: Option<String>, Rule::any_text(0), "Its HTML.";
    }

    /// An incoming email that is simulated in the sandbox.
    pub struct SandboxInbound {
        required "from" from: String, Rule::form(&form::TEST_ADDRESS),
            "The sender's address, on a .test domain.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "name" name: Option<String>, Rule::any_text(0), "The sender's name.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "subject" subject: Option<String>, Rule::any_text(0), "The subject.";
        required "text" text: String, Rule::any_text(0), "The text.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "conversationId" conversation_id: Option<String>, Rule::any_text(0),
            "The conversation that it is a reply on.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "to" to: Option<String>, ADDRESS,
            "The sandbox inbox's address, with or without a reference as its plus tag.";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional "inReplyTo" in_reply_to: Option<String>, Rule::any_text(0),
            "The Message-ID of the email that it replies to.";
    }
}

fn yes() -> bool {
    true
}

constructors! {
    AddNote(body: impl Into<String>);
    SetStatus(status: Status);
    AssignConversation(to: impl Into<AssignTo>);
    Reply(body: impl Into<String>) { send: false, summary: None, documents: None };
    DocumentItem(label: impl Into<String>) { description: None, required: true };
    SandboxInbound(from: impl Into<String>, text: impl Into<String>) {
        name: None, subject: None, conversation_id: None, to: None, in_reply_to: None
    };
}

impl RequestDocuments {
    /// Creates a draft that requests these.
    pub fn new(documents: impl IntoIterator<Item = DocumentItem>) -> Self {
        Self { documents: documents.into_iter().collect(), message: None, due_date: None, send: false }
    }
}

impl DocumentItem {
    setters! {
        /// Says more about it.
        #[must_use]
        description(description: impl Into<String>) description = Some(description.into());
        /// Marks it as one that need not come.
        #[must_use]
        nice_to_have() required = false;
    }
}

impl RecordSent {
    /// Creates the record of an email with this Message-ID, reference, recipients and subject.
    pub fn new<T: Into<String>>(
        message_id: impl Into<String>,
        reference: Reference,
        to: impl IntoIterator<Item = T>,
        subject: impl Into<String>,
    ) -> Self {
        Self {
            message_id: message_id.into(),
            reference,
            to: to.into_iter().map(Into::into).collect(),
            subject: subject.into(),
            text: None,
            html: None,
        }
    }
}

shows! {
    AddNote: ;
    SetStatus: status;
    TagConversation: ;
    AssignConversation: to;
    Reply: send;
    RequestDocuments: due_date send;
    DocumentItem: required;
    RecordSent: reference;
    SandboxInbound: conversation_id;
}
