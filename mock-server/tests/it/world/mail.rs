//! Mail that comes in: history taken out, the cut of a read, and what it does to its conversation.

use serde_json::{Value, json};
use shared_inbox::{Operation, Timestamp};
use shared_inbox_mock::{InboundMail, Snooze};

use super::kit::Kit;

fn text_of(mail: &str) -> String {
    let mut kit = Kit::new();
    let id = kit.mail(mail);
    let live = kit.live.clone();
    kit.read(&live, &id)["timeline"][0]["text"].as_str().expect("a text").to_owned()
}

#[test]
fn quoted_lines_and_what_introduces_them_go() {
    for (mail, left) in [
        (
            "Yes please.\n\nOn Mon, 1 Mar 2026 at 10:00, Acme <help@acme.example> wrote:\n> Shall we?\n>> Hm",
            "Yes please.",
        ),
        (
            "Yes.\n\nOn Mon, 1 Mar 2026 at 10:00, Acme Help Desk\n<help@acme.example> wrote:\n\n> Shall we?",
            "Yes.",
        ),
        ("Ja.\n\nAm 01.03.2026 um 10:00 schrieb Acme <help@acme.example>:\n> Sollen wir?", "Ja."),
        ("Oui.\n\nLe lun. 1 mars 2026 à 10:00, Acme <help@acme.example> a écrit :\n> On y va ?", "Oui."),
        ("Yes.\n\nOn 1 Mar 2026, help@acme.example wrote:\nShall we?\nAcme", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Acme\nShall we?", "Yes."),
        (
            "Yes.\n\n________________________________\nFrom: Acme\nSent: Monday\nTo: Kim\nSubject: Hi\n\nShall we?",
            "Yes.",
        ),
        ("Yes.\n\nFrom: Acme <help@acme.example>\nDate: Monday\nSubject: Hi\n\nShall we?", "Yes."),
        ("> Shall we?\n\nYes.\n\n> When?\n\nToday.", "Yes.\n\n\nToday."),
        ("On Mon, 1 Mar 2026, Acme <help@acme.example> wrote:\n> Shall we?\n\nYes, below.", "Yes, below."),
    ] {
        assert_eq!(text_of(mail), left, "{mail}");
    }
}

#[test]
fn what_only_looks_like_history_stays() {
    for mail in [
        "On Monday she wrote:\nI shall come.\nIs that so?",
        "From: me\nwith love",
        "5 > 3, and -- as you know -- 3 < 5",
        "On the table\nis a lamp.",
        "Am Montag komme ich.",
    ] {
        assert_eq!(text_of(mail), mail);
    }
    assert_eq!(text_of("> all of it\n> is quoted"), "> all of it\n> is quoted", "better than nothing");
}

#[test]
fn a_read_cuts_a_text_after_8000_characters_and_search_knows_the_rest() {
    let mut kit = Kit::new();
    let id = kit.mail(&format!("{} needle", "ä".repeat(8_000)));
    let live = kit.live.clone();
    let read = kit.read(&live, &id);
    assert_eq!(read["timeline"][0]["text"], json!("ä".repeat(8_000)));
    assert_eq!(kit.ids(&live, &[("q", "needle")]), [id]);
}

#[test]
fn incoming_mail_opens_the_conversation_and_ends_a_snooze() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    kit.post(&live, Operation::SetStatus, &id, json!({ "status": "closed" })).unwrap();
    let until = Timestamp::from_millis(kit.now.as_millis() + 60_000);
    kit.world.snooze(&id, Snooze::new(Some(until)), kit.now).unwrap();
    assert_eq!(kit.ids(&live, &[("view", "snoozed")]), [id.as_str()]);
    assert!(kit.ids(&live, &[("view", "closed")]).is_empty(), "only in the view `snoozed`");

    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "And another thing");
    mail.conversation_id = Some(id.clone());
    assert!(!kit.inbound(mail).created);
    let read = kit.read(&live, &id);
    assert_eq!((&read["status"], &read["snoozedUntil"]), (&json!("open"), &Value::Null));
    assert_eq!(kit.ids(&live, &[]), [id]);
    assert!(kit.world.jobs().iter().all(|job| job.job != "wake"), "nothing is left to wake");
}

