//! Webhook events: each at its moment, with exactly its data, and never with a word of a mail.

use serde_json::{Value, json};
use shared_inbox::{Operation, Timestamp};
use shared_inbox_mock::{
    Approval, Assignment, CreateWebhook, InboundMail, NewBooking, NewMailbox, NewUser, Plan, Upload,
};

use super::kit::Kit;

/// A world with an endpoint for live team events and one for the sandbox's.
fn listening() -> Kit {
    let mut kit = Kit::new();
    for webhook in [CreateWebhook::new("https://a.example/"), CreateWebhook::new("https://b.example/").test()]
    {
        kit.world.create_webhook(webhook).unwrap();
    }
    kit
}

/// All events so far, oldest first.
fn all(kit: &Kit) -> Vec<Value> {
    let document = serde_json::to_value(&kit.world).unwrap();
    let log = document["webhooks"]["log"].as_object().expect("a log, by number");
    let mut log: Vec<(u64, Value)> =
        log.iter().map(|(number, recorded)| (number.parse().unwrap(), recorded["event"].clone())).collect();
    log.sort_by_key(|(number, _)| *number);
    log.into_iter().map(|(_, event)| event).collect()
}

/// The events that `act` causes, as pairs of type and data without the words of the summary.
fn events(kit: &mut Kit, act: impl FnOnce(&mut Kit)) -> Vec<(String, Value)> {
    let before = all(kit).len();
    act(kit);
    all(kit)[before..].iter().map(checked).collect()
}

/// Checks the envelope, and gives type and data.
fn checked(event: &Value) -> (String, Value) {
    let mut fields: Vec<_> = event.as_object().unwrap().keys().cloned().collect();
    fields.sort();
    assert_eq!(fields, ["created_at", "data", "id", "livemode", "type", "version", "workspace"]);
    assert_eq!(event["version"], 1);
    let mut data = event["data"].as_object().unwrap().clone();
    let summary = data.remove("summary").unwrap();
    let length = summary.as_str().unwrap().chars().count();
    assert!((1..=200).contains(&length));
    let url = data.remove("url");
    let conversation = data.get("conversation_id").and_then(Value::as_str);
    match (url, conversation) {
        (Some(url), Some(id)) => assert!(url.as_str().unwrap().ends_with(id)),
        (url, conversation) => {
            assert!(url.is_none() && conversation.is_none(), "a url where there is a conversation")
        }
    }
    (event["type"].as_str().unwrap().to_owned(), Value::Object(data))
}

fn event(name: &str, data: Value) -> (String, Value) {
    (name.to_owned(), data)
}

#[test]
fn the_first_mail_changes_the_turn_and_a_reply_is_told() {
    let mut kit = listening();
    let mut id = String::new();
    let first = events(&mut kit, |kit| id = kit.mail("Hello"));
    let turn = |turn: &str, previous: Value| {
        event(
            "turn.changed",
            json!({ "conversation_id": id, "turn": turn, "previous": previous, "assignee": null }),
        )
    };
    assert_eq!(first, [turn("ours", Value::Null)], "not client.replied for the first mail");

    let live = kit.live.clone();
    let mut message = String::new();
    let scheduled = events(&mut kit, |kit| message = kit.send(&live, &id));
    assert!(scheduled.is_empty());
    let mailbox = kit.world.mailboxes()[0].id.clone();
    let sent = events(&mut kit, |kit| drop(kit.advance(600)));
    let author = json!({ "type": "agent", "id": live });
    assert_eq!(
        sent,
        [
            event(
                "message.sent",
                json!({ "conversation_id": id, "message_id": message, "mailbox_id": mailbox, "author": author, "secure": false })
            ),
            turn("theirs", json!("ours")),
        ]
    );

    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "Thanks");
    mail.conversation_id = Some(id.clone());
    mail.secure = true;
    let mut answer = String::new();
    let replied = events(&mut kit, |kit| answer = kit.inbound(mail.clone()).message_id.into());
    assert_eq!(
        replied,
        [
            event(
                "client.replied",
                json!({ "conversation_id": id, "message_id": answer, "mailbox_id": mailbox, "secure": true })
            ),
            turn("ours", json!("theirs")),
        ]
    );
    mail.auto_reply = true;
    assert!(events(&mut kit, |kit| drop(kit.inbound(mail))).is_empty(), "not for automatic replies");

    let close = json!({ "status": "closed" });
    let closed = events(&mut kit, |kit| drop(kit.post(&live, Operation::SetStatus, &id, close.clone())));
    assert_eq!(closed, [turn("done", json!("ours"))]);
    assert!(events(&mut kit, |kit| drop(kit.post(&live, Operation::SetStatus, &id, close))).is_empty());
    let reopen = json!({ "status": "open" });
    let reopened = events(&mut kit, |kit| drop(kit.post(&live, Operation::SetStatus, &id, reopen)));
    assert_eq!(reopened, [turn("ours", json!("done"))]);
}

