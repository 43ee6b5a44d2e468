//! Links: which operation can follow which, and what it takes from the response, for readers and for tools
//! that explore the service.

use serde_json::{Map, Value, json};
use shared_inbox::__spec::Operation;

use super::words;

/// The operations on a conversation.
const ON_A_CONVERSATION: [Operation; 7] = [
    Operation::GetConversation,
    Operation::AddNote,
    Operation::SetStatus,
    Operation::TagConversation,
    Operation::AssignConversation,
    Operation::Reply,
    Operation::RequestDocuments,
];

/// Returns the links of an operation's successful response.
pub(super) fn operation_links(operation: Operation) -> Map<String, Value> {
    let mut links = Map::new();
    let mut add = |to: Operation, mut link: Value| {
        let id = words::operation_text(to).id;
        link["operationId"] = id.into();
        links.insert(id.to_owned(), link);
    };
    match operation {
        Operation::ListConversations => add(
            Operation::GetConversation,
            json!({ "description": "Reads the newest one.", "parameters": { "id": "$response.body#/0/id" } }),
        ),
        Operation::GetConversation => {
            for to in ON_A_CONVERSATION.into_iter().filter(|to| *to != operation) {
                let mut link = json!({
                    "description": "Goes on with this conversation.",
                    "parameters": { "id": "$response.body#/id" },
                });
                if to == Operation::AssignConversation {
                    link["requestBody"] = json!({ "to": "$response.body#/team/agents/0/id" });
                }
                add(to, link);
            }
        }
        Operation::SandboxInbound => {
            for to in ON_A_CONVERSATION {
                add(
                    to,
                    json!({
                        "description": "Goes on with the conversation that the mail started or joined.",
                        "parameters": { "id": "$response.body#/conversationId" },
                    }),
                );
            }
            add(
                operation,
                json!({
                    "description": "The customer writes again in the same conversation.",
                    "requestBody": {
                        "from": "reply@customer.test",
                        "text": "One more thing: it is urgent.",
                        "conversationId": "$response.body#/conversationId",
                    },
                }),
            );
        }
        Operation::ListMailboxes => add(
            Operation::ListConversations,
            json!({
                "description": "Lists what is open in the first inbox.",
                "parameters": { "mailbox": "$response.body#/0/id" },
            }),
        ),
        Operation::SearchDocuments => add(
            Operation::GetConversation,
            json!({
                "description": "Reads the conversation that the newest document came with, if there is one.",
                "parameters": { "id": "$response.body#/0/conversationId" },
            }),
        ),
        _ if operation.takes_conversation() => add(
            Operation::GetConversation,
            json!({
                "description": "Reads the conversation, with what was done at the end of its timeline.",
                "parameters": { "id": "$request.path.id" },
            }),
        ),
        _ => {}
    }
    links
}
