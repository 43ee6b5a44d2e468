//! Who sees what: private inboxes, the two worlds, tags, teams; and the order of checks.

use serde_json::{Value, json};
use shared_inbox::{Operation, Scope};
use shared_inbox_mock::{CallInput, InboundMail, NewKey, NewMailbox, NewUser, Plan, Refusal};

use super::kit::Kit;

fn with_private_inbox(kit: &mut Kit) -> (shared_inbox::UserId, String) {
    let owner = kit.world.create_user(NewUser::new("Priv Ate")).unwrap().id;
    kit.world.create_mailbox(NewMailbox::new("priv@acme.example", "Private").owner(owner.clone())).unwrap();
    let mail = InboundMail::new("priv@acme.example", "kim@example.com", "just between us");
    (owner, kit.inbound(mail).conversation_id.into())
}

#[test]
fn a_private_inbox_is_there_for_its_owners_keys_alone() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let (owner, id) = with_private_inbox(&mut kit);
    let own = kit.key(NewKey::live("Own", Kit::all_scopes()).created_by(owner.clone()));
    assert_eq!(kit.ids(&own, &[]), [id.as_str()]);
    assert!(kit.ids(&live, &[]).is_empty());
    assert!(kit.ids(&live, &[("q", "between")]).is_empty());
    let hidden = kit.get(&live, Operation::GetConversation, Some(&id), &[]).unwrap_err();
    let never = kit.get(&live, Operation::GetConversation, Some("cnv_never"), &[]).unwrap_err();
    assert_eq!((hidden.status, &hidden), (404, &never), "identical to an id that was never there");
    let team = kit.read(&own, &id)["team"].clone();
    assert_eq!(team["people"], json!([{ "id": format!("user:{owner}"), "name": "Priv Ate" }]));
    assert_eq!(team["agents"], json!([{ "id": format!("agent:{own}"), "name": "Own" }]));

    kit.post(&own, Operation::TagConversation, &id, json!({ "add": ["hush"] })).unwrap();
    let names = |tags: Value| tags.as_array().unwrap().iter().map(|t| t["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(kit.get(&own, Operation::ListTags, None, &[]).unwrap()), ["hush"]);
    assert!(names(kit.get(&live, Operation::ListTags, None, &[]).unwrap()).is_empty());
    let open = kit.mail("Hello");
    kit.post(&live, Operation::TagConversation, &open, json!({ "add": ["hush"] })).unwrap();
    assert_eq!(kit.get(&live, Operation::ListTags, None, &[]).unwrap()[0]["count"], 1);
    assert_eq!(kit.get(&own, Operation::ListTags, None, &[]).unwrap()[0]["count"], 2);
}

#[test]
fn assigning_to_someone_who_is_not_there_or_cannot_see_is_a_400() {
    let mut kit = Kit::new();
    let (live, test) = (kit.live.clone(), kit.test.clone());
    let (owner, id) = with_private_inbox(&mut kit);
    let own = kit.key(NewKey::live("Own", Kit::all_scopes()).created_by(owner.clone()));
    let anna = kit.world.users()[0].id.clone();
    let open = kit.mail("Hello");
    let simulated = kit.sandbox_mail("kim@customer.test", "Hello");
    for (agent, conversation, to, status) in [
        (&own, &id, format!("user:{owner}"), None),
        (&own, &id, format!("user:{anna}"), Some(400)),
        (&own, &id, format!("agent:{live}"), Some(400)),
        (&live, &open, format!("user:{owner}"), None),
        (&live, &open, "user:usr_nobody".to_owned(), Some(400)),
        (&live, &open, format!("agent:{test}"), Some(400)),
        (&test, &simulated, "me".to_owned(), None),
        (&test, &simulated, format!("user:{anna}"), Some(400)),
        (&test, &simulated, "none".to_owned(), None),
    ] {
        let result = kit.post(agent, Operation::AssignConversation, conversation, json!({ "to": to }));
        assert_eq!(result.err().map(|refusal| refusal.status), status, "{to}");
    }
}

#[test]
fn the_two_worlds_share_tag_names_and_nothing_else() {
    let mut kit = Kit::new();
    let (live, test) = (kit.live.clone(), kit.test.clone());
    let real = kit.mail("Hello");
    let simulated = kit.sandbox_mail("kim@customer.test", "Hello");
    assert_eq!(kit.ids(&live, &[]), [real.as_str()]);
    assert_eq!(kit.ids(&test, &[]), [simulated.as_str()]);
    assert_eq!(kit.get(&test, Operation::GetConversation, Some(&real), &[]).unwrap_err().status, 404);
    assert_eq!(kit.get(&live, Operation::GetConversation, Some(&simulated), &[]).unwrap_err().status, 404);
    kit.post(&test, Operation::TagConversation, &simulated, json!({ "add": ["refund"] })).unwrap();
    let of_test = kit.get(&test, Operation::ListTags, None, &[]).unwrap();
    let of_live = kit.get(&live, Operation::ListTags, None, &[]).unwrap();
    assert_eq!(of_test[0]["id"], of_live[0]["id"], "the same tag");
    assert_eq!((&of_test[0]["count"], &of_live[0]["count"]), (&json!(1), &json!(0)));
    let inboxes = kit.get(&test, Operation::ListMailboxes, None, &[]).unwrap();
    assert_eq!((inboxes.as_array().unwrap().len(), &inboxes[0]["open"]), (1, &json!(1)));
}

#[test]
fn checks_come_in_order_and_nothing_happens_before_all_have_passed() {
    let mut kit = Kit::new();
    let reader = kit.key(NewKey::live("Reader", [Scope::Read]));
    kit.world.set_rate_limit(Some(2));
    let before = serde_json::to_value(&kit.world).unwrap();
    let note = |kit: &mut Kit, agent, body: Value| {
        kit.post(agent, Operation::AddNote, "cnv_nowhere", body).unwrap_err()
    };
    let live = kit.live.clone();

    kit.world.set_plan(Plan::Free);
    assert_eq!(note(&mut kit, &reader, json!({})).status, 403);
    kit.world.set_plan(Plan::Team);
    let scope = note(&mut kit, &reader, json!({}));
    assert!(scope.status == 403 && scope.message.contains("`write`"), "{scope}");
    assert_eq!(note(&mut kit, &live, json!({ "body": "" })).status, 400);
    assert_eq!(note(&mut kit, &live, json!({ "body": "Hi" })).status, 404);
    let slow_down = note(&mut kit, &live, json!({}));
    assert!(slow_down.status == 429 && slow_down.message.contains("2 a minute"), "{slow_down}");
    assert_eq!(serde_json::to_value(&kit.world).unwrap(), before, "nothing took effect");
    kit.advance(60);
    assert_eq!(note(&mut kit, &live, json!({ "body": "Hi" })).status, 404, "the minute has passed");
}

#[test]
fn sending_needs_its_own_scope_and_not_that_of_drafts() {
    let mut kit = Kit::new();
    let id = kit.mail("Hello");
    let sender = kit.key(NewKey::live("Sender", [Scope::Send]));
    let drafter = kit.key(NewKey::live("Drafter", [Scope::Draft]));
    let mut reply = |agent, send: Value| {
        let refused = kit.post(agent, Operation::Reply, &id, json!({ "body": "Hi", "send": send })).err();
        refused.map(|refusal: Refusal| {
            (refusal.status, refusal.message.contains("`send`"), refusal.message.contains("`draft`"))
        })
    };
    assert_eq!(reply(&sender, json!(true)), None);
    assert_eq!(reply(&sender, json!(false)), Some((403, false, true)));
    assert_eq!(reply(&drafter, json!(false)), None);
    assert_eq!(reply(&drafter, json!(true)), Some((403, true, false)));
    assert_eq!(reply(&drafter, json!("true")), Some((400, false, false)));
}

#[test]
fn read_comes_with_any_other_scope_and_a_key_without_any_may_do_nothing() {
    let mut kit = Kit::new();
    let recorder = kit.key(NewKey::live("Recorder", [Scope::Record, Scope::Write, Scope::Record]));
    let me = kit.get(&recorder, Operation::Me, None, &[]).unwrap();
    assert_eq!(me["scopes"], json!(["read", "write", "record"]));
    assert_eq!((&me["agent"]["name"], &me["livemode"]), (&json!("Recorder"), &json!(true)));
    let nobody = kit.key(NewKey::live("Nobody", []));
    let refusal = kit.get(&nobody, Operation::Me, None, &[]).unwrap_err();
    assert!(refusal.status == 403 && refusal.message.contains("`read`"), "{refusal}");
    let unknown = kit.world.create_key(NewKey::live("Odd", [Scope::from("admin")])).unwrap_err();
    assert!(unknown.status == 400 && unknown.message.starts_with("scopes[0]: "), "{unknown}");
}

#[test]
fn a_tool_names_its_conversation_and_every_problem_at_once() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let arguments = |value: Value| CallInput::Tool(value.as_object().unwrap().clone());
    let input = arguments(json!({ "status": "shut" }));
    let refusal = kit.world.call(&live, Operation::SetStatus, None, input, kit.now).unwrap_err();
    assert_eq!(refusal.message, "id: is required; status: must be one of open, waiting, closed");
    let id = kit.mail("Hello");
    let input = arguments(json!({ "id": id, "status": "closed" }));
    kit.world.call(&live, Operation::SetStatus, None, input, kit.now).unwrap();
    assert_eq!(kit.read(&live, &id)["status"], "closed");
}