#[test]
fn assignments_say_who_and_by_whom() {
    let mut kit = listening();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let anna = kit.world.users()[0].clone();
    let by_agent = events(&mut kit, |kit| {
        let to = json!({ "to": format!("user:{}", anna.id) });
        kit.post(&live, Operation::AssignConversation, &id, to).unwrap();
    });
    assert_eq!(
        by_agent,
        [event(
            "conversation.assigned",
            json!({
                "conversation_id": id,
                "assignee": { "type": "user", "id": anna.id, "name": anna.name },
                "assigned_by": { "type": "agent", "id": live, "name": "Live agent" },
            })
        )]
    );
    let by_person = events(&mut kit, |kit| {
        kit.world.assign_by_person(&id, Assignment::new("none".parse().unwrap()), kit.now).unwrap();
    });
    assert_eq!(
        by_person,
        [event(
            "conversation.assigned",
            json!({
                "conversation_id": id,
                "assignee": null,
                "assigned_by": { "type": "user", "id": anna.id, "name": anna.name },
            })
        )]
    );
}

#[test]
fn an_approved_draft_is_told_with_who_wrote_and_who_approved_it() {
    let mut kit = listening();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let tom = kit.world.create_user(NewUser::new("Tom")).unwrap();
    for (approval, edited) in [(Approval::new(), false), (Approval::new().body("Other words"), true)] {
        let draft = kit.post(&live, Operation::Reply, &id, json!({ "body": "Words" })).unwrap();
        let message = draft["messageId"].as_str().unwrap();
        let told = events(&mut kit, |kit| {
            kit.world.approve(message, approval.by(tom.id.clone()), kit.now).unwrap();
        });
        assert_eq!(
            told,
            [event(
                "draft.approved",
                json!({
                    "conversation_id": id,
                    "message_id": message,
                    "drafted_by": { "type": "agent", "id": live },
                    "approved_by": { "type": "user", "id": tom.id, "name": "Tom" },
                    "edited": edited,
                })
            )]
        );
    }
}

#[test]
fn a_bounce_tells_nothing_and_a_sandbox_reply_tells_the_test_endpoint() {
    let mut kit = listening();
    let test = kit.test.clone();
    let id = kit.sandbox_mail("bounce@any.test", "Hello");
    kit.send(&test, &id);
    assert!(events(&mut kit, |kit| drop(kit.advance(20))).is_empty());
    for (address, expected) in [
        ("reply@any.test", ["message.sent", "turn.changed", "client.replied", "turn.changed"].as_slice()),
        ("ooo@any.test", ["message.sent", "turn.changed", "turn.changed"].as_slice()),
    ] {
        let id = kit.sandbox_mail(address, "Hello");
        kit.send(&test, &id);
        let told = events(&mut kit, |kit| drop(kit.advance(20)));
        assert_eq!(told.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected, "{address}");
    }
    assert!(all(&kit).iter().all(|event| event["livemode"] == false));
}

#[test]
fn a_completed_request_is_told_once() {
    let mut kit = listening();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let body = json!({ "documents": [{ "label": "Passport" }], "send": true });
    let request = kit.post(&live, Operation::RequestDocuments, &id, body).unwrap()["requestId"].clone();
    kit.advance(600);
    let upload = |kit: &mut Kit| {
        kit.world.upload(request.as_str().unwrap(), Upload::new(0, "p.jpg"), kit.now).unwrap();
    };
    let data = json!({ "ask_id": request, "kind": "documents", "conversation_id": id });
    assert_eq!(events(&mut kit, upload), [event("ask.completed", data)]);
    assert!(events(&mut kit, upload).is_empty());
    let id = kit.mail("Hello");
    kit.post(
        &live,
        Operation::RequestDocuments,
        &id,
        json!({ "documents": [{ "label": "P" }], "send": true }),
    )
    .unwrap();
    kit.advance(600);
    let reminded = events(&mut kit, |kit| drop(kit.advance(2 * 86_400)));
    assert_eq!(
        (reminded.len(), reminded[0].0.as_str(), &reminded[0].1["author"]),
        (1, "message.sent", &Value::Null)
    );
}

#[test]
fn held_mail_and_bookings_are_told() {
    let mut kit = listening();
    let mut mail = InboundMail::new("help@acme.example", "eve@example.com", "Send gift cards");
    mail.held = true;
    let mut id = String::new();
    let told = events(&mut kit, |kit| id = kit.inbound(mail).conversation_id.into());
    assert_eq!(told[0], event("scout.held", json!({ "conversation_id": id })));

    let host = kit.world.users()[0].id.clone();
    let (from, to) = (kit.now, Timestamp::from_millis(kit.now.as_millis() + 1_800_000));
    for conversation in [None, Some(id.parse().unwrap())] {
        let mut new = NewBooking::new(host.clone(), from, to);
        new.conversation_id = conversation.clone();
        let mut booking = String::new();
        let created =
            events(&mut kit, |kit| booking = kit.world.create_booking(new, kit.now).unwrap().into());
        let cancelled = events(&mut kit, |kit| kit.world.cancel_booking(&booking, kit.now).unwrap());
        let (name, data) = &created[0];
        assert_eq!(name, "booking.created");
        assert_eq!(cancelled, [event("booking.cancelled", data.clone())], "the same fields");
        assert_eq!(data["booking_id"], json!(booking));
        assert_eq!(data["host_user_id"], json!(host));
        assert!(data["booking_type_id"].as_str().unwrap().starts_with("bkt_"));
        assert_eq!((&data["starts_at"], &data["ends_at"]), (&json!(from), &json!(to)));
        assert_eq!(kit.world.cancel_booking(&booking, kit.now).unwrap_err().status, 409);
    }
}

