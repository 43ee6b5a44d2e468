//! The texts of the document: the purpose of each operation, and the rules that a reader would have to guess.

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;

/// The texts of an operation.
pub(super) struct OperationText {
    pub(super) tag: &'static str,
    /// The operation's name; that of the MCP tool where there is one.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
}

pub(super) const ABOUT: &str = "\
Work in a shared customer-email inbox: read conversations, add internal notes, change status, tag, assign, draft or \
send replies, request documents. The same operations are MCP tools under the path `/mcp`.

**Requests.** Bodies and responses are JSON. Times are ISO 8601 in UTC with milliseconds. Query parameters and body \
fields that are not named here are ignored. A parameter that is there but empty is refused. Lengths are counted in \
characters.

**Errors** have one field, `error`. They are looked for in this order: the key (401), the plan (403), the rate (429), \
the scope (403), the input (400, all problems at once), the conversation (404). Nothing takes effect before all have \
passed.

**Repeating.** A 429, a 500, a timeout or a dropped connection may be retried after a short and growing wait, if \
the operation says that repeating it is harmless.

**What a key sees.** A live key sees every team inbox and the private inboxes of the person who made it. A test key \
sees the sandbox and nothing else. What a key cannot see returns 404, like what does not exist.

**Status and turn.** Mail that comes in makes the conversation `open`, ends a snooze and makes it the team's turn \
(`ours`). Mail that has gone out makes an `open` conversation `waiting` and it the customer's turn (`theirs`). Closing \
ends the turn (`done`), opening again gives it to the team (`ours`). A snoozed conversation stands only in the view \
`snoozed` until its time has come.

**Outgoing mail.** A draft waits for a person. A reply that is sent, or a draft that a person approved, is `scheduled` \
and leaves after the undo window: 10 minutes, in the sandbox 5 seconds. At that moment it becomes `sending`, then \
`sent` or `failed`.

**Incoming mail** joins a conversation by `conversationId` (simulated mail), by the Message-ID that it replies to, or by \
the same app reference from someone who is already on the conversation; never by subject or sender alone, and always \
within the inbox that it was written to. Quoted history is removed from its text.

**Sandbox.** No mail leaves it. The first part of a `.test` address says what becomes of mail to it: `bounce` fails; \
`complaint` is delivered, then complains (a `spam-complaint` event), and every later mail to it fails; `reply` writes \
back after 5 seconds; `docs` writes back with an invoice attached; `ooo` sends an automatic reply; all others are \
delivered and stay silent.";

pub(super) fn tags() -> Value {
    json!([
        { "name": "Conversations", "description": "Find and read conversations, and work on them." },
        { "name": "Replies", "description": "Write to the customer: as a draft, or for real." },
        { "name": "Workspace", "description": "The key itself, the inboxes and the tags." },
        { "name": "Documents", "description": "The files that customers sent or uploaded." },
        { "name": "App mail", "description": "For an app that sends its own email and wants the replies in the inbox." },
        { "name": "Sandbox", "description": "Tests without real mail, with a test key." },
        { "name": "Webhooks", "description": "What the service sends to an app that wants to hear of things: each event to every webhook that may hear of it and subscribes to it. Check the signature before you read it. Events may come out of order and more than once; the `id` stays the same. On the plan `free` nothing is sent." },
    ])
}

