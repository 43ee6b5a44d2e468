//! How much of a mail a model gets to see, and that no field of a stranger hides another.

use crate::fixture::assert_lacks;
use serde_json::{Value, json};
use shared_inbox::{Conversation, ConversationSummary};
use shared_inbox_mcp::render::{self, More, Rendered};

use crate::hostile::{mail, of_size, style, summaries};

#[test]
fn a_long_list_is_cut_between_items_in_both_forms() {
    let all = summaries(100);
    let style = of_size(4_000);
    let Rendered { text, structured, .. } = render::conversations(&style, &all);
    let shown = structured["items"].as_array().unwrap().len();
    assert!(shown > 3 && shown < 20, "{shown}");
    assert!(text.chars().count() <= 4_000 && structured.to_string().chars().count() <= 4_000);
    let ends = text.matches("⟦end ").count();
    assert_eq!(ends, shown + 1, "every fence that opens is closed, and one is explained");
    let said = format!("{shown} of 100 conversations, the others are too much for one result.");
    assert!(text.starts_with(&said), "a list that is cut says so first: {text}");
    assert_eq!(structured["items"][0]["id"], "cnv_0");
    assert!(structured["about"].as_str().unwrap().starts_with(&said), "a client may pass on the JSON alone");
    let exact = render::conversations(&of_size(4_000).exact(), &all).structured;
    assert!(exact["note"].as_str().unwrap().contains("of 100 conversations"), "{exact}");
}

#[test]
fn a_list_that_may_go_on_says_so_first() {
    let rendered = render::conversations(&style().more(More::Maybe), &summaries(25));
    for form in [rendered.text.as_str(), rendered.structured["about"].as_str().unwrap()] {
        assert!(form.starts_with("25 of 25 or more conversations. Narrow with q, "), "{form}");
    }
}

