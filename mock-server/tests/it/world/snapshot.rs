//! The world document: the demo holds together, and what was written is what is read.

use serde_json::{Value, json};
use shared_inbox::{__spec::Operation, Conversation, Timestamp};
use shared_inbox_mock::{
    CreateWebhook, LIVE_KEY, ReadyKeys,
    world::{KeyHash, World},
};

use super::kit::{Kit, START, restore_world};

#[test]
fn the_demo_shows_every_state_and_survives_a_restore() {
    let world = World::demo(Timestamp::from_millis(START));
    let document = serde_json::to_value(&world).unwrap();
    assert_eq!(serde_json::to_value(restore_world(&document)).unwrap(), document);
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
    let refusal = |place: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(place).unwrap() = value;
        let mut world: World = serde_json::from_value(document).unwrap();
        world.prepare().unwrap_err().to_string()
    };
    let due = "2027-01-01T00:00:00Z";
    for (place, value, expected) in [
        ("/mailboxes/1/sandbox", json!(false), "mailboxes: must have exactly one that is the sandbox"),
        (
            "/conversations/0/timeline/0/status",
            json!("scheduled"),
            "conversations[0].timeline[0].sendsAt: is required for a message that is scheduled",
        ),
        ("/jobs/0", json!({ "dueAt": due, "job": "wake", "conversation": "cnv_none" }), "jobs["),
        ("/jobs/0", json!({ "dueAt": due, "job": "send", "message": "msg_none" }), "jobs["),
        ("/jobs/0", json!({ "dueAt": due, "job": "reminder", "request": "req_none", "number": 1 }), "jobs["),
    ] {
        let error = refusal(place, value);
        assert!(error.starts_with(expected), "{error}");
    }
    // The rest by the place itself: what is there already, or is nowhere.
    for (place, value, problem) in [
        (
            "/conversations/0/turn",
            json!("our"),
            "must be one of ours, theirs, done, not our; did you mean ours?",
        ),
        ("/conversations/0/mailbox", json!("mbx_nowhere"), "is not one of the mailboxes"),
        ("/conversations/1/id", good["conversations"][0]["id"].clone(), ""),
        ("/keys/0/createdBy", json!("usr_nobody"), "is not one of the users"),
        ("/mailboxes/1/address", json!("HELP@acme.example"), "is there twice"),
        ("/users/1/id", good["users"][0]["id"].clone(), ""),
        ("/mailboxes/3/owner", json!("usr_nobody"), "is not one of the users"),
        ("/keys/1/keyHash", good["keys"][0]["keyHash"].clone(), ""),
        ("/keys/0/scopes", json!(["admin"]), "must be one of read, write, draft, send, record"),
        ("/tags/1/name", good["tags"][0]["name"].clone(), "is there twice"),
        ("/conversations/0/status", json!("gone"), "must be one of open, waiting, closed"),
        ("/conversations/0/urgency", json!("huge"), "must be one of low, normal, high"),
        ("/conversations/0/assignee", json!("usr_nobody"), ""),
        ("/conversations/0/tags", json!(["no such tag"]), ""),
        ("/conversations/1/timeline/0/id", good["conversations"][0]["timeline"][0]["id"].clone(), ""),
        ("/conversations/0/timeline/0/direction", json!("up"), "must be one of"),
        ("/conversations/0/timeline/0/status", json!("lost"), "must be one of"),
        ("/documents/0/mailbox", json!("mbx_nowhere"), "is not one of the mailboxes"),
        ("/documents/0/document/conversationId", json!("cnv_none"), ""),
        ("/documents/0/document/kind", json!("letter"), "must be one of"),
        ("/documentRequests/0/conversation", json!("cnv_none"), ""),
        ("/documentRequests/0/message", json!("msg_none"), ""),
        ("/bookings/0/hostUserId", json!("usr_nobody"), ""),
        ("/bookings/0/conversationId", json!("cnv_none"), ""),
        ("/appMail/0/conversation", json!("cnv_none"), ""),
    ] {
        let field = place[1..].replace("/0/", "[0].").replace("/1/", "[1].").replace("/3/", "[3].");
        let error = refusal(place, value);
        assert!(error.starts_with(&format!("{}: {problem}", field.replace('/', "."))), "{error}");
    }
}

#[test]
fn a_copy_with_other_keys_does_not_answer_to_the_first_ones() {
    let mut world = World::empty();
    let keys = ReadyKeys::numbered(7);
    world.use_keys(&keys);
    assert_eq!(world.authenticate(&KeyHash::from_key(LIVE_KEY)), None);
    assert!(world.authenticate(&KeyHash::from_key(&keys.live)).is_some());
    assert_eq!(world.keys().len(), 2);
    for (key, prefix) in [(&*keys.live, "rk_live_"), (&keys.test, "rk_test_"), (LIVE_KEY, "rk_live_")] {
        let secret = key.strip_prefix(prefix).unwrap();
        assert!(secret.len() == 48 && secret.bytes().all(|b| b.is_ascii_alphanumeric()));
    }
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
    kit.world = restore_world(&document);
    let live = kit.world.authenticate(&KeyHash::from_key(LIVE_KEY)).expect("the fixed keys are added");
    assert_eq!(kit.list(&live, &[])[0]["snippet"], "Please");
}

