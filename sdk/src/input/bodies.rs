//! Inputs that travel as a JSON body.

use serde::{Deserialize, Serialize};

use super::{Field, Input, Rule, form};
use crate::{AssignTo, Date, Reference, Status, limits, model::shows};

macro_rules! body {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$fdoc:meta])* pub $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name { $($(#[$fdoc])* pub $field: $type,)* }
    )*};
}

const SEND: Field = Field::optional(
    "send",
    Rule::Flag { default: false },
    "false: a draft for a person to approve. true: mails the customer after the undo window; needs the `send` scope.",
);

body! {
    /// A note for the team.
    pub struct AddNote {
        /// Plain text. `@FirstName` mentions a person.
        pub body: String,
    }

    /// A change of status.
    pub struct SetStatus {
        /// The new status.
        pub status: Status,
    }

    /// Tags to add and to take away.
    #[derive(Default)]
    pub struct TagConversation {
        /// Names to add; unknown ones are created.
        #[serde(default)]
        pub add: Vec<String>,
        /// Names to take away.
        #[serde(default)]
        pub remove: Vec<String>,
    }

    /// A change of hands.
    pub struct AssignConversation {
        /// The one to give it to.
        pub to: AssignTo,
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
        /// Plain text.
        pub body: String,
        /// Whether it mails the customer after the undo window. Needs the `send` scope.
        #[serde(default)]
        pub send: bool,
        /// One line for the person who approves it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// Documents to request; the service adds the upload link and the checklist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub documents: Option<Vec<DocumentItem>>,
    }

    /// A request for documents: a draft unless `send` is set.
    pub struct RequestDocuments {
        /// The requested documents.
        pub documents: Vec<DocumentItem>,
        /// A short text above the checklist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<String>,
        /// By when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub due_date: Option<Date>,
        /// Whether it mails the customer after the undo window. Needs the `send` scope.
        #[serde(default)]
        pub send: bool,
    }

    /// A requested document.
    ///
    /// ```
    /// use shared_inbox::input::DocumentItem;
    /// let item = DocumentItem::new("Bank statement").description("The last three months").nice_to_have();
    /// assert!(!item.required);
    /// ```
    pub struct DocumentItem {
        /// What it is called in the checklist.
        pub label: String,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
        /// `false` marks it nice to have.
        #[serde(default = "yes")]
        pub required: bool,
    }

    /// A mail that the app sent by itself, recorded so that the reply finds its way.
    ///
    /// ```
    /// use shared_inbox::{Reference, input::{Input, RecordSent}};
    /// let mail = RecordSent::new(
    ///     "<6f0c2b7d91e84e0c@shop.example>", Reference::parse("order-1042")?, ["kim@example.com"], "Your order");
    /// assert!(mail.check().is_ok());
    /// # Ok::<(), shared_inbox::InvalidReference>(())
    /// ```
    pub struct RecordSent {
        /// The Message-ID header that the mail went out with. It must be unguessable.
        pub message_id: String,
        /// The app's reference.
        pub reference: Reference,
        /// Whom it went to.
        pub to: Vec<String>,
        /// Its subject.
        pub subject: String,
        /// Its plain text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub text: Option<String>,
        /// Its HTML.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub html: Option<String>,
    }

    /// A mail that is made up for a test.
    pub struct SandboxInbound {
        /// The sender, on a `.test` domain.
        pub from: String,
        /// The sender's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// The subject.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub subject: Option<String>,
        /// The text.
        pub text: String,
        /// The conversation that it replies on; a new one starts without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub conversation_id: Option<String>,
        /// The sandbox inbox's address, with the app's reference as a plus tag if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub to: Option<String>,
        /// The Message-ID that it replies to, such as that of a recorded app email.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_reply_to: Option<String>,
    }
}

fn yes() -> bool {
    true
}

impl AddNote {
    /// A note that says this.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into() }
    }
}

impl SetStatus {
    /// The change to this status.
    pub fn new(status: Status) -> Self {
        Self { status }
    }
}

impl AssignConversation {
    /// The change to these hands.
    pub fn new(to: impl Into<AssignTo>) -> Self {
        Self { to: to.into() }
    }
}

impl Reply {
    /// A draft that says this.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), send: false, summary: None, documents: None }
    }
}

impl RequestDocuments {
    /// Creates a draft that requests these.
    pub fn new(documents: impl IntoIterator<Item = DocumentItem>) -> Self {
        Self { documents: documents.into_iter().collect(), message: None, due_date: None, send: false }
    }
}

impl DocumentItem {
    /// A document that must come.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), description: None, required: true }
    }

    /// Says more about it.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Marks it as one that need not come.
    #[must_use]
    pub fn nice_to_have(mut self) -> Self {
        self.required = false;
        self
    }
}

