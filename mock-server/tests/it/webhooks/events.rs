//! What is in an event: exactly the fields of its kind, and never a word of a mail, a note or a file.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::kit::{extended, minutes, start_with_hook};
use crate::kit::text;

/// Every text that people, customers and helpers can put in, marked; none may come out.
#[tokio::test]
async fn an_event_has_exactly_its_fields_and_no_word_of_a_mail_a_note_or_a_file_name() {
    const MARK: &str = "zebra";
    let (kit, receiver, hook) = start_with_hook(200).await;
    let (live, person) = (kit.live(), kit.person().await);
    let mail = json!({
        "to": kit.inbox().await, "from": format!("{MARK}@customer.example"), "name": format!("{MARK} name"),
        "subject": format!("{MARK} subject"), "text": format!("{MARK} text"), "topic": format!("{MARK} topic"),
        "risk": format!("{MARK} risk"), "riskReasons": [format!("{MARK} reason")],
        "attachments": [{ "filename": format!("{MARK}.pdf"), "contentType": "application/pdf", "size": 9 }],
    });
    let held = kit.act("/inbound", extended(mail.clone(), json!({ "held": true }))).await;
    let id = text(&held["conversationId"]);
    kit.act("/inbound", extended(mail, json!({ "conversationId": id }))).await;
    live.act(&id, "notes", json!({ "body": format!("{MARK} note") })).await;
    live.act(&id, "tags", json!({ "add": [format!("{MARK} tag")] })).await;
    live.act(&id, "assign", json!({ "to": "me" })).await;
    let reply = json!({ "body": format!("{MARK} reply"), "summary": format!("{MARK} summary") });
    let draft = live.act(&id, "replies", reply).await;
    let approval = json!({ "by": person, "body": format!("{MARK} edited") });
    kit.act(&format!("/messages/{}/approve", text(&draft["messageId"])), approval).await;
    let wanted = json!({
        "documents": [{ "label": format!("{MARK} label"), "description": format!("{MARK} description") }],
        "message": format!("{MARK} message"), "send": true,
    });
    let request = live.act(&id, "document-requests", wanted).await;
    kit.advance(minutes(10)).await;
    let upload = json!({
        "item": 0, "filename": format!("{MARK}-upload.pdf"), "kind": "invoice",
        "fields": { "vendor": format!("{MARK} vendor"), "reference": format!("{MARK} ref") },
    });
    kit.act(&format!("/document-requests/{}/uploads", text(&request["requestId"])), upload).await;
    let booking = json!({
        "hostUserId": person, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z", "conversationId": id,
    });
    let booking = kit.act("/bookings", booking).await;
    kit.act(&format!("/bookings/{}/cancel", text(&booking["id"])), json!({})).await;
    live.act(&id, "status", json!({ "status": "closed" })).await;
    kit.send_test(&hook).await;

    let kinds: BTreeSet<String> = receiver.kinds().into_iter().collect();
    let all = shared_inbox_webhooks::EventKind::TYPES.iter().map(|kind| (*kind).to_owned());
    assert_eq!(kinds, all.collect(), "all were there to be looked at");
    for request in receiver.received() {
        let event: Value = request.json();
        kit.document().check_event(&event);
        let (id, url) = (event["data"]["conversation_id"].as_str(), event["data"]["url"].as_str());
        assert_eq!(id.is_some(), url.is_some(), "{event}");
        assert!(url.is_none_or(|url| url.starts_with("https://") && url.ends_with(id.unwrap())), "{event}");
        assert!(!text(&event["data"]["summary"]).contains('\n'), "{event}");
        let body = String::from_utf8(request.body.to_vec()).unwrap().to_lowercase();
        assert!(!body.contains(MARK), "{body}");
        for value in request.headers.values() {
            assert!(!value.to_str().unwrap().to_lowercase().contains(MARK));
        }
    }
}