#[test]
fn a_document_need_not_list_the_jobs_that_follow_from_the_rest() {
    let mut kit = Kit::new();
    kit.world = World::demo(kit.now);
    let live = kit.world.authenticate(&KeyHash::from_key(LIVE_KEY)).expect("the fixed key");
    let sent =
        json!({ "messageId": "m1@app", "reference": "ref-1", "to": ["kim@example.com"], "subject": "s" });
    kit.post(&live, Operation::RecordSent, "", sent).unwrap();
    let good = serde_json::to_value(&kit.world).unwrap();
    let mut without = good.clone();
    let follows = |job: &Value| ["send", "wake", "forget-app-mail"].contains(&job["job"].as_str().unwrap());
    let jobs = without["jobs"].as_array_mut().unwrap();
    let before = jobs.len();
    jobs.retain(|job| !follows(job));
    assert!(jobs.len() + 2 < before, "the demo has some of each kind");
    assert_eq!(serde_json::to_value(restore_world(&without)).unwrap()["jobs"], good["jobs"]);
}

#[test]
fn a_conversation_without_mail_is_placed_by_its_beginning_and_notes_do_not_move_it() {
    let mut document = serde_json::to_value(World::empty()).unwrap();
    let inbox = document["mailboxes"][0]["id"].clone();
    let event = |minute: u32| {
        json!([{
            "type": "event", "at": format!("2026-03-01T09:{minute}:00Z"), "actor": "Anna", "event": "moved", "data": {},
        }])
    };
    document["conversations"] = json!([
        { "id": "cnv_1", "mailbox": inbox, "subject": "One", "contact": {}, "timeline": event(10) },
        { "id": "cnv_2", "mailbox": inbox, "subject": "Two", "contact": {}, "timeline": event(20) },
        { "id": "cnv_3", "mailbox": inbox, "subject": "Three", "contact": {}, "timeline": [] },
    ]);
    let mut kit = Kit::new();
    kit.world = restore_world(&document);
    let live = kit.world.authenticate(&KeyHash::from_key(LIVE_KEY)).expect("the fixed keys are added");
    for (op, body) in [
        (Operation::AddNote, json!({ "body": "Seen" })),
        (Operation::SetStatus, json!({ "status": "waiting" })),
        (Operation::SetStatus, json!({ "status": "open" })),
    ] {
        kit.post(&live, op, "cnv_1", body).unwrap();
    }
    let list = kit.list(&live, &[]);
    let shown: Vec<_> =
        list.iter().map(|it| (it["id"].as_str().unwrap(), it["lastMessageAt"].clone())).collect();
    let at = |time: &str| json!(format!("2026-03-01T{time}.000Z"));
    assert_eq!(
        shown,
        [("cnv_2", at("09:20:00")), ("cnv_1", at("09:10:00")), ("cnv_3", json!("1970-01-01T00:00:00.000Z"))]
    );
}

/// Copies share what did not change, in chunks of conversations and layers of deliveries.
#[test]
fn a_copy_of_a_world_does_not_see_what_the_other_changes() {
    let mut kit = Kit::new();
    let webhook = kit.world.create_webhook(CreateWebhook::new("https://hooks.example.com/1")).unwrap().id;
    let ids: Vec<_> = (0..130).map(|n| kit.mail(&format!("Question {n}"))).collect();
    kit.world.test_webhook(webhook.as_str(), kit.now).unwrap();
    let (before, live) = (serde_json::to_value(&kit.world).unwrap(), kit.live.clone());
    let copy = kit.world.clone();
    kit.post(&live, Operation::AddNote, &ids[70], json!({ "body": "Later" })).unwrap();
    kit.mail("One more");
    kit.world.test_webhook(webhook.as_str(), kit.now).unwrap();
    kit.world.delete_webhook(webhook.as_str()).unwrap();
    assert_eq!(serde_json::to_value(&copy).unwrap(), before);
    let after = serde_json::to_value(&kit.world).unwrap();
    assert_eq!(after["conversations"].as_array().unwrap().len(), 131);
    assert_eq!(after["conversations"][70]["timeline"].as_array().unwrap().len(), 2);
    assert_eq!(after["conversations"][71], before["conversations"][71]);
    assert_eq!(serde_json::to_value(restore_world(&after)).unwrap(), after);
}
