//! What is in an event: exactly the fields of its kind, and never a word of a mail, a note or a file.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    kit::{Mock, minutes},
    receiver::Receiver,
};

/// The fields of `data` besides `summary` and `url`.
fn fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "ask.completed" => &["ask_id", "kind", "conversation_id"],
        "client.replied" => &["conversation_id", "message_id", "mailbox_id", "secure"],
        "conversation.assigned" => &["conversation_id", "assignee", "assigned_by"],
        "turn.changed" => &["conversation_id", "turn", "previous", "assignee"],
        "draft.approved" => &["conversation_id", "message_id", "drafted_by", "approved_by", "edited"],
        "message.sent" => &["conversation_id", "message_id", "mailbox_id", "author", "secure"],
        "booking.created" | "booking.cancelled" => {
            &["booking_id", "booking_type_id", "host_user_id", "conversation_id", "starts_at", "ends_at"]
        }
        "scout.held" => &["conversation_id"],
        "webhook.test" => &["endpoint_id"],
        _ => panic!("an event of an unknown kind: {kind}"),
    }
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The envelope and the set of fields; the values are looked at where the event is made.
fn check_shape(event: &Value) {
    let envelope = ["id", "type", "version", "created_at", "workspace", "livemode", "data"];
    assert_eq!(keys(event), envelope.into_iter().collect(), "{event}");
    assert!(event["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(event["version"], 1);
    assert!(event["workspace"].as_str().unwrap().starts_with("wsp_"));
    let kind = event["type"].as_str().unwrap();
    let mut expected: BTreeSet<&str> = fields(kind).iter().copied().chain(["summary"]).collect();
    let data = &event["data"];
    if data["conversation_id"].is_string() {
        expected.insert("url");
        let (url, id) = (data["url"].as_str().unwrap(), data["conversation_id"].as_str().unwrap());
        assert!(url.starts_with("https://") && url.ends_with(id), "{url}");
    }
    assert_eq!(keys(data), expected, "{kind}");
    let summary = data["summary"].as_str().unwrap();
    assert!(!summary.is_empty() && summary.chars().count() <= 200 && !summary.contains('\n'), "{summary}");
}

fn kinds(events: &[Value]) -> BTreeSet<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Every text that people, customers and helpers can put in, marked; none may come out.
#[tokio::test]
async fn an_event_has_exactly_its_fields_and_no_word_of_a_mail_a_note_or_a_file_name() {
    const MARK: &str = "zebra";
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let user = mock.user().await;
    let marked = |more: Value| {
        let mut mail = json!({
            "from": format!("{MARK}@customer.example"), "name": format!("{MARK} name"), "subject": format!("{MARK} subject"),
            "text": format!("{MARK} text"), "topic": format!("{MARK} topic"), "risk": format!("{MARK} risk"),
            "riskReasons": [format!("{MARK} reason")],
            "attachments": [{ "filename": format!("{MARK}.pdf"), "contentType": "application/pdf", "size": 9 }],
        });
        mail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        mail
    };
    let mail = mock.mail(marked(json!({ "held": true }))).await;
    let id = mail["conversationId"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/conversations/{id}/{rest}");
    mock.mail(marked(json!({ "conversationId": id }))).await;
    mock.live("POST", &path("notes"), json!({ "body": format!("{MARK} note") })).await;
    mock.live("POST", &path("tags"), json!({ "add": [format!("{MARK} tag")] })).await;
    mock.live("POST", &path("assign"), json!({ "to": "me" })).await;
    let reply = json!({ "body": format!("{MARK} reply"), "summary": format!("{MARK} summary") });
    let draft = mock.live("POST", &path("replies"), reply).await;
    let message = draft["messageId"].as_str().unwrap();
    mock.post(
        &format!("/messages/{message}/approve"),
        json!({ "by": user, "body": format!("{MARK} edited") }),
    )
    .await;
    let asked = json!({
        "documents": [{ "label": format!("{MARK} label"), "description": format!("{MARK} description") }],
        "message": format!("{MARK} message"), "send": true,
    });
    let asked = mock.live("POST", &path("document-requests"), asked).await;
    mock.advance(minutes(10)).await;
    let upload = json!({
        "item": 0, "filename": format!("{MARK}-upload.pdf"), "kind": "invoice",
        "fields": { "vendor": format!("{MARK} vendor"), "reference": format!("{MARK} ref") },
    });
    mock.post(&format!("/document-requests/{}/uploads", asked["requestId"].as_str().unwrap()), upload).await;
    let booking = json!({
        "hostUserId": user, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z", "conversationId": id,
    });
    let booking = mock.post("/bookings", booking).await;
    mock.post(&format!("/bookings/{}/cancel", booking["id"].as_str().unwrap()), json!({})).await;
    mock.live("POST", &path("status"), json!({ "status": "closed" })).await;
    mock.send_test(&hook).await;

    let events: Vec<Value> = receiver.got().iter().map(super::receiver::Got::json).collect();
    let all = [
        "ask.completed",
        "booking.cancelled",
        "booking.created",
        "client.replied",
        "conversation.assigned",
        "draft.approved",
        "message.sent",
        "scout.held",
        "turn.changed",
        "webhook.test",
    ];
    assert_eq!(kinds(&events), all.into(), "all were there to be looked at");
    for request in receiver.got() {
        check_shape(&request.json());
        mock.kit.document().check_event(&request.json());
        let text = String::from_utf8(request.body.to_vec()).unwrap().to_lowercase();
        assert!(!text.contains(MARK), "{text}");
        for value in request.headers.values() {
            assert!(!value.to_str().unwrap().to_lowercase().contains(MARK));
        }
    }
}