pub(super) fn operation_text(operation: Operation) -> OperationText {
    let (tag, summary, about) = match operation {
        Operation::Me => (
            "Workspace",
            "Whose key this is",
            "Gives the agent that the key acts as, the key's scopes, and whether it works on live data.",
        ),
        Operation::ListConversations => (
            "Conversations",
            "List conversations",
            "Lists the conversations that the key can see, the one with the newest message first. There is no next \
             page: narrow the list with the parameters.\n\n\
             `view` chooses by status, `open` unless said otherwise. Snoozed conversations stand only under \
             `snoozed`. `all` takes every status, snoozed ones too, and goes only together with `reference`. `q` \
             finds conversations whose mail has all of the words, or words that start with them; capitals \
             and accents do not matter. A `mailbox` that is not there gives an empty list.",
        ),
        Operation::GetConversation => (
            "Conversations",
            "Read a conversation",
            "Gives the whole conversation: its timeline of messages, notes and events, oldest first, and the team \
             that it can be assigned to. A message's text has no quoted history and is cut after 8,000 characters.",
        ),
        Operation::AddNote => (
            "Conversations",
            "Add an internal note",
            "Adds a note under the key's name. The team sees it, the customer never does. `@FirstName` mentions a \
             person.",
        ),
        Operation::SetStatus => (
            "Conversations",
            "Set the status",
            "Sets the status. A change adds a `status` event to the timeline; setting the status that the \
             conversation has already changes nothing. Closing makes the turn `done`, opening again makes it `ours`, \
             `waiting` makes it `theirs`.",
        ),
        Operation::TagConversation => (
            "Conversations",
            "Add and remove tags",
            "Adds and removes tags by name. Unknown names are created; a tag that is there is not added twice, one \
             that is not there is not missed. A change adds a `tags` event to the timeline. The body may be left out.",
        ),
        Operation::AssignConversation => (
            "Conversations",
            "Assign a conversation",
            "Gives the conversation to a person or an agent of its `team`, to this key's own agent (`me`), or to \
             nobody (`none`). Someone who is not on the team or cannot see the inbox is a 400. A change adds an \
             `assigned` event to the timeline.",
        ),
        Operation::Reply => (
            "Replies",
            "Reply to the customer",
            "Writes a reply. Without `send` it is a draft that waits for a person's approval, and nothing reaches \
             the customer. With `send` it is `scheduled` and leaves at `sendsAt`; until then anyone on the team can \
             stop it. With `documents`, a checklist is added under the text, and a private upload link once it is to \
             go out; reminders follow as for a document request.",
        ),
        Operation::RequestDocuments => (
            "Replies",
            "Request documents from the customer",
            "Writes an email with a checklist and a private upload link. Without `send` it is a draft, and the link is \
             added when a person approves it. Reminders follow 2, 4 and 7 days after it went out. It is complete when \
             every required document has been uploaded; those that are nice to have never hold it up.",
        ),
        Operation::ListMailboxes => {
            ("Workspace", "List the inboxes", "Gives every inbox that the key can see.")
        }
        Operation::ListTags => (
            "Workspace",
            "List the tags",
            "Gives every tag of the workspace, with the number of conversations that have it. Names are shared by \
             live keys and test keys.",
        ),
        Operation::SearchDocuments => (
            "Documents",
            "Search the documents",
            "Lists documents, newest first. `q` looks for words in title, file name and the data read out of the \
             document. Attachments of incoming mail are filed as documents by themselves.",
        ),
        Operation::RecordSent => (
            "App mail",
            "Record an email that the app sent",
            "Notes an email that the app sent by itself, so that the reply to it becomes a conversation with the \
             app's reference. Returns `{\"ok\": true}`. Recording the same `messageId` again is safe: it updates the \
             outline until someone replies, after that it only fills in what was missing. A reply is joined only when \
             it comes from one of the `to` addresses or from someone already on the conversation, and passes the \
             DMARC check; any other gets a conversation of its own, without the reference. Recorded email that nobody \
             replies to is forgotten after 30 days, and beyond 50,000 the oldest goes first. What a test key records is \
             answered by simulated mail only.",
        ),
        Operation::SandboxInbound => (
            "Sandbox",
            "Simulate an incoming email",
            "Lets a mail come into the sandbox as if it had been sent: it starts a conversation, or joins the one \
             that `conversationId` names (404 when it is not there), or the one with the mail that `inReplyTo` \
             names, and is checked for scams. `to` may be left out; with a plus tag it carries an app's reference. \
             Returns the conversation and the message. A live key gets 403.",
        ),
        _ => ("Conversations", "", ""),
    };
    let without_a_tool = if operation == Operation::Me { "me" } else { "sandbox_inbound" };
    OperationText { tag, id: operation.tool_name().unwrap_or(without_a_tool), summary, about }
}
