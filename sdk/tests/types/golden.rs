//! Golden JSON, written by hand: it pins the wire format from outside, because a client and a mock that share
//! their types would also share a mistake. Each case is read into its type and written again.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use shared_inbox::{event::*, input::*, *};

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
    event: check::<Event>("event");
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
fn each_of_the_ten_events_is_read_as_its_own_kind() {
    let events: Vec<Event> = check(include_str!("golden/event.json"));
    let mut seen: Vec<_> = events
        .iter()
        .filter(|event| !matches!(event.kind, EventKind::Unknown(_)))
        .map(|event| event.kind.event_type().to_owned())
        .collect();
    seen.dedup();
    assert_eq!(seen[..10], *EventKind::TYPES);
}

#[test]
fn an_unknown_event_type_or_version_is_a_value() {
    let events: Vec<Event> = check(include_str!("golden/event.json"));
    let unknown: Vec<_> = events.iter().filter(|e| matches!(e.kind, EventKind::Unknown(_))).collect();
    assert_eq!(unknown.len(), 2);
    assert_eq!((unknown[1].kind.event_type(), unknown[1].version), ("scout.held", Some(2)));
}

#[test]
fn an_envelope_that_names_a_field_twice_is_refused_and_one_with_null_is_a_value() {
    for field in ["id", "type", "version", "created_at", "workspace", "livemode", "data"] {
        let twice = format!(r#"{{"id":"evt_1","{field}":"evt_1","{field}":"evt_1"}}"#);
        let error = serde_json::from_str::<Event>(&twice).unwrap_err().to_string();
        assert!(error.contains(&format!("duplicate field `{field}`")), "{error}");
        let null = format!(r#"{{"id":"evt_1","{field}":null}}"#);
        if field != "id" {
            let event: Event = serde_json::from_str(&null).unwrap();
            let malformed = event.malformed_fields().iter().find(|malformed| malformed.field == field);
            // Data is read only for a kind that is known.
            assert_eq!(malformed.map(|malformed| malformed.missing), (field != "data").then_some(false));
        }
    }
    assert!(serde_json::from_str::<Event>(r#"{"id":"evt_1","new":1,"new":2}"#).is_ok(), "others are ignored");
}

#[test]
fn every_kind_of_event_can_be_built_without_json() {
    fn id<T: std::str::FromStr<Err = InvalidId>>(text: &str) -> T {
        text.parse().unwrap()
    }
    let (conversation, message, mailbox) = (|| id("cnv_1"), || id("msg_1"), || id("mbx_1"));
    let system = || EventActor::new(ActorType::System, "Rules");
    let mut reply = ClientReplied::new(conversation(), message(), mailbox());
    reply.reference = Some("order-1042".to_owned());
    let mut turn = TurnChanged::new(conversation(), Turn::Done);
    turn.previous = Some(Turn::Theirs);
    let mut assignee = EventAssignee::new(ActorType::Agent, id::<AgentId>("agt_1"));
    assignee.name = Some("Bot".to_owned());
    turn.assignee = Some(assignee);
    let mut sent = MessageSent::new(conversation(), message(), mailbox());
    sent.author = Some(EventAuthor::new(ActorType::User));
    let [starts, ends] = ["2026-03-05T09:00:00Z", "2026-03-05T09:30:00Z"].map(|at| at.parse().unwrap());
    let booking = Booking::new(id("bkg_1"), id("bkt_1"), id("usr_1"), starts, ends);
    let mut of_conversation = booking.clone();
    of_conversation.conversation_id = Some(conversation());
    let ask = AskCompleted::new(id("req_1"), AskKind::Documents, conversation());
    let built = [
        EventKind::AskCompleted(ask),
        EventKind::ClientReplied(reply),
        EventKind::ConversationAssigned(ConversationAssigned::new(conversation(), system())),
        EventKind::TurnChanged(turn),
        EventKind::DraftApproved(DraftApproved::new(conversation(), message(), system())),
        EventKind::MessageSent(sent),
        EventKind::BookingCreated(booking),
        EventKind::BookingCancelled(of_conversation),
        EventKind::ScoutHeld(ScoutHeld::new(conversation())),
        EventKind::WebhookTest(WebhookTest::new(id("whk_1"))),
    ];
    let golden: Vec<Event> = check(include_str!("golden/event.json"));
    for (kind, name) in built.into_iter().zip(EventKind::TYPES) {
        let found = golden.iter().find(|event| event.kind == kind);
        let found = found.unwrap_or_else(|| panic!("{name} is not as any of the golden file"));
        let mut event = Event::new(found.id.clone(), kind);
        (event.created_at, event.workspace) = (found.created_at, found.workspace.clone());
        (event.livemode, event.url) = (found.livemode, found.url.clone());
        event.summary.clone_from(&found.summary);
        assert_eq!(event, *found, "{name}");
    }
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