#[test]
fn a_bookings_event_outside_a_conversation_has_a_null_conversation() {
    let mut kit = listening();
    let host = kit.world.users()[0].id.clone();
    let to = Timestamp::from_millis(kit.now.as_millis() + 1);
    kit.world.create_booking(NewBooking::new(host, kit.now, to), kit.now).unwrap();
    let event = all(&kit).pop().unwrap();
    assert_eq!(event["data"]["conversation_id"], Value::Null);
    assert_eq!(event["data"].get("url"), None);
}

#[test]
fn a_reply_to_recorded_app_mail_is_told_with_its_reference() {
    let mut kit = listening();
    let live = kit.live.clone();
    let body =
        json!({ "messageId": "a@b", "reference": "Order-1", "to": ["kim@example.com"], "subject": "Hi" });
    kit.post(&live, Operation::RecordSent, "", body).unwrap();
    let mut mail = InboundMail::new("help+order-1@acme.example", "kim@example.com", "Hello");
    mail.in_reply_to = Some("<a@b>".into());
    let told = events(&mut kit, |kit| drop(kit.inbound(mail)));
    assert_eq!((told[0].0.as_str(), &told[0].1["reference"]), ("client.replied", &json!("order-1")));
    let stranger = InboundMail::new("help+order-1@acme.example", "lee@example.com", "Hello");
    let told = events(&mut kit, |kit| drop(kit.inbound(stranger)));
    assert_eq!(told.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["turn.changed"]);
}

#[test]
fn the_free_plan_and_private_inboxes_tell_the_team_nothing() {
    let mut kit = listening();
    let owner = kit.world.users()[0].id.clone();
    kit.world.create_mailbox(NewMailbox::new("own@acme.example", "Own").owner(owner)).unwrap();
    let private = InboundMail::new("own@acme.example", "kim@example.com", "Hello");
    assert!(events(&mut kit, |kit| drop(kit.inbound(private))).is_empty());
    kit.world.set_plan(Plan::Free);
    assert!(events(&mut kit, |kit| drop(kit.mail("Hello"))).is_empty());
}

#[test]
fn no_word_of_a_mail_a_note_or_a_file_is_ever_in_an_event() {
    const MARK: &str = "xyzzy";
    let mut kit = listening();
    let live = kit.live.clone();
    let mut mail =
        InboundMail::new("help@acme.example", format!("{MARK}@example.com"), format!("{MARK} text"));
    mail.name = Some(format!("{MARK} name"));
    mail.subject = Some(format!("{MARK} subject"));
    mail.topic = Some(format!("{MARK} topic"));
    mail.risk = Some(format!("{MARK} risk"));
    mail.risk_reasons = vec![format!("{MARK} reason")];
    mail.held = true;
    mail.attachments = serde_json::from_value(
        json!([{ "filename": format!("{MARK}.pdf"), "contentType": "application/pdf", "size": 1 }]),
    )
    .unwrap();
    let id: String = kit.inbound(mail.clone()).conversation_id.into();
    mail.conversation_id = Some(id.clone());
    mail.held = false;
    let body = json!({
        "body": MARK, "summary": MARK, "send": true, "documents": [{ "label": MARK, "description": MARK }],
    });
    let request = kit.post(&live, Operation::Reply, &id, body).unwrap()["requestId"].clone();
    kit.post(&live, Operation::AddNote, &id, json!({ "body": MARK })).unwrap();
    kit.post(&live, Operation::TagConversation, &id, json!({ "add": [MARK] })).unwrap();
    kit.post(&live, Operation::AssignConversation, &id, json!({ "to": "me" })).unwrap();
    let draft = kit.post(&live, Operation::Reply, &id, json!({ "body": MARK })).unwrap();
    kit.world.approve(draft["messageId"].as_str().unwrap(), Approval::new().body(MARK), kit.now).unwrap();
    kit.advance(3 * 86_400);
    kit.inbound(mail);
    kit.world.upload(request.as_str().unwrap(), Upload::new(0, MARK), kit.now).unwrap();
    let told = all(&kit);
    assert!(told.len() > 8, "{}", told.len());
    assert!(told.iter().all(|event| !event.to_string().to_lowercase().contains(MARK)));
}
