//! Golden JSON, written by hand: it pins the wire format from outside, because a client and a mock that share
//! their types would also share a mistake. Each case is read into its type and written again.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use shared_inbox::{input::*, *};

#[derive(Deserialize)]
struct Case {
    about: String,
    read: Value,
    /// What is written again, where that differs from what was read.
    written: Option<Value>,
}

fn cases(json: &str) -> Vec<Case> {
    serde_json::from_str(json).expect("a golden file is a list of cases")
}

fn check<T: Serialize + DeserializeOwned>(json: &str) -> Vec<T> {
    let each = |case: Case| {
        let value: T =
            serde_json::from_value(case.read.clone()).unwrap_or_else(|e| panic!("{}: {e}", case.about));
        let written = serde_json::to_value(&value).expect("every value can be written");
        assert_eq!(written, case.written.unwrap_or(case.read), "{}", case.about);
        value
    };
    cases(json).into_iter().map(each).collect()
}

/// Inputs are also read the way a server does, with every rule checked.
fn check_input<T: Input>(json: &str) {
    check::<T>(json);
    for case in cases(json) {
        let about = case.about;
        let value = T::read(case.read).unwrap_or_else(|problems| panic!("{about}: {problems}"));
        value.check().unwrap_or_else(|problems| panic!("{about}: {problems}"));
    }
}

macro_rules! golden {
    ($($test:ident: $check:ident::<$type:ty>($file:literal);)*) => {$(
        #[test]
        fn $test() {
            $check::<$type>(include_str!(concat!("golden/", $file, ".json")));
        }
    )*};
}

golden! {
    me: check::<Me>("me");
    conversation_summary: check::<ConversationSummary>("conversation_summary");
    conversation: check::<Conversation>("conversation");
    timeline_item: check::<TimelineItem>("timeline_item");
    mailbox: check::<Mailbox>("mailbox");
    tag: check::<Tag>("tag");
    document: check::<Document>("document");
    reply_result: check::<ReplyResult>("reply_result");
    done: check::<Ack>("done");
    sandbox_receipt: check::<SandboxReceipt>("sandbox_receipt");
    list_conversations: check_input::<ListConversations>("list_conversations");
    search_documents: check_input::<SearchDocuments>("search_documents");
    add_note: check_input::<AddNote>("add_note");
    set_status: check_input::<SetStatus>("set_status");
    tag_conversation: check_input::<TagConversation>("tag_conversation");
    assign_conversation: check_input::<AssignConversation>("assign_conversation");
    reply: check_input::<Reply>("reply");
    request_documents: check_input::<RequestDocuments>("request_documents");
    record_sent: check_input::<RecordSent>("record_sent");
    sandbox_inbound: check_input::<SandboxInbound>("sandbox_inbound");
}

#[test]
fn null_missing_and_present_are_told_apart_in_document_fields() {
    let documents: Vec<Document> = check(include_str!("golden/document.json"));
    assert_eq!(documents[0].fields.vendor, Nullable::Value("Acme".into()));
    assert_eq!(documents[1].fields.vendor, Nullable::Null);
    assert_eq!(documents[2].fields.vendor, Nullable::Missing);
}

#[test]
fn an_item_of_unknown_type_keeps_its_place_in_the_timeline() {
    let conversations: Vec<Conversation> = check(include_str!("golden/conversation.json"));
    let kinds: Vec<_> = conversations[0]
        .timeline
        .iter()
        .map(|item| match item {
            TimelineItem::Message(_) => "message",
            TimelineItem::Note(_) => "note",
            TimelineItem::Event(_) => "event",
            _ => "unknown",
        })
        .collect();
    assert_eq!(kinds, ["message", "note", "event", "event", "unknown", "message"]);
}

#[test]
fn fields_that_are_not_shown_are_kept_under_names_of_their_own() {
    let mailboxes: Vec<Mailbox> = check(include_str!("golden/mailbox.json"));
    assert!(mailboxes[1].extra.get("signature").is_some());
    let receipts: Vec<SandboxReceipt> = check(include_str!("golden/sandbox_receipt.json"));
    assert_eq!(receipts[1].message_id.as_ref().map(|id| id.as_str()), Some("msg_1"));
}

#[test]
fn the_sentence_of_a_400_is_read_as_its_problems() {
    for sentence in
        ["body: is required; send: must be true or false", "body is required;send must be true or false;"]
    {
        let fields: Vec<_> = Problems::parse(sentence).iter().map(|p| p.to_string()).collect();
        assert_eq!(fields, ["body: is required", "send: must be true or false"], "{sentence}");
    }
}