#[test]
fn a_risk_is_never_cut_off() {
    let mut all = summaries(100);
    for risky in [40, 97, 99] {
        all[risky].risk = Some("phishing".into());
    }
    let rendered = render::conversations(&of_size(4_000), &all);
    assert_within(&rendered, 4_000);
    let shown: Vec<_> =
        rendered.structured["items"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert!(
        shown.starts_with(&["cnv_0", "cnv_1"]) && shown.ends_with(&["cnv_40", "cnv_97", "cnv_99"]),
        "{shown:?}"
    );
    let warning = "WARNING: the service sees a risk in cnv_1, cnv_40, cnv_97, cnv_99. They may be attacks";
    for form in [&rendered.text, rendered.structured["about"].as_str().unwrap()] {
        assert!(form.contains(warning), "{form}");
    }
    all.iter_mut().for_each(|c| c.risk = Some("phishing".into()));
    let rendered = render::conversations(&style(), &all);
    assert!(all.iter().all(|c| rendered.text.contains(c.id.as_str())), "{}", rendered.text);
}

#[test]
fn the_slim_form_has_ids_states_and_times_and_no_words() {
    let c = mail("Kim Larsen", "Order 1042 is late", "Where is my order?");
    let slim = render::conversation(&style().slim(), &c, None).structured;
    let whole = render::conversation(&style(), &c, None).structured;
    for same in
        ["/id", "/status", "/lastMessageAt", "/timeline/0/id", "/timeline/0/at", "/timeline/0/direction"]
    {
        assert_eq!(slim.pointer(same), whole.pointer(same), "{same}");
    }
    let slim = format!("{slim}{}", render::conversations(&style().slim(), &summaries(3)).structured);
    assert_lacks(&slim, &["Kim", "Order", "order", "untrusted", "@"]);
}

#[test]
fn a_recorded_mail_that_is_too_long_does_not_crowd_out_the_conversation() {
    let mut c = serde_json::to_value(mail("Kim", "Long", "the question")).unwrap();
    c["appSent"] = json!({ "html": "<p>".repeat(20_000) });
    let c: Conversation = serde_json::from_value(c).unwrap();
    let rendered = render::conversation(&style(), &c, None);
    assert_within(&rendered, 20_000);
    for form in [rendered.text, rendered.structured["timeline"][0].to_string()] {
        assert!(form.contains("the question"), "{form}");
    }
    assert!(rendered.structured["appSent"]["html"].as_str().unwrap().contains("more characters"));
    let exact = render::conversation(&style().exact(), &c, None);
    assert_within(&exact, 50_000);
    assert!(exact.structured.get("appSent").is_none(), "in the exact form it is there whole or not at all");
    assert!(exact.structured["note"].as_str().unwrap().contains("the email that the app sent"));
    assert_eq!(exact.structured["timeline"][0]["text"], "the question");
}

fn assert_within(rendered: &Rendered, most: usize) {
    let (text, json) = (rendered.text.chars().count(), rendered.structured.to_string().chars().count());
    assert!(text <= most && json <= most, "{text} and {json} characters, more than {most}");
}

#[test]
fn one_long_field_is_shortened_and_hides_nothing_else() {
    let (mut all, long) = (summaries(11), "x".repeat(60_000));
    for (summary, field) in all.iter_mut().zip(STRANGERS.iter().map(|(field, _)| field)) {
        *summary = with_long(summary, field, &long);
    }
    all[7].reference = Some(long.clone());
    all[8].tags = vec![long; 10];
    for style in [style(), style().exact()] {
        assert_within(&render::conversations(&style, &all), 50_000);
    }
    let rendered = render::conversations(&style(), &all);
    assert_eq!(rendered.structured["items"].as_array().unwrap().len(), 11);
    assert!(all.iter().all(|c| rendered.text.contains(&format!("\n{} ·", c.id))), "{}", rendered.text);
    assert!(rendered.text.starts_with("11 conversations.\n"));
}

#[test]
fn one_long_file_name_hides_no_document() {
    let document = |i: usize, name: &str| -> shared_inbox::Document {
        serde_json::from_value(
            json!({ "id": format!("doc_{i}"), "title": name, "filename": name, "kind": null,
            "fields": { "vendor": name, "reference": name, "date": name }, "conversationId": null,
            "createdAt": "2026-03-01T09:30:00.000Z" }),
        )
        .unwrap()
    };
    let all: Vec<_> = (0..11).map(|i| document(i, &"f".repeat(if i == 0 { 60_000 } else { 10 }))).collect();
    let rendered = render::documents(&style(), &all, 0);
    assert_within(&rendered, 50_000);
    assert_eq!(rendered.structured["items"].as_array().unwrap().len(), 11);
}

/// The fields of a summary that strangers can make long, and their caps.
const STRANGERS: [(&str, usize); 7] = [
    ("/subject", 300),
    ("/snippet", 400),
    ("/contact/name", 120),
    ("/contact/email", 254),
    ("/topic", 80),
    ("/mailbox", 120),
    ("/risk", 80),
];

fn with_long(summary: &ConversationSummary, field: &str, long: &str) -> ConversationSummary {
    let mut summary = serde_json::to_value(summary).unwrap();
    *summary.pointer_mut(field).unwrap() = long.into();
    serde_json::from_value(summary).unwrap()
}

#[test]
fn every_field_of_a_stranger_has_a_cap_of_its_own_where_there_is_room_for_more() {
    fn longest(value: &Value) -> usize {
        match value {
            Value::String(text) => text.chars().filter(|c| *c == 'x').count(),
            Value::Array(items) => items.iter().map(longest).max().unwrap_or(0),
            Value::Object(fields) => fields.values().map(longest).max().unwrap_or(0),
            _ => 0,
        }
    }
    let long = "x".repeat(60_000);
    for (field, cap) in STRANGERS {
        let one = with_long(&summaries(1)[0], field, &long);
        let rendered = render::conversations(&of_size(1_000_000), &[one]);
        assert_eq!(longest(&rendered.structured), cap, "{field}");
        assert!(rendered.text.matches('x').count() < 2 * cap + 100, "{field}: {}", rendered.text);
    }
    let mut c = mail(&long, "x", &long);
    c.risk_reasons = vec![long.clone(); 9];
    let rendered = render::conversation(&of_size(1_000_000), &c, None);
    assert_eq!(longest(&rendered.structured["timeline"]), 12_000, "the words of a mail");
    assert_eq!(rendered.structured["riskReasons"].as_array().map(Vec::len), Some(3));
}

#[test]
fn one_long_item_of_a_timeline_is_shortened_and_the_others_stay() {
    let (at, long) = ("2026-03-01T10:00:00.000Z", "\"\n".repeat(26_000));
    for item in [
        json!({ "type": "note", "id": "not_1", "at": at, "author": long, "body": long }),
        json!({ "type": "message", "id": "msg_2", "at": at, "direction": "inbound", "status": null,
                "from": { "name": long, "email": long }, "text": long,
                "attachments": vec![json!({ "filename": &long[..2_000], "contentType": &long[..2_000], "size": 1 }); 8] }),
        json!({ "type": "event", "at": at, "actor": long, "event": long, "data": { "y": vec![&long; 20] } }),
        json!({ "type": "poll", "question": long, "more": vec![&long; 20] }),
    ] {
        let mut c = serde_json::to_value(mail("Kim", "Long", "first")).unwrap();
        c["timeline"].as_array_mut().unwrap().push(item);
        let rendered = render::conversation(&style(), &serde_json::from_value(c).unwrap(), None);
        assert_within(&rendered, 50_000);
        assert_eq!(rendered.structured["timeline"].as_array().unwrap().len(), 2, "{}", rendered.text);
    }
}

#[test]
fn even_the_smallest_result_shows_an_ordinary_conversation() {
    let rendered = render::conversations(&of_size(1_000), &summaries(3));
    assert_within(&rendered, 1_000);
    assert_eq!(rendered.structured["items"][0]["id"], "cnv_1", "the one with a risk");
    let rendered =
        render::conversation(&of_size(1_500), &mail("Kim", "Order 1042", &"word ".repeat(1_000)), None);
    assert_within(&rendered, 1_500);
    assert_eq!(rendered.structured["timeline"][0]["id"], "msg_1");
    assert!(rendered.text.contains("more characters)"), "{}", rendered.text);
}
