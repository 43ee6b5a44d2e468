//! The app-mail bridge: who may join, what is shown, what is forgotten.

use serde_json::{Value, json};
use shared_inbox::Operation;
use shared_inbox_mock::{Dmarc, InboundMail};

use super::kit::Kit;

const DAY: u64 = 86_400;

fn record(kit: &mut Kit, extra: Value) {
    let mut body = json!({
        "messageId": "<a1b2c3@shop.example>", "reference": "Order-1042", "to": ["Kim@example.com"], "subject": "Shipped",
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let live = kit.live.clone();
    assert_eq!(kit.post(&live, Operation::RecordSent, "", body).unwrap(), json!({ "ok": true }));
}

fn answer(from: &str) -> InboundMail {
    let mut mail = InboundMail::new("help@acme.example", from, "About that");
    mail.in_reply_to = Some("<a1b2c3@shop.example>".into());
    mail
}

#[test]
fn a_recipient_who_answers_starts_a_conversation_with_the_recorded_mail() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    record(&mut kit, json!({ "text": "Your order left today." }));
    let recorded_at = kit.now;
    kit.advance(60);
    let received = kit.inbound(answer("kim@example.com"));
    assert!(received.created);
    let read = kit.read(&live, received.conversation_id.as_str());
    assert_eq!(read["reference"], "order-1042");
    assert_eq!(
        read["appSent"],
        json!({
            "messageId": "a1b2c3@shop.example", "reference": "order-1042", "to": ["Kim@example.com"], "subject": "Shipped",
            "text": "Your order left today.", "html": null, "recordedAt": recorded_at,
        })
    );
    let again = kit.inbound(answer("kim@example.com"));
    assert_eq!(again.conversation_id, received.conversation_id, "the second answer joins");
    let summary = kit.list(&live, &[("reference", "order-1042")]);
    assert_eq!(summary[0]["reference"], "order-1042");
}

#[test]
fn a_stranger_or_a_forger_gets_a_conversation_of_their_own_without_the_reference() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    record(&mut kit, json!({}));
    let started = kit.inbound(answer("kim@example.com"));
    let mut forged = answer("kim@example.com");
    forged.dmarc = Dmarc::Fail;
    let mut tagged = answer("mallory@example.com");
    tagged.to = "help+order-1042@acme.example".into();
    for mail in [answer("mallory@example.com"), forged, tagged] {
        let received = kit.inbound(mail);
        assert!(received.created && received.conversation_id != started.conversation_id);
        let read = kit.read(&live, received.conversation_id.as_str());
        assert_eq!((read.get("reference"), read.get("appSent")), (None, None));
    }
}

#[test]
fn someone_already_on_the_conversation_may_join_it() {
    let mut kit = Kit::new();
    record(&mut kit, json!({}));
    let started = kit.inbound(answer("kim@example.com"));
    let mut colleague = InboundMail::new("help@acme.example", "lee@example.com", "I am Kim's colleague");
    colleague.conversation_id = Some(started.conversation_id.to_string());
    kit.inbound(colleague);
    assert_eq!(kit.inbound(answer("lee@example.com")).conversation_id, started.conversation_id);
}

#[test]
fn recording_again_updates_until_someone_replies_and_then_only_fills_in() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    record(&mut kit, json!({}));
    record(&mut kit, json!({ "subject": "Shipped today", "reference": "order-1043" }));
    assert_eq!(kit.world.unanswered_app_mail(), 1);
    let received = kit.inbound(answer("kim@example.com"));
    assert_eq!(kit.read(&live, received.conversation_id.as_str())["appSent"]["text"], Value::Null);
    record(&mut kit, json!({ "subject": "Too late", "text": "Your order left.", "reference": "order-9" }));
    record(&mut kit, json!({ "text": "Too late as well" }));
    let read = kit.read(&live, received.conversation_id.as_str());
    assert_eq!(read["reference"], "order-1043");
    assert_eq!(read["appSent"]["subject"], "Shipped today");
    assert_eq!(read["appSent"]["text"], "Your order left.");
}

#[test]
fn without_a_reply_it_is_forgotten_after_30_days_and_with_one_it_stays() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    record(&mut kit, json!({}));
    kit.advance(30 * DAY - 1);
    assert_eq!(kit.world.unanswered_app_mail(), 1);
    assert_eq!(kit.advance(1), ["forget-app-mail"]);
    assert_eq!(kit.world.unanswered_app_mail(), 0);
    let late = kit.inbound(answer("kim@example.com"));
    assert_eq!(kit.read(&live, late.conversation_id.as_str()).get("reference"), None);

    record(&mut kit, json!({ "messageId": "<second@shop.example>" }));
    let mut mail = answer("kim@example.com");
    mail.in_reply_to = Some("second@shop.example".into());
    let kept = kit.inbound(mail);
    assert!(kit.advance(40 * DAY).is_empty(), "nothing is left to forget");
    assert_eq!(kit.read(&live, kept.conversation_id.as_str())["appSent"]["subject"], "Shipped");
}

#[test]
fn beyond_50000_the_oldest_goes_first() {
    let mut kit = Kit::new();
    for n in 0..50_001 {
        record(&mut kit, json!({ "messageId": format!("<m{n}@shop.example>") }));
    }
    assert_eq!(kit.world.unanswered_app_mail(), 50_000);
    assert_eq!(kit.world.jobs().len(), 50_000);
    for (n, remembered) in [(0, false), (1, true), (50_000, true)] {
        let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "Hello");
        mail.in_reply_to = Some(format!("<m{n}@shop.example>"));
        let received = kit.inbound(mail);
        let live = kit.live.clone();
        let read = kit.read(&live, received.conversation_id.as_str());
        assert_eq!(read.get("reference").is_some(), remembered, "{n}");
    }
}

#[test]
fn what_a_test_key_records_is_answered_in_the_sandbox_alone() {
    let mut kit = Kit::new();
    let test = kit.test.clone();
    let body = json!({ "messageId": "t1@app.test", "reference": "r1", "to": ["kim@customer.test"], "subject": "Hi" });
    kit.post(&test, Operation::RecordSent, "", body).unwrap();
    let mut live_answer = InboundMail::new("help@acme.example", "kim@customer.test", "Hello");
    live_answer.in_reply_to = Some("t1@app.test".into());
    let elsewhere = kit.inbound(live_answer);
    let live = kit.live.clone();
    assert_eq!(kit.read(&live, elsewhere.conversation_id.as_str()).get("reference"), None);

    let body = json!({ "from": "kim@customer.test", "text": "Hello", "inReplyTo": "<t1@app.test>" });
    let receipt = kit.post(&test, Operation::SandboxInbound, "", body).unwrap();
    let read = kit.read(&test, receipt["conversationId"].as_str().unwrap());
    assert_eq!((&read["reference"], &read["appSent"]["subject"]), (&json!("r1"), &json!("Hi")));
}
