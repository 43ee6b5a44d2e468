//! Random calls over HTTP, by four keys that see different things, by people and by customers; and what must hold
//! whatever they did: who sees what, counts that agree with lists, each mail out once, a closed conversation done, a
//! delivery log with every attempt, and a reset that brings the beginning back.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use shared_inbox::Scope;
use shared_inbox_mock::{
    CreateWebhook, MockServer, NewKey,
    world::{NewMailbox, NewUser},
};

use crate::{
    kit::{Api, Kit, text},
    webhooks::receiver::{Receiver, Reply},
};

const TEAM: &str = "help@acme.example";
const OWN: &str = "own@acme.example";
const SANDBOX: &str = "sandbox@acme.test";
/// What the callers see: a key for the team, one whose maker has a private inbox, one for the sandbox, one that may
/// only read.
const SEEN: [&[&str]; 4] = [&[TEAM], &[TEAM, OWN], &[SANDBOX], &[TEAM]];
const READER: usize = 3;
/// The webhooks, by what they hear of.
const HOOKS: [&str; 3] = [TEAM, OWN, SANDBOX];

/// Something that someone does. Numbers pick one of what is there.
#[derive(Debug, Clone)]
enum Step {
    Mail { own: bool, from: usize, answers: Option<usize>, file: bool },
    Simulated { magic: usize, on: Option<usize> },
    Call { who: usize, on: usize, what: usize, send: bool },
    Approve { message: usize },
    Stop { message: usize },
    Snooze { on: usize, seconds: u32 },
    Advance { seconds: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    let one = || 0..64usize;
    prop_oneof![
        4 => (any::<bool>(), one(), prop::option::of(one()), any::<bool>())
            .prop_map(|(own, from, answers, file)| Step::Mail { own, from, answers, file }),
        3 => (one(), prop::option::of(one())).prop_map(|(magic, on)| Step::Simulated { magic, on }),
        12 => (0..SEEN.len(), one(), one(), any::<bool>())
            .prop_map(|(who, on, what, send)| Step::Call { who, on, what, send }),
        2 => one().prop_map(|message| Step::Approve { message }),
        1 => one().prop_map(|message| Step::Stop { message }),
        1 => (one(), 1..20_000u32).prop_map(|(on, seconds)| Step::Snooze { on, seconds }),
        4 => prop_oneof![0..20u32, 0..700u32, 0..40_000u32].prop_map(|seconds| Step::Advance { seconds }),
    ]
}

/// What arrived at the receiver: the webhook, the event and its conversation, once for each try.
type DeliveredEvents = Arc<Mutex<Vec<(String, String, Value)>>>;

struct Run {
    kit: Kit,
    callers: Vec<Api>,
    hooks: Vec<String>,
    delivered: DeliveredEvents,
    beginning: Value,
    _receiver: Receiver,
}

/// The conversations of a world document, with the address of their inbox.
fn placed(state: &Value) -> Vec<(&Value, &str)> {
    let address = |id: &Value| {
        let inbox = state["mailboxes"].as_array().unwrap().iter().find(|inbox| inbox["id"] == *id);
        inbox.expect("an inbox")["address"].as_str().unwrap()
    };
    state["conversations"].as_array().unwrap().iter().map(|it| (it, address(&it["mailbox"]))).collect()
}

fn messages(state: &Value) -> Vec<&Value> {
    let all = state["conversations"].as_array().unwrap().iter();
    let items = all.flat_map(|it| it["timeline"].as_array().unwrap());
    items.filter(|item| item["type"] == "message").collect()
}

fn ids(list: &Value, field: &str) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|it| text(&it[field])).collect()
}

