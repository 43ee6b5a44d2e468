//! Replies: drafts, the undo window, approval, the sandbox's recipients, document requests.

use serde_json::{Value, json};
use shared_inbox::Operation;
use shared_inbox_mock::{Approval, InboundMail, Stop, Upload};

use super::kit::{Kit, status_of};

const DAY: u64 = 86_400;

#[test]
fn a_sent_reply_leaves_after_ten_minutes_and_the_conversation_waits() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let message = kit.send(&live, &id);
    assert_eq!(status_of(&kit.read(&live, &id), &message), "scheduled");
    assert!(kit.advance(599).is_empty());
    assert_eq!(kit.advance(1), ["send"]);
    let read = kit.read(&live, &id);
    assert_eq!((status_of(&read, &message), &read["status"]), (&json!("sent"), &json!("waiting")));
    assert_eq!(kit.world.outbox().len(), 1);
}

#[test]
fn a_closed_conversation_stays_closed_when_mail_goes_out() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    kit.send(&live, &id);
    kit.post(&live, Operation::SetStatus, &id, json!({ "status": "closed" })).unwrap();
    kit.advance(600);
    assert_eq!(kit.read(&live, &id)["status"], "closed");
}

#[test]
fn a_closed_conversation_stays_done_when_mail_goes_out_in_both_worlds() {
    let mut kit = Kit::new();
    let (live, test) = (kit.live.clone(), kit.test.clone());
    let real = kit.mail("Hello");
    let simulated = kit.sandbox_mail("delivered@customer.test", "Hello");
    for (agent, id) in [(&live, real), (&test, simulated)] {
        let message = kit.send(agent, &id);
        kit.post(agent, Operation::SetStatus, &id, json!({ "status": "closed" })).unwrap();
        let turn = |kit: &Kit| {
            let world = serde_json::to_value(&kit.world).unwrap();
            let all = world["conversations"].as_array().unwrap().clone();
            all.iter().find(|it| it["id"] == id.as_str()).unwrap()["turn"].clone()
        };
        assert_eq!(turn(&kit), "done");
        kit.advance(600);
        assert_eq!(status_of(&kit.read(agent, &id), &message), "sent");
        assert_eq!((turn(&kit), &kit.read(agent, &id)["status"]), (json!("done"), &json!("closed")));
    }
}

#[test]
fn a_stopped_message_is_a_draft_again_and_can_be_approved_later() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let message = kit.send(&live, &id);
    kit.advance(599);
    kit.world.stop(&message, Stop::default(), kit.now).unwrap();
    assert_eq!(kit.world.stop(&message, Stop::default(), kit.now).unwrap_err().status, 409);
    assert!(kit.advance(DAY).is_empty());
    assert_eq!(status_of(&kit.read(&live, &id), &message), "draft");
    assert_eq!(kit.world.approvals().len(), 1);
    kit.world.approve(&message, Approval::new(), kit.now).unwrap();
    assert_eq!(kit.advance(600), ["send"]);
    assert_eq!(kit.world.approve(&message, Approval::new(), kit.now).unwrap_err().status, 409);
    assert_eq!(kit.world.approve("msg_nowhere", Approval::new(), kit.now).unwrap_err().status, 404);
}

#[test]
fn magic_recipients_do_what_they_are_named_for() {
    let cases: [(&str, &str, usize, &[&str]); 6] = [
        ("delivered@any.test", "sent", 2, &["send"]),
        ("bounce+x@any.test", "failed", 2, &["send"]),
        ("complaint@any.test", "sent", 3, &["send"]),
        ("reply+tag@any.test", "sent", 3, &["send", "sandbox-reply"]),
        ("DOCS@any.test", "sent", 3, &["send", "sandbox-reply"]),
        ("ooo@any.test", "sent", 3, &["send"]),
    ];
    for (address, status, items, jobs) in cases {
        let mut kit = Kit::new();
        let test = kit.test.clone();
        let id = kit.sandbox_mail(address, "Hello");
        let message = kit.send(&test, &id);
        assert!(kit.advance(4).is_empty());
        assert_eq!(kit.advance(6), jobs, "{address}");
        let read = kit.read(&test, &id);
        assert_eq!(status_of(&read, &message), status, "{address}");
        assert_eq!(read["timeline"].as_array().unwrap().len(), items, "{address}");
    }
}

#[test]
fn an_invoice_from_the_docs_recipient_is_filed() {
    let mut kit = Kit::new();
    let (live, test) = (kit.live.clone(), kit.test.clone());
    let id = kit.sandbox_mail("docs@any.test", "Hello");
    kit.send(&test, &id);
    kit.advance(10);
    let documents = kit.get(&test, Operation::SearchDocuments, None, &[("q", "invoice pdf")]).unwrap();
    assert_eq!(documents[0]["conversationId"], json!(id));
    assert_eq!(kit.read(&test, &id)["timeline"][2]["attachments"][0]["contentType"], "application/pdf");
    assert_eq!(kit.get(&live, Operation::SearchDocuments, None, &[]).unwrap(), json!([]));
}