#[test]
fn a_snooze_ends_at_its_time_and_the_status_stays() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    kit.post(&live, Operation::SetStatus, &id, json!({ "status": "waiting" })).unwrap();
    let until = Timestamp::from_millis(kit.now.as_millis() + 60_000);
    kit.world.snooze(&id, Snooze::new(Some(until)), kit.now).unwrap();
    assert!(kit.advance(59).is_empty());
    assert_eq!(kit.ids(&live, &[("view", "snoozed")]), [id.as_str()]);
    assert_eq!(kit.advance(1), ["wake"]);
    assert_eq!(kit.ids(&live, &[("view", "waiting")]), [id.as_str()]);
    assert_eq!(kit.read(&live, &id)["snoozedUntil"], Value::Null);
}

#[test]
fn mail_joins_by_conversation_or_by_what_it_answers_never_by_subject_or_sender() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let first = kit.mail("Hello");
    let sent = kit.send(&live, &first);
    let mail = |text: &str| InboundMail::new("help@acme.example", "kim@example.com", text);

    let same_sender = kit.inbound(mail("Hello again"));
    assert!(same_sender.created, "the sender alone says nothing");

    let mut by_message = mail("Thanks");
    by_message.in_reply_to = Some(format!("<{sent}@acme.example>"));
    assert_eq!(kit.inbound(by_message).conversation_id.as_str(), first);

    let mut unknown = mail("Thanks");
    unknown.in_reply_to = Some("<nobody-knows@example.com>".into());
    assert!(kit.inbound(unknown).created);

    let mut nowhere = mail("Thanks");
    nowhere.conversation_id = Some("cnv_nowhere".into());
    assert_eq!(kit.world.inbound(nowhere, kit.now).unwrap_err().status, 404);
}

#[test]
fn a_reference_joins_only_for_someone_on_the_conversation() {
    let mut kit = Kit::new();
    let mail = |from: &str| InboundMail::new("help+Order-7@acme.example", from, "About my order");
    let kim = kit.inbound(mail("kim@example.com"));
    let again = kit.inbound(mail("KIM@example.com"));
    assert_eq!(again.conversation_id, kim.conversation_id);
    let other = kit.inbound(mail("lee@example.com"));
    assert!(other.created);
    let mut forged = mail("kim@example.com");
    forged.dmarc = shared_inbox_mock::Dmarc::Fail;
    assert!(kit.inbound(forged).created, "whoever fails the check of the sender may be anybody");

    let live = kit.live.clone();
    assert_eq!(kit.read(&live, other.conversation_id.as_str())["reference"], "order-7");
    let listed = kit.ids(&live, &[("view", "all"), ("reference", "ORDER-7")]);
    assert_eq!(listed.len(), 3);
    let plain = kit.inbound(InboundMail::new("help+news@acme.example", "kim@example.com", "Hello"));
    assert_eq!(
        kit.read(&live, plain.conversation_id.as_str()).get("reference"),
        None,
        "no digit, no reference"
    );
}

#[test]
fn a_mail_with_two_signs_of_a_scam_is_marked_in_the_sandbox() {
    let mut kit = Kit::new();
    let test = kit.test.clone();
    let scam = kit.sandbox_mail("bank@evil.test", "URGENT: confirm your password at https://evil.test/x");
    let read = kit.read(&test, &scam);
    assert_eq!(read["risk"], "phishing");
    assert_eq!(read["riskReasons"].as_array().unwrap().len(), 3);
    let fine = kit.sandbox_mail("kim@good.test", "I forgot my password, can you help?");
    let read = kit.read(&test, &fine);
    assert_eq!((&read["risk"], &read["riskReasons"]), (&Value::Null, &json!([])), "one sign is no proof");
}

#[test]
fn attachments_are_filed_as_documents() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "Attached");
    mail.attachments = serde_json::from_value(
        json!([{ "filename": "Rechnung 7.pdf", "contentType": "application/pdf", "size": 9 }]),
    )
    .unwrap();
    let received = kit.inbound(mail);
    let documents = kit.get(&live, Operation::SearchDocuments, None, &[("q", "rech")]).unwrap();
    assert_eq!(
        documents,
        json!([{
            "id": received.document_ids[0], "title": "Rechnung 7.pdf", "filename": "Rechnung 7.pdf", "kind": null,
            "fields": {}, "conversationId": received.conversation_id, "createdAt": kit.now,
        }])
    );
}
