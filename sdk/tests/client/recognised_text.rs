//! Which texts in a conversation are surely the one that was sent: found, or left for a person to judge.

use std::time::Duration;

use shared_inbox::create::Lookup;
use shared_inbox::input::DocumentItem;

use crate::support::{Service, conversation_id};

/// Returns whether a note of ours with this text is found in a note that shows that one.
async fn is_found(service: &Service, ours: &str, theirs: &str) -> bool {
    service.state().lines.clear();
    let client = service.client();
    let record = client.conversation(&conversation_id()).add_note(ours).unconfirmed().await.unwrap();
    service.teammate_notes("Robin", theirs, Duration::ZERO);
    found(client.find_unconfirmed(&record).await.unwrap())
}

/// The same of a document request.
async fn request_is_found(service: &Service, ours: &str, theirs: &str) -> bool {
    service.state().lines.clear();
    let client = service.client();
    let documents = ["Passport", "Bank statement"].map(DocumentItem::new);
    let request = client.conversation(&conversation_id()).request_documents(documents).message(ours);
    let record = request.unconfirmed().await.unwrap();
    service.teammate_writes("draft", theirs, Duration::ZERO);
    found(client.find_unconfirmed(&record).await.unwrap())
}

fn found(lookup: Lookup) -> bool {
    match lookup {
        Lookup::Found(_) => true,
        Lookup::Unclear => false,
        other => panic!("a new item of our kind may be ours, whatever its text: {other:?}"),
    }
}

#[tokio::test]
async fn line_ends_and_blank_lines_do_not_matter() {
    let service = Service::start().await;
    assert!(is_found(&service, "Hello Kim,\r\n\r\nit is done. ", "Hello Kim,\n\nit is done.").await);
}

#[tokio::test]
async fn the_same_letters_in_another_form_are_the_same() {
    let service = Service::start().await;
    let other_form = "Zoe\u{308}, Gro\u{308}ße, \u{1112}\u{1161}\u{11ab}";
    assert!(is_found(&service, "Zoë, Größe, 한", other_form).await);
    assert!(!is_found(&service, "Zoë", "Zoe").await);
}

#[tokio::test]
async fn every_other_change_is_for_a_person_to_judge() {
    let service = Service::start().await;
    let ours = "Your refund of \"20 EUR\" is on its way.";
    for theirs in [
        "Your refund of “20 EUR” is on its way.",
        "Your refund of &quot;20 EUR&quot; is on its way.",
        "YOUR REFUND OF \"20 EUR\" IS ON ITS WAY.",
        "Your refund of \"20 EUR\" is on its way.\n--\nThe team",
        "We need the order number.",
        "",
    ] {
        assert!(!is_found(&service, ours, theirs).await, "{theirs}");
    }
    assert!(!is_found(&service, "", "The team").await);
    assert!(is_found(&service, " \n", "").await);
}

#[tokio::test]
async fn a_text_is_known_by_its_first_8000_characters() {
    let service = Service::start().await;
    let long = "word ".repeat(4_000);
    let cut: String = long.chars().take(8_000).collect();
    assert!(is_found(&service, &long, &cut).await);
    assert!(is_found(&service, &long, &format!("{cut}…")).await);
    assert!(!is_found(&service, &long, &format!("x{}", &cut[1..])).await);
}

#[tokio::test]
async fn a_cut_may_be_counted_in_characters_utf16_units_or_bytes() {
    let service = Service::start().await;
    let long = "🙂".repeat(9_000);
    for kept in [8_000, 4_000, 2_000] {
        assert!(is_found(&service, &long, &"🙂".repeat(kept)).await);
        assert!(is_found(&service, &long, &format!("{}\u{fffd}", "🙂".repeat(kept - 1))).await);
    }
    assert!(!is_found(&service, &long, &"🙂".repeat(1_900)).await, "too short for a cut");
    let uncut = "🙂".repeat(1_999);
    assert!(!is_found(&service, &uncut, &"🙂".repeat(1_998)).await, "nothing of it had to be cut");
}

#[tokio::test]
async fn quoted_history_may_be_gone() {
    let service = Service::start().await;
    let ours = "Yes, it is.\nOn Monday Kim wrote:\n> Is it on its way?";
    assert!(is_found(&service, ours, "Yes, it is.").await);
    assert!(is_found(&service, ours, "Yes, it is.\nOn Monday Kim wrote:").await);
    assert!(is_found(&service, "> Is it?\nYes.\n> When?\nToday.", "Yes.\nToday.").await);
    assert!(!is_found(&service, ours, "Yes").await, "a teammate may have written that");
    assert!(!is_found(&service, "> Is it?", "").await, "all of it was quoted");
}

#[tokio::test]
async fn a_checklist_under_the_text_belongs_to_it() {
    let service = Service::start().await;
    let list = "https://upload.example/x\n[ ] Passport (nice to have): a scan\n[ ] Bank statement\n";
    for (ours, theirs) in [
        ("Please send it.", format!("Please send it.\n\n{list}")),
        ("Please send it.", "Please send it.".to_owned()),
        ("", list.to_owned()),
        ("", "Please tick:\n☐ Passport\n☐ Bank statement".to_owned()),
        ("", "- Passport\n- Bank statement".to_owned()),
        ("A\nB", "A\nB\n- Passport\n- Bank statement".to_owned()),
    ] {
        assert!(request_is_found(&service, ours, &theirs).await, "{ours}: {theirs}");
    }
}

#[tokio::test]
async fn a_text_that_mentions_the_same_things_is_another() {
    let service = Service::start().await;
    for theirs in [
        "We still need the Passport and a Bank statement",
        "Please bring:\n- Passport\n- Bank statement",
        "https://upload.example/x\n- Bank statement",
        "https://upload.example/x\n- Passports\n- Bank statement",
        "",
    ] {
        assert!(!request_is_found(&service, "", theirs).await, "{theirs}");
        assert!(!request_is_found(&service, "Please send it.", theirs).await, "{theirs}");
    }
}
