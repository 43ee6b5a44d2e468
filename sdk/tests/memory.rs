//! The room that a large answer takes. A test of its own process, since it looks at all memory.

use std::fmt::Write;

use shared_inbox::{Conversation, TimelineItem};

/// What the process has in memory now, where the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok().map(|kib| kib * 1024)
}

#[test]
fn small_values_in_an_events_data_take_at_most_four_times_their_size() {
    const SIZE: usize = 2 * 1024 * 1024;
    let item = |kind: &str| match kind {
        "event" => r#"{"type":"event","at":"2026-03-01T09:30:00.000Z","actor":"a","event":"e","data":{"#,
        "type last" => r#"{"data":{"#,
        _ => r#"{"type":"poll","data":{"#,
    };
    let mut read = Vec::new();
    for kind in ["event", "type last", "unknown"] {
        let mut json = String::with_capacity(SIZE + 1024);
        json.push_str(
            r#"{"id":"cnv_1","subject":"","status":"open","contact":{"name":null,"email":null},"mailbox":"",
            "lastMessageAt":"2026-03-01T09:30:00.000Z","assignee":null,"tags":[],"topic":null,"urgency":null,"risk":null,
            "riskReasons":[],"snoozedUntil":null,"team":{"people":[],"agents":[]},"timeline":["#,
        );
        json.push_str(item(kind));
        for number in 0.. {
            if json.len() >= SIZE {
                break;
            }
            write!(json, r#""{number}":[1,{{"a":2}}],"#).unwrap();
        }
        json.push_str(r#""end":0}"#);
        if kind == "type last" {
            json.push_str(r#","at":"2026-03-01T09:30:00.000Z","actor":"a","event":"e","type":"event""#);
        }
        json.push_str("}]}");
        let Some(before) = resident() else {
            println!("SKIPPED: this system does not tell how much memory a process has");
            return;
        };
        let conversation: Conversation = serde_json::from_str(&json).unwrap();
        let took = resident().unwrap().saturating_sub(before);
        assert!(took < 4 * SIZE, "{kind}: {took} bytes for {SIZE}");
        assert!(took >= SIZE / 2, "{kind}: {took} bytes: is it there at all?");
        read.push(conversation);
    }
    // Afterwards, because it takes memory that the next one would be given.
    for conversation in &read {
        match &conversation.timeline[0] {
            TimelineItem::Event(event) => assert_eq!(event.data.get("end"), Some(0.into())),
            TimelineItem::Unknown(item) => assert!(item.as_str().ends_with(r#""end":0}}"#)),
            other => panic!("{other:?}"),
        }
    }
}
