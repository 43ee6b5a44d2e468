//! Golden JSON of the events, written by hand: it pins the wire format from outside, because a receiver and a
//! mock that share their types would also share a mistake.

use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use shared_inbox::{ActorType, AgentId, AskKind, InvalidId, Turn};
use shared_inbox_webhooks::event::*;

#[derive(Deserialize)]
struct Case {
    about: String,
    read: Value,
    /// What is written again, where that differs from what was read.
    written: Option<Value>,
}

/// The events of the golden file, each read, and written again as it was.
fn golden() -> Vec<Event> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("event.json")).expect("a list of cases");
    let each = |case: Case| {
        let event: Event =
            serde_json::from_value(case.read.clone()).unwrap_or_else(|e| panic!("{}: {e}", case.about));
        let written = serde_json::to_value(&event).expect("every event can be written");
        assert_eq!(written, case.written.unwrap_or(case.read), "{}", case.about);
        event
    };
    cases.into_iter().map(each).collect()
}

#[test]
fn each_of_the_ten_events_is_read_as_its_own_kind() {
    let events = golden();
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
    let events = golden();
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
    let golden = golden();
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
fn debug_shows_no_text_name_or_address() {
    let at = "2026-03-01T09:30:00.000Z";
    let person = json!({"type": "user", "id": "usr_1", "name": "SECRET"});
    let assigned = json!({"summary": "SECRET", "url": "SECRET", "conversation_id": "cnv_1", "assignee": person, "assigned_by": person});
    for (kind, data) in [("conversation.assigned", assigned), ("new", json!({"SECRET": "SECRET"}))] {
        let event = json!({"id": "evt_1", "type": kind, "version": 1, "created_at": at, "workspace": "wsp_1", "livemode": true, "data": data});
        let event: Event = serde_json::from_value(event).unwrap();
        for shown in [format!("{event:?}"), format!("{event:#?}")] {
            assert!(!shown.contains("SECRET"), "{shown}");
        }
    }
}

proptest! {
    #[test]
    fn no_json_makes_the_reader_panic(fields in vec((0..8usize, "[\\[\\]{}\",:\\\\0-9a-zé]{0,12}"), 0..9)) {
        let names = ["id", "type", "version", "created_at", "workspace", "livemode", "data", "other"];
        let as_json = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
        let event: serde_json::Map<_, _> =
            fields.iter().map(|(name, value)| (names[*name].to_owned(), as_json(value))).collect();
        let _ = serde_json::from_value::<Event>(event.into());
    }
}