impl RecordSent {
    /// A mail with this Message-ID, reference, recipients and subject.
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

impl SandboxInbound {
    /// A mail from this sender that says this.
    pub fn new(from: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            name: None,
            subject: None,
            text: text.into(),
            conversation_id: None,
            to: None,
            in_reply_to: None,
        }
    }
}

impl Input for AddNote {
    const FIELDS: &'static [Field] = &[Field::required(
        "body",
        Rule::text(1, limits::NOTE_BODY),
        "The note, in plain text. @FirstName mentions a person.",
    )];
}

impl Input for SetStatus {
    const FIELDS: &'static [Field] = &[Field::required(
        "status",
        Rule::OneOf { words: &["open", "waiting", "closed"], default: None },
        "The new status; `waiting` means waiting on the customer.",
    )];
}

impl Input for TagConversation {
    const FIELDS: &'static [Field] = &[
        Field::optional("add", TAGS, "Tags to add. Unknown names are created."),
        Field::optional("remove", TAGS, "Tags to take away."),
    ];
}

const TAGS: Rule =
    Rule::List { min: 0, max: Some(limits::TAGS_PER_CALL), of: &Rule::text(1, limits::TAG_NAME) };

impl Input for AssignConversation {
    const FIELDS: &'static [Field] = &[Field::required(
        "to",
        Rule::Text { min: 0, max: Some(limits::ASSIGN_TO), form: Some(&form::ASSIGN_TO) },
        "An id from `team` (user:usr_… or agent:agt_…), `me`, or `none` to unassign.",
    )];
}

impl Input for Reply {
    const FIELDS: &'static [Field] = &[
        Field::required("body", Rule::text(0, limits::REPLY_BODY), "The reply, in plain text."),
        SEND,
        Field::optional(
            "summary",
            Rule::text(0, limits::REPLY_SUMMARY),
            "One line for the person who approves it.",
        ),
        Field::optional(
            "documents",
            Rule::List { min: 0, max: Some(limits::DOCUMENTS), of: &DOCUMENT },
            "Documents to ask for; an upload link and a checklist are added, and reminders follow.",
        ),
    ];
}

impl Input for RequestDocuments {
    const FIELDS: &'static [Field] = &[
        Field::required(
            "documents",
            Rule::List { min: 1, max: Some(limits::DOCUMENTS), of: &DOCUMENT },
            "The documents to ask for.",
        ),
        Field::optional(
            "message",
            Rule::text(0, limits::REQUEST_MESSAGE),
            "A short text above the checklist.",
        ),
        Field::optional("dueDate", Rule::form(&form::DATE), "By when, as a date."),
        SEND,
    ];
}

const DOCUMENT: Rule = Rule::Object(DocumentItem::FIELDS);

impl Input for DocumentItem {
    const FIELDS: &'static [Field] = &[
        Field::required("label", Rule::text(0, limits::DOCUMENT_LABEL), "Its name in the checklist."),
        Field::optional("description", Rule::text(0, limits::DOCUMENT_DESCRIPTION), "More about it."),
        Field::optional("required", Rule::Flag { default: true }, "false marks it nice to have."),
    ];
}

impl Input for RecordSent {
    const FIELDS: &'static [Field] = &[
        Field::required(
            "messageId",
            Rule::any_text(1),
            "The Message-ID header that the email went out with.",
        ),
        Field::required(
            "reference",
            Rule::Text { min: 1, max: Some(limits::REFERENCE), form: Some(&form::REFERENCE) },
            "The app's reference to its own record.",
        ),
        Field::required(
            "to",
            Rule::List { min: 1, max: None, of: &ADDRESS },
            "The addresses that it went to.",
        ),
        Field::required("subject", Rule::any_text(0), "Its subject."),
        Field::optional("text", Rule::any_text(0), "Its plain text."),
        Field::optional("html", Rule::any_text(0), "Its HTML."),
    ];
}

const ADDRESS: Rule = Rule::form(&form::ADDRESS);

impl Input for SandboxInbound {
    const FIELDS: &'static [Field] = &[
        Field::required("from", Rule::form(&form::TEST_ADDRESS), "The sender's address, on a .test domain."),
        Field::optional("name", Rule::any_text(0), "The sender's name."),
        Field::optional("subject", Rule::any_text(0), "The subject."),
        Field::required("text", Rule::any_text(0), "The text."),
        Field::optional("conversationId", Rule::any_text(0), "The conversation that it is a reply on."),
        Field::optional(
            "to",
            ADDRESS,
            "The sandbox inbox's address, with or without a reference as its plus tag.",
        ),
        Field::optional("inReplyTo", Rule::any_text(0), "The Message-ID of the email that it replies to."),
    ];
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