#[test]
fn every_later_mail_to_an_address_that_complained_fails() {
    let mut kit = Kit::new();
    let test = kit.test.clone();
    let id = kit.sandbox_mail("complaint@any.test", "Hello");
    kit.send(&test, &id);
    kit.advance(5);
    let event = kit.read(&test, &id)["timeline"][2].clone();
    assert_eq!(
        (&event["event"], &event["data"]),
        (&json!("spam-complaint"), &json!({ "email": "complaint@any.test" }))
    );
    let other = kit.sandbox_mail("Complaint@any.test", "Hello");
    let message = kit.send(&test, &other);
    kit.advance(5);
    assert_eq!(status_of(&kit.read(&test, &other), &message), "failed");
}

#[test]
fn drafts_in_the_sandbox_cannot_be_approved() {
    let mut kit = Kit::new();
    let test = kit.test.clone();
    let id = kit.sandbox_mail("kim@any.test", "Hello");
    let draft = kit.post(&test, Operation::Reply, &id, json!({ "body": "Hi" })).unwrap();
    let message = draft["messageId"].as_str().unwrap();
    assert_eq!(kit.world.approve(message, Approval::new(), kit.now).unwrap_err().status, 409);
}

fn ask(kit: &mut Kit, id: &str, send: bool) -> (String, String) {
    let body = json!({
        "documents": [{ "label": "Passport" }, { "label": "Statement", "required": false }],
        "dueDate": "2026-12-01", "send": send,
    });
    let live = kit.live.clone();
    let result = kit.post(&live, Operation::RequestDocuments, id, body).unwrap();
    let text = |field: &str| result[field].as_str().unwrap().to_owned();
    (text("messageId"), text("requestId"))
}

#[test]
fn the_upload_link_of_a_draft_comes_with_its_approval() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let (message, request) = ask(&mut kit, &id, false);
    let text = |kit: &mut Kit| kit.read(&live, &id)["timeline"][1]["text"].as_str().unwrap().to_owned();
    let draft = text(&mut kit);
    assert!(
        draft.contains("- Passport\n- Statement (nice to have)") && !draft.contains("https://"),
        "{draft}"
    );
    let upload = kit.world.upload(&request, Upload::new(0, "p.jpg"), kit.now);
    assert_eq!(upload.unwrap_err().status, 409, "nobody has the link yet");
    kit.world.approve(&message, Approval::new().body("Please!"), kit.now).unwrap();
    let approved = text(&mut kit);
    assert!(
        approved.starts_with("Please!\n\n- Passport") && approved.contains("\n\nUpload here: https://"),
        "{approved}"
    );
    kit.world.stop(&message, Stop::default(), kit.now).unwrap();
    kit.world.approve(&message, Approval::new(), kit.now).unwrap();
    assert_eq!(text(&mut kit), approved, "a second approval adds nothing");
}

#[test]
fn reminders_go_on_days_2_4_and_7_after_the_request_went_out_until_all_is_in() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    let (_, request) = ask(&mut kit, &id, true);
    assert_eq!(kit.advance(600), ["send"]);
    assert!(kit.advance(2 * DAY - 1).is_empty());
    assert_eq!(kit.advance(1), ["reminder"]);
    assert_eq!(kit.advance(2 * DAY), ["reminder"]);
    assert_eq!(kit.advance(3 * DAY), ["reminder"]);
    assert!(kit.advance(30 * DAY).is_empty());
    let kinds: Vec<Value> = kit.world.outbox().iter().map(|mail| json!(mail.kind)).collect();
    assert_eq!(kinds, ["reply", "reminder", "reminder", "reminder"]);
    let uploaded = kit.world.upload(&request, Upload::new(0, "p.jpg"), kit.now).unwrap();
    assert!(uploaded.complete, "optional items never hold it up");

    let id = kit.mail("Hello");
    let (_, request) = ask(&mut kit, &id, true);
    kit.advance(600 + DAY);
    assert!(!kit.world.upload(&request, Upload::new(1, "s.pdf"), kit.now).unwrap().complete);
    assert!(kit.world.upload(&request, Upload::new(0, "p.jpg"), kit.now).unwrap().complete);
    assert!(kit.advance(30 * DAY).is_empty(), "no reminder when everything required is in");
    assert_eq!(kit.world.upload(&request, Upload::new(2, "x"), kit.now).unwrap_err().status, 400);
    let documents = kit.get(&live, Operation::SearchDocuments, None, &[("q", "passport")]).unwrap();
    assert_eq!(documents.as_array().unwrap().len(), 2);
}

#[test]
fn a_reminder_changes_neither_status_nor_turn() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    ask(&mut kit, &id, true);
    kit.advance(600);
    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "I will look for it");
    mail.conversation_id = Some(id.clone());
    kit.inbound(mail);
    assert_eq!(kit.advance(2 * DAY), ["reminder"]);
    assert_eq!(kit.read(&live, &id)["status"], "open", "the team still has something to answer");
}
