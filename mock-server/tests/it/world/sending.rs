//! What became of drafts, sends and document requests, and what the timeline holds of calls.

use serde_json::json;
use shared_inbox::__spec::Operation;
use shared_inbox_mock::{
    Approval, InboundMail,
    world::{StopMessage, Upload},
};

use super::kit::Kit;

const DAY: u64 = 86_400;

/// Requests documents; the ids of the message and of the request.
fn request_documents(kit: &mut Kit, id: &str, send: bool) -> (String, String) {
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
    let (message, request) = request_documents(&mut kit, &id, false);
    let text = |kit: &mut Kit| kit.read(&live, &id)["timeline"][1]["text"].as_str().unwrap().to_owned();
    let draft = text(&mut kit);
    assert!(
        draft.contains("- Passport\n- Statement (nice to have)") && !draft.contains("https://"),
        "{draft}"
    );
    let upload = kit.world.upload(&request, Upload::new(0, "p.jpg"), kit.now);
    assert_eq!(upload.unwrap_err().status, 409, "nobody has the link yet");
    for (request, item, status) in [(request.as_str(), 2, 400), ("req_none", 0, 404)] {
        assert_eq!(
            kit.world.upload(request, Upload::new(item, "p.jpg"), kit.now).unwrap_err().status,
            status
        );
    }
    kit.world.approve(&message, Approval::new().body("Please!"), kit.now).unwrap();
    let approved = text(&mut kit);
    assert!(
        approved.starts_with("Please!\n\n- Passport") && approved.contains("\n\nUpload here: https://"),
        "{approved}"
    );
    kit.world.stop(&message, StopMessage::default(), kit.now).unwrap();
    kit.world.approve(&message, Approval::new(), kit.now).unwrap();
    assert_eq!(text(&mut kit), approved, "a second approval adds nothing");
}

#[test]
fn a_reminder_changes_neither_status_nor_turn() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    request_documents(&mut kit, &id, true);
    kit.advance(600);
    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "I will look for it");
    mail.conversation_id = Some(id.clone());
    kit.inbound(mail);
    assert_eq!(kit.advance(2 * DAY), ["reminder"]);
    assert_eq!(kit.read(&live, &id)["status"], "open", "the team still has something to answer");
}