impl Run {
    async fn new() -> Self {
        let delivered = DeliveredEvents::default();
        let (events, mut number) = (Arc::clone(&delivered), 0);
        let receiver = Receiver::scripted(move |got| {
            let hook = got.path.trim_start_matches('/').to_owned();
            events.lock().unwrap().push((
                hook,
                got.id().to_owned(),
                got.json()["data"]["conversation_id"].clone(),
            ));
            number += 1;
            // So that there are retries.
            Reply::Status(if number % 3 == 0 { 500 } else { 200 })
        })
        .await;

        let first = MockServer::builder().manual_clock().empty().start().await;
        let control = first.control();
        let owner = control.create_user(NewUser::new("Owner")).await.unwrap().id;
        control.create_mailbox(NewMailbox::new(OWN, "Own").owner(owner.clone())).await.unwrap();
        let all = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];
        let mut keys = Vec::new();
        for new in [
            NewKey::live("Team", all.clone()),
            NewKey::live("Owner's", all.clone()).created_by(owner.clone()),
            NewKey::test("Test", all),
            NewKey::live("Reader", [Scope::Read]),
        ] {
            keys.push(control.create_key(new).await.unwrap().key);
        }
        let mut hooks = Vec::new();
        for place in HOOKS {
            let new = CreateWebhook::new(format!("http://{}/{place}", receiver.address()));
            let new = match place {
                OWN => new.private(owner.clone()),
                SANDBOX => new.test(),
                _ => new,
            };
            hooks.push(control.create_webhook(new).await.unwrap().id.to_string());
        }
        let document = control.state().await.unwrap();
        let kit = Kit::with(MockServer::builder().manual_clock().no_rate_limit().seed(&document)).await;
        let callers = keys.iter().map(|key| kit.api(key)).collect();
        let beginning = kit.look("/state").await;
        Self { kit, callers, hooks, delivered, beginning, _receiver: receiver }
    }

    /// One of the conversations, with its place.
    fn pick(state: &Value, number: usize) -> Option<(String, String)> {
        let all = placed(state);
        let (conversation, place) = all.get(number % all.len().max(1))?;
        Some((text(&conversation["id"]), (*place).to_owned()))
    }

    async fn take(&self, step: &Step) {
        let state = self.kit.look("/state").await;
        let message = |number: usize| {
            let all = messages(&state);
            all.get(number % all.len().max(1)).map(|message| text(&message["id"]))
        };
        match step {
            Step::Mail { own, from, answers, file } => {
                let to = if *own { OWN } else { TEAM };
                let mut mail = json!({
                    "to": to, "from": (["kim@example.com", "vera@example.com"][from % 2]), "text": "word and words",
                });
                if let Some(answered) = answers.and_then(message) {
                    mail["inReplyTo"] = json!(answered);
                }
                if *file {
                    mail["attachments"] =
                        json!([{ "filename": "a.pdf", "contentType": "application/pdf", "size": 1 }]);
                }
                let received = self.kit.act("/inbound", mail).await;
                let state = self.kit.look("/state").await;
                let all = placed(&state);
                let (_, place) = all.iter().find(|(it, _)| it["id"] == received["conversationId"]).unwrap();
                assert_eq!(*place, to, "mail stays in the inbox that it was written to");
            }
            Step::Simulated { magic, on } => {
                let local = ["delivered", "bounce", "complaint", "reply", "docs", "ooo"][magic % 6];
                let mut body =
                    json!({ "from": format!("{local}@any.test"), "text": "word from the sandbox" });
                let on = on.and_then(|number| Self::pick(&state, number));
                if let Some((id, _)) = &on {
                    body["conversationId"] = json!(id);
                }
                let reply = self.callers[2].post("/sandbox/inbound", body).await;
                let there = on.is_none_or(|(_, place)| place == SANDBOX);
                reply.expect(if there { 201 } else { 404 });
            }
            Step::Call { who, on, what, send } => {
                let Some((id, place)) = Self::pick(&state, *on) else { return };
                let documents = json!([{ "label": "One" }, { "label": "Two", "required": false }]);
                let (path, body) = match what % 7 {
                    0 => ("notes", json!({ "body": "a note" })),
                    1 => ("status", json!({ "status": (["open", "waiting", "closed"][what / 7 % 3]) })),
                    2 => ("status", json!({ "status": "closed" })),
                    3 => ("tags", json!({ "add": [(["red", "blue"][what / 7 % 2])], "remove": ["green"] })),
                    4 => ("assign", json!({ "to": (["me", "none"][what / 7 % 2]) })),
                    5 => ("document-requests", json!({ "documents": documents, "send": send })),
                    _ => ("replies", json!({ "body": "an answer", "send": send })),
                };
                let path = format!("/conversations/{id}/{path}");
                let refused = match *who {
                    READER => 403,
                    who if !SEEN[who].contains(&place.as_str()) => 404,
                    who => {
                        let reply = self.callers[who].post(&path, body).await;
                        assert!((200..300).contains(&reply.status), "{reply:?}");
                        return;
                    }
                };
                // So that no webhook try ends in between.
                self.kit.advance(0).await;
                let before = self.kit.look("/state").await;
                self.callers[*who].post(&path, body).await.error(refused);
                assert!(self.kit.look("/state").await == before, "a refused call changes nothing: {step:?}");
            }
            Step::Approve { message: number } => {
                let Some(id) = message(*number) else { return };
                let reply = self.kit.control("POST", &format!("/messages/{id}/approve"), json!({})).await;
                assert!([200, 409].contains(&reply.status), "{reply:?}");
            }
            Step::Stop { message: number } => {
                let Some(id) = message(*number) else { return };
                let reply = self.kit.control("POST", &format!("/messages/{id}/stop"), json!({})).await;
                assert!([200, 409].contains(&reply.status), "{reply:?}");
            }
            Step::Snooze { on, seconds } => {
                let Some((id, _)) = Self::pick(&state, *on) else { return };
                let now: shared_inbox::Timestamp = text(&state["now"]).parse().unwrap();
                let until = now + std::time::Duration::from_secs(u64::from(*seconds));
                self.kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": until })).await;
            }
            Step::Advance { seconds } => drop(self.kit.advance(u64::from(*seconds)).await),
        }
    }

    async fn check(&self) {
        // Until every webhook try that is due has been made.
        self.kit.advance(0).await;
        let state = self.kit.look("/state").await;
        let all = placed(&state);
        for (caller, seen) in self.callers.iter().zip(SEEN) {
            self.check_caller(caller, seen, &state, &all).await;
        }
        for (conversation, _) in &all {
            let closed = conversation["status"] == "closed";
            assert_eq!(
                closed,
                conversation["turn"] == "done",
                "a closed conversation is done: {conversation}"
            );
        }
        self.check_mail(&state).await;
        self.check_webhooks(&all).await;
    }

    /// A caller sees all of its places and nothing else, and what it counts is what it lists.
    async fn check_caller(&self, caller: &Api, seen: &[&str], state: &Value, all: &[(&Value, &str)]) {
        let (mine, others): (Vec<_>, Vec<_>) = all.iter().partition(|(_, place)| seen.contains(place));
        let mine_ids: BTreeSet<String> = mine.iter().map(|(it, _)| text(&it["id"])).collect();
        let mut listed = BTreeMap::new();
        for view in ["open", "waiting", "closed", "snoozed"] {
            for id in caller.listed(&format!("?view={view}&limit=100")).await {
                assert!(listed.insert(id, view).is_none(), "in one view only");
            }
        }
        assert_eq!(listed.keys().cloned().collect::<BTreeSet<_>>(), mine_ids);
        for (hidden, _) in others {
            caller.get(&format!("/conversations/{}", text(&hidden["id"]))).await.error(404);
        }
        let inboxes = caller.get("/mailboxes").await.expect(200);
        assert_eq!(ids(&inboxes, "address"), seen.iter().map(|it| (*it).to_owned()).collect());
        for inbox in inboxes.as_array().unwrap() {
            let open = mine.iter().filter(|(it, _)| {
                it["mailbox"] == inbox["id"] && listed[it["id"].as_str().unwrap()] == "open"
            });
            assert_eq!(inbox["open"], open.count(), "{inbox}");
        }
        for tag in caller.get("/tags").await.expect(200).as_array().unwrap() {
            let tagged = mine.iter().filter(|(it, _)| it["tags"].as_array().unwrap().contains(&tag["name"]));
            assert_eq!(tag["count"], tagged.count(), "{tag}");
        }
        let documents = caller.get("/documents?limit=100").await.expect(200);
        let filed = state["documents"].as_array().unwrap().iter().map(|it| text(&it["document"]["id"]));
        let conversation = |it: &Value| text(&it["document"]["conversationId"]);
        let filed = filed.zip(state["documents"].as_array().unwrap().iter().map(conversation));
        let expected: BTreeSet<String> =
            filed.filter(|(_, on)| mine_ids.contains(on)).map(|(id, _)| id).collect();
        assert_eq!(ids(&documents, "id"), expected);
    }

    /// Every mail went out once, and only what was to.
    async fn check_mail(&self, state: &Value) {
        let outbox = self.kit.look("/outbox").await;
        let mut left = BTreeMap::new();
        for mail in outbox.as_array().unwrap().iter().filter(|mail| !mail["messageId"].is_null()) {
            assert!(left.insert(text(&mail["messageId"]), text(&mail["outcome"])).is_none(), "twice: {mail}");
        }
        for message in messages(state) {
            let outcome = left.remove(message["id"].as_str().unwrap());
            let status = message["status"].as_str();
            assert_eq!(outcome.as_deref(), status.filter(|it| ["sent", "failed"].contains(it)), "{message}");
        }
        assert!(left.is_empty(), "every mail belongs to a message: {left:?}");
        let waiting = ids(&self.kit.look("/approvals").await, "messageId");
        let drafts = messages(state).into_iter().filter(|message| message["status"] == "draft");
        assert_eq!(waiting, drafts.map(|message| text(&message["id"])).collect());
    }

    /// The log has every try that arrived, and no webhook was told of a place that is not its own.
    async fn check_webhooks(&self, all: &[(&Value, &str)]) {
        let delivered = self.delivered.lock().unwrap().clone();
        let mut tries = BTreeMap::<(String, String), usize>::new();
        for (hook, event, conversation) in &delivered {
            *tries.entry((hook.clone(), event.clone())).or_default() += 1;
            let (_, place) = all.iter().find(|(it, _)| it["id"] == *conversation).expect("a conversation");
            assert_eq!(*place, hook.as_str(), "{event} was about a place that this webhook does not hear of");
        }
        for (place, id) in HOOKS.into_iter().zip(&self.hooks) {
            let log = self.kit.look(&format!("/webhooks/{id}/deliveries")).await;
            for delivery in log.as_array().unwrap() {
                let event = (place.to_owned(), text(&delivery["eventId"]));
                let logged = delivery["attempts"].as_array().unwrap().len();
                assert_eq!(tries.remove(&event).unwrap_or(0), logged, "{delivery}");
            }
        }
        assert!(tries.is_empty(), "these tries are not in the log: {tries:?}");
    }
}

#[test]
fn what_must_always_hold_holds_whoever_calls() {
    let config = Config { cases: 3, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mails = AtomicUsize::new(0);
    let held = runner.run(&prop::collection::vec(step(), 10..32), |steps| {
        runtime.block_on(async {
            let run = Run::new().await;
            for (number, step) in steps.iter().enumerate() {
                run.take(step).await;
                // What is wrong stays wrong: a look now and then finds it, and takes a fraction of the time.
                if number % 6 == 5 || number + 1 == steps.len() {
                    run.check().await;
                }
            }
            // What was sent last leaves too.
            run.kit.advance(600).await;
            run.check().await;
            mails.fetch_add(run.kit.list("/outbox").await.len(), Ordering::Relaxed);
            run.kit.act("/reset", json!({})).await;
            assert!(run.kit.look("/state").await == run.beginning, "a reset brings the beginning back");
        });
        Ok(())
    });
    held.unwrap();
    assert!(mails.into_inner() > 0, "mails went out that could be looked at");
}
