//! Mail that comes in: quoted history, signs of a scam, and answers to what an app recorded.

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;
use shared_inbox_mock::InboundMail;

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
fn a_mail_that_is_held_is_marked_although_nobody_says_why() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let mut mail = InboundMail::new("help@acme.example", "eve@example.com", "Buy vouchers");
    mail.held = true;
    let id = kit.inbound(mail).conversation_id;
    assert_eq!(kit.read(&live, id.as_str())["risk"], "phishing");
}

fn record(kit: &mut Kit, extra: Value) {
    let mut body = json!({
        "messageId": "<a1b2c3@shop.example>", "reference": "Order-1042", "to": ["Kim@example.com"], "subject": "Shipped",
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let live = kit.live.clone();
    assert_eq!(kit.post(&live, Operation::RecordSent, "", body).unwrap(), json!({ "ok": true }));
}

#[test]
fn a_conversation_shows_the_recorded_mail_and_recording_again_only_fills_in_what_was_missing() {
    let mut kit = Kit::new();
    let (live, recorded_at) = (kit.live.clone(), kit.now);
    record(&mut kit, json!({}));
    kit.advance(60);
    record(&mut kit, json!({ "subject": "Shipped today" }));
    let mut mail = InboundMail::new("help@acme.example", "kim@example.com", "About that");
    mail.in_reply_to = Some("<a1b2c3@shop.example>".into());
    let id = kit.inbound(mail).conversation_id;
    record(&mut kit, json!({ "subject": "Too late", "text": "Your order left." }));
    record(&mut kit, json!({ "text": "Too late as well" }));
    let shown = json!({
        "messageId": "a1b2c3@shop.example", "reference": "order-1042", "to": ["Kim@example.com"],
        "subject": "Shipped today", "text": "Your order left.", "html": null, "recordedAt": recorded_at,
    });
    assert_eq!(kit.read(&live, id.as_str())["appSent"], shown);
}

#[test]
fn one_sign_of_a_scam_is_no_proof_and_two_are() {
    let mut kit = Kit::new();
    let test = kit.test.clone();
    for (text, risk, reasons) in [
        ("I forgot my password, can you help?", Value::Null, 0),
        ("Urgent: confirm your password", json!("phishing"), 2),
    ] {
        let id = kit.sandbox_mail("kim@customer.test", text);
        let read = kit.read(&test, &id);
        assert_eq!((&read["risk"], read["riskReasons"].as_array().map(Vec::len)), (&risk, Some(reasons)));
    }
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