#[test]
fn simulated_mail_is_limited_across_all_test_keys_and_refused_to_live_ones() {
    let mut kit = Kit::new();
    let (live, one) = (kit.live.clone(), kit.test.clone());
    let two = kit.key(NewKey::test("Second", Kit::all_scopes()));
    let body = json!({ "from": "kim@customer.test", "text": "Hello" });
    assert_eq!(kit.post(&live, Operation::SandboxInbound, "", body.clone()).unwrap_err().status, 403);
    kit.world.set_rate_limit(Some(120));
    for n in 0..120 {
        let agent = if n % 2 == 0 { &one } else { &two };
        kit.post(agent, Operation::SandboxInbound, "", body.clone()).unwrap();
    }
    assert_eq!(kit.post(&one, Operation::SandboxInbound, "", body.clone()).unwrap_err().status, 429);
    assert!(kit.get(&one, Operation::Me, None, &[]).is_ok(), "the key itself has requests left");
    kit.advance(60);
    assert!(kit.post(&one, Operation::SandboxInbound, "", body).is_ok());
}

#[test]
fn timeline_events_hold_what_was_done() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Hello");
    kit.post(&live, Operation::TagConversation, &id, json!({ "add": ["a", "a", "b"], "remove": ["zzz"] }))
        .unwrap();
    kit.post(&live, Operation::TagConversation, &id, json!({ "add": ["a"], "remove": ["b"] })).unwrap();
    kit.post(&live, Operation::TagConversation, &id, json!({ "add": ["a"] })).unwrap();
    kit.post(&live, Operation::AssignConversation, &id, json!({ "to": "me" })).unwrap();
    kit.post(&live, Operation::AssignConversation, &id, json!({ "to": "me" })).unwrap();
    kit.post(&live, Operation::AssignConversation, &id, json!({ "to": "none" })).unwrap();
    kit.post(&live, Operation::SetStatus, &id, json!({ "status": "closed" })).unwrap();
    kit.post(&live, Operation::SetStatus, &id, json!({ "status": "closed" })).unwrap();
    let read = kit.read(&live, &id);
    let events: Vec<Value> = read["timeline"].as_array().unwrap()[1..].to_vec();
    let event = |name: &str, data: Value| json!({ "type": "event", "at": kit.now, "actor": "Live agent", "event": name, "data": data });
    let me = json!({ "id": live, "name": "Live agent", "type": "agent" });
    assert_eq!(
        events,
        [
            event("tags", json!({ "added": ["a", "b"], "removed": [] })),
            event("tags", json!({ "added": [], "removed": ["b"] })),
            event("assigned", json!({ "assignee": me })),
            event("assigned", json!({ "assignee": null })),
            event("status", json!({ "from": "open", "to": "closed" })),
        ]
    );
    assert_eq!(read["tags"], json!(["a"]));
}
