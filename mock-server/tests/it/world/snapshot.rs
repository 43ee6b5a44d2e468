//! The world document: the demo holds together, and what was written is what is read.

use serde_json::{Value, json};
use shared_inbox::{Conversation, Operation, Timestamp};
use shared_inbox_mock::world::{KeyHash, Keys, LIVE_KEY, World};

use super::kit::{Kit, START};

fn restored(document: &Value) -> World {
    let mut world: World = serde_json::from_value(document.clone()).expect("a good document");
    world.prepare(Timestamp::from_millis(START)).expect("a good world");
    world
}

#[test]
fn the_demo_shows_every_state_and_survives_a_restore() {
    let world = World::demo(Timestamp::from_millis(START));
    let document = serde_json::to_value(&world).unwrap();
    assert_eq!(serde_json::to_value(restored(&document)).unwrap(), document);
    assert_eq!(
        serde_json::to_value(World::demo(Timestamp::from_millis(START))).unwrap(),
        document,
        "always the same"
    );
    let conversations = document["conversations"].as_array().unwrap();
    assert!(conversations.len() >= 15, "{}", conversations.len());
    for status in ["open", "waiting", "closed"] {
        assert!(conversations.iter().any(|c| c["status"] == status), "{status}");
    }
    let messages = || conversations.iter().flat_map(|c| c["timeline"].as_array().unwrap());
    for status in ["draft", "scheduled", "sent"] {
        assert!(messages().any(|m| m["status"] == status), "{status}");
    }
    assert!(conversations.iter().any(|c| !c["snoozedUntil"].is_null()));
    assert!(conversations.iter().any(|c| c["risk"] == "phishing"));
    let kinds: Vec<_> = world.jobs().into_iter().map(|job| job.job).collect();
    for kind in ["send", "wake", "reminder"] {
        assert!(kinds.iter().any(|k| k == kind), "{kind}");
    }
    assert_eq!((world.users().len(), world.mailboxes().len()), (2, 4));
}

#[test]
fn every_conversation_of_the_demo_reads_as_the_type_of_the_api() {
    let mut kit = Kit::new();
    kit.world = World::demo(kit.now);
    kit.world.set_rate_limit(None);
    let agents: Vec<_> = kit.world.keys().into_iter().map(|key| key.agent_id).collect();
    let mut seen = 0;
    for agent in agents {
        for view in ["open", "waiting", "closed", "snoozed"] {
            for id in kit.ids(&agent, &[("view", view), ("limit", "100")]) {
                let raw = kit.read(&agent, &id);
                let typed: Conversation = serde_json::from_value(raw.clone()).unwrap();
                assert_eq!(serde_json::to_value(&typed).unwrap(), raw);
                seen += 1;
            }
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn what_does_not_fit_together_is_named() {
    let good = serde_json::to_value(World::demo(Timestamp::from_millis(START))).unwrap();
    let cases: [(&str, Value, &str); 4] = [
        (
            "/conversations/0/mailbox",
            json!("mbx_nowhere"),
            "conversations[0].mailbox: is not one of the mailboxes",
        ),
        ("/conversations/1/id", good["conversations"][0]["id"].clone(), "conversations[1].id: "),
        ("/keys/0/createdBy", json!("usr_nobody"), "keys[0].createdBy: is not one of the users"),
        ("/mailboxes/1/sandbox", json!(false), "mailboxes: must have exactly one that is the sandbox"),
    ];
    for (place, value, expected) in cases {
        let mut document = good.clone();
        *document.pointer_mut(place).unwrap() = value;
        let mut world: World = serde_json::from_value(document).unwrap();
        let error = world.prepare(Timestamp::from_millis(START)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_copy_with_other_keys_does_not_answer_to_the_first_ones() {
    let mut world = World::empty(Timestamp::from_millis(START));
    let keys = Keys::numbered(7);
    world.use_keys(&keys);
    assert_eq!(world.authenticate(&KeyHash::of(LIVE_KEY)), None);
    assert!(world.authenticate(&KeyHash::of(&keys.live)).is_some());
    assert_eq!(world.keys().len(), 2);
    for (key, prefix) in
        [(&keys.live, "rk_live_"), (&keys.test, "rk_test_"), (&LIVE_KEY.to_owned(), "rk_live_")]
    {
        let secret = key.strip_prefix(prefix).unwrap();
        assert!(secret.len() == 48 && secret.bytes().all(|b| b.is_ascii_alphanumeric()));
    }
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    let run = || {
        let mut kit = Kit::new();
        let live = kit.live.clone();
        let id = kit.mail("Hello");
        kit.post(&live, Operation::TagConversation, &id, json!({ "add": ["a", "b"] })).unwrap();
        kit.send(&live, &id);
        kit.advance(1_000);
        serde_json::to_string(&kit.world).unwrap()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_document_written_by_hand_needs_little_more_than_inboxes_and_mail() {
    let document = json!({
        "mailboxes": [
            { "id": "mbx_help", "address": "help@acme.example", "name": "Help" },
            { "id": "mbx_sandbox", "address": "sandbox@acme.test", "name": "Sandbox", "sandbox": true },
        ],
        "conversations": [{
            "id": "cnv_1", "mailbox": "mbx_help", "subject": "Refund", "contact": { "email": "kim@example.com" },
            "timeline": [{
                "type": "message", "id": "msg_1", "at": "2026-03-01T09:30:00Z", "direction": "inbound",
                "from": { "email": "kim@example.com" }, "text": "Please",
            }],
        }],
    });
    let mut kit = Kit::new();
    kit.world = restored(&document);
    let live = kit.world.authenticate(&KeyHash::of(LIVE_KEY)).expect("the fixed keys are added");
    assert_eq!(kit.list(&live, &[])[0]["snippet"], "Please");
}
