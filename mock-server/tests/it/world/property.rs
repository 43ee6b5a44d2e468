//! Random operations and clock steps; after each, everything that must always hold is checked.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use shared_inbox::{__spec::Operation, AgentId, Scope, Timestamp};
use shared_inbox_mock::{
    Approval, InboundMail, NewKey,
    world::{Assignment, NewMailbox, NewUser, Snooze, StopMessage, Upload, World},
};

use super::kit::{Kit, restore_world};

/// Something that someone does. Numbers pick one of what is there.
#[derive(Debug, Clone)]
enum Step {
    Mail { private: bool, tagged: bool, joins: Option<usize>, attachment: bool },
    Simulated { magic: usize, joins: Option<usize> },
    Note { on: usize },
    Status { on: usize, status: usize },
    Tag { on: usize, add: usize, remove: usize },
    Assign { on: usize, to: usize },
    Reply { on: usize, send: bool, documents: bool },
    Approve { message: usize, edited: bool },
    Stop { message: usize },
    Snooze { on: usize, seconds: Option<u32> },
    Upload { request: usize, item: usize },
    Record { number: usize, test: bool },
    Advance { seconds: u32 },
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    let one = || 0..64usize;
    prop_oneof![
        3 => (any::<bool>(), any::<bool>(), prop::option::of(one()), any::<bool>())
            .prop_map(|(private, tagged, joins, attachment)| Step::Mail { private, tagged, joins, attachment }),
        3 => (one(), prop::option::of(one())).prop_map(|(magic, joins)| Step::Simulated { magic, joins }),
        1 => one().prop_map(|on| Step::Note { on }),
        2 => (one(), one()).prop_map(|(on, status)| Step::Status { on, status }),
        2 => (one(), one(), one()).prop_map(|(on, add, remove)| Step::Tag { on, add, remove }),
        1 => (one(), one()).prop_map(|(on, to)| Step::Assign { on, to }),
        4 => (one(), any::<bool>(), any::<bool>())
            .prop_map(|(on, send, documents)| Step::Reply { on, send, documents }),
        1 => (one(), any::<bool>()).prop_map(|(message, edited)| Step::Approve { message, edited }),
        1 => one().prop_map(|message| Step::Stop { message }),
        2 => (one(), prop::option::of(1..200_000u32)).prop_map(|(on, seconds)| Step::Snooze { on, seconds }),
        2 => (one(), 0..2usize).prop_map(|(request, item)| Step::Upload { request, item }),
        1 => (0..3usize, any::<bool>()).prop_map(|(number, test)| Step::Record { number, test }),
        4 => prop_oneof![0..20u32, 0..700u32, 0..400_000u32].prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::Restore),
    ]
}

/// Where a conversation is, as the test keeps its own books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Team,
    Private,
    Sandbox,
}

struct Run {
    kit: Kit,
    owner: AgentId,
    there: BTreeMap<String, Place>,
    /// In the order in which they were made.
    ids: Vec<String>,
    messages: Vec<String>,
    requests: Vec<String>,
}

const TAGS: [&str; 3] = ["red", "green", "blue"];

impl Run {
    fn new() -> Self {
        let mut kit = Kit::new();
        let user = kit.world.create_user(NewUser::new("Owner")).unwrap().id;
        kit.world.create_mailbox(NewMailbox::new("own@acme.example", "Own").owner(user.clone())).unwrap();
        let scopes = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];
        let owner = kit.key(NewKey::live("Owner's agent", scopes).created_by(user));
        let (there, ids) = (BTreeMap::new(), Vec::new());
        Self { kit, owner, there, ids, messages: Vec::new(), requests: Vec::new() }
    }

    fn pick(list: &[String], number: usize) -> Option<String> {
        list.get(number % list.len().max(1)).cloned()
    }

    /// A conversation and an agent that sees it.
    fn on(&self, number: usize) -> Option<(String, AgentId)> {
        let id = Self::pick(&self.ids, number)?;
        let agent = match self.there[&id] {
            Place::Team => self.kit.live.clone(),
            Place::Private => self.owner.clone(),
            Place::Sandbox => self.kit.test.clone(),
        };
        Some((id, agent))
    }

    fn add(&mut self, id: String, place: Place) {
        if self.there.insert(id.clone(), place).is_none() {
            self.ids.push(id);
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Mail { private, tagged, joins, attachment } => {
                let to = match (private, tagged) {
                    (true, _) => "own@acme.example",
                    (false, true) => "help+ref-1@acme.example",
                    (false, false) => "help@acme.example",
                };
                let mut mail = InboundMail::new(to, "kim@example.com", "word and wider words");
                let joined = joins.and_then(|number| self.on(number));
                if *attachment {
                    let file = json!([{ "filename": "a.pdf", "contentType": "application/pdf", "size": 1 }]);
                    mail.attachments = serde_json::from_value(file).unwrap();
                }
                let place = if *private { Place::Private } else { Place::Team };
                if let Some((id, _)) = joined {
                    mail.conversation_id = Some(id.clone());
                    let result = self.kit.world.inbound(mail, self.kit.now);
                    // Mail joins within its inbox only, and live mail never reaches the sandbox.
                    assert_eq!(result.is_ok(), self.there[&id] == place);
                } else {
                    let received = self.kit.inbound(mail);
                    self.add(received.conversation_id.to_string(), place);
                }
            }
            Step::Simulated { magic, joins } => {
                let local = ["delivered", "bounce", "complaint", "reply", "docs", "ooo"][magic % 6];
                let mut body =
                    json!({ "from": format!("{local}+x@any.test"), "text": "word from the sandbox" });
                let joined = joins.and_then(|number| Self::pick(&self.ids, number));
                if let Some(id) = &joined {
                    body["conversationId"] = json!(id);
                }
                let test = self.kit.test.clone();
                let result = self.kit.post(&test, Operation::SandboxInbound, "", body);
                match joined {
                    Some(id) => assert_eq!(result.is_ok(), self.there[&id] == Place::Sandbox),
                    None => {
                        let id = result.unwrap()["conversationId"].as_str().unwrap().to_owned();
                        self.add(id, Place::Sandbox);
                    }
                }
            }
            Step::Note { on } => self.call(*on, Operation::AddNote, json!({ "body": "a note" })),
            Step::Status { on, status } => {
                let status = ["open", "waiting", "closed"][status % 3];
                self.call(*on, Operation::SetStatus, json!({ "status": status }));
            }
            Step::Tag { on, add, remove } => {
                let body = json!({ "add": [TAGS[add % 3]], "remove": [TAGS[remove % 3]] });
                self.call(*on, Operation::TagConversation, body);
            }
            Step::Assign { on, to } => {
                if to % 3 == 0 {
                    let Some((id, _)) = self.on(*on) else { return };
                    let to = Assignment::new("me".parse().unwrap());
                    let result = self.kit.world.assign_by_person(&id, to, self.kit.now);
                    let seen = self.there[&id] != Place::Sandbox;
                    assert_eq!(result.is_ok(), seen, "people do not see the sandbox");
                } else {
                    let to = if to % 3 == 1 { "me" } else { "none" };
                    self.call(*on, Operation::AssignConversation, json!({ "to": to }));
                }
            }
            Step::Reply { on, send, documents } => {
                let Some((id, agent)) = self.on(*on) else { return };
                let mut body = json!({ "body": "an answer", "send": send });
                if *documents {
                    body["documents"] = json!([{ "label": "One" }, { "label": "Two", "required": false }]);
                }
                let result = self.kit.post(&agent, Operation::Reply, &id, body).unwrap();
                self.messages.push(result["messageId"].as_str().unwrap().to_owned());
                if let Some(request) = result.get("requestId").and_then(Value::as_str) {
                    self.requests.push(request.to_owned());
                }
            }
            Step::Approve { message, edited } => {
                let Some(id) = Self::pick(&self.messages, *message) else { return };
                let approval = if *edited { Approval::new().body("edited words") } else { Approval::new() };
                let _ = self.kit.world.approve(&id, approval, self.kit.now);
            }
            Step::Stop { message } => {
                let Some(id) = Self::pick(&self.messages, *message) else { return };
                let _ = self.kit.world.stop(&id, StopMessage::default(), self.kit.now);
            }
            Step::Snooze { on, seconds } => {
                let Some((id, _)) = self.on(*on) else { return };
                let until =
                    seconds.map(|s| Timestamp::from_millis(self.kit.now.as_millis() + 1_000 * i64::from(s)));
                self.kit.world.snooze(&id, Snooze::new(until), self.kit.now).unwrap();
            }
            Step::Upload { request, item } => {
                let Some(id) = Self::pick(&self.requests, *request) else { return };
                let _ = self.kit.world.upload(&id, Upload::new(*item, "scan.png"), self.kit.now);
            }
            Step::Record { number, test } => {
                let body = json!({
                    "messageId": format!("m{number}-{test}@app"), "reference": "ref-1", "to": ["kim@example.com"], "subject": "s",
                });
                let agent = if *test { self.kit.test.clone() } else { self.kit.live.clone() };
                self.kit.post(&agent, Operation::RecordSent, "", body).unwrap();
            }
            Step::Advance { seconds } => self.advance(*seconds),
            Step::Restore => {
                self.kit.world = restore_world(&document(&self.kit.world));
                self.kit.world.set_rate_limit(None);
            }
        }
    }

    fn call(&mut self, on: usize, op: Operation, body: Value) {
        if let Some((id, agent)) = self.on(on) {
            let stranger = if agent == self.kit.test { self.kit.live.clone() } else { self.kit.test.clone() };
            let before = document(&self.kit.world);
            let refusal = self.kit.post(&stranger, op, &id, body.clone()).unwrap_err();
            assert_eq!((refusal.status, document(&self.kit.world)), (404, before), "nothing happened");
            self.kit.post(&agent, op, &id, body).unwrap();
        }
    }

    /// Every job that is due runs, once and at its time; no other does.
    fn advance(&mut self, seconds: u32) {
        let until = Timestamp::from_millis(self.kit.now.as_millis() + 1_000 * i64::from(seconds));
        let mut last = self.kit.now;
        loop {
            // What is due first is what must run next; what a job puts in comes into the list before the next
            // look.
            let next = self.kit.world.jobs().into_iter().next().filter(|job| job.due_at <= until);
            let fired = self.kit.world.run_due(until);
            match (next, fired) {
                (None, None) => break,
                (Some(next), Some(fired)) => {
                    assert_eq!((next.due_at, &next.job), (fired.job().at, &fired.job().job));
                    assert!(fired.job().at >= last, "time goes forward");
                    last = fired.job().at;
                }
                (next, fired) => panic!("due: {next:?}, ran: {fired:?}"),
            }
        }
        self.kit.now = until;
    }

    fn check(&mut self) {
        let document = document(&self.kit.world);
        assert_eq!(
            self::document(&restore_world(&document)),
            document,
            "snapshot then restore is the identity"
        );
        self.check_jobs(&document);
        self.check_mail(&document);
        for it in document["conversations"].as_array().unwrap() {
            assert_eq!(it["status"] == "closed", it["turn"] == "done", "a closed conversation is done: {it}");
        }
        let (live, owner, test) = (self.kit.live.clone(), self.owner.clone(), self.kit.test.clone());
        self.check_key(&live, &[Place::Team]);
        self.check_key(&owner, &[Place::Team, Place::Private]);
        self.check_key(&test, &[Place::Sandbox]);
    }

    /// Every mail went out once, and only what was to; every draft waits.
    fn check_mail(&self, document: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut left = BTreeMap::new();
        let outbox = document["outbox"].as_array().unwrap();
        for mail in outbox.iter().filter(|mail| !mail["messageId"].is_null()) {
            assert!(left.insert(text(&mail["messageId"]), text(&mail["outcome"])).is_none(), "twice: {mail}");
        }
        let conversations = document["conversations"].as_array().unwrap();
        let items = conversations.iter().flat_map(|it| it["timeline"].as_array().unwrap());
        let mut drafts = BTreeSet::new();
        for message in items.filter(|item| item["type"] == "message") {
            let (id, status) = (text(&message["id"]), message["status"].as_str());
            let outcome = left.remove(&id);
            assert_eq!(outcome.as_deref(), status.filter(|it| ["sent", "failed"].contains(it)), "{message}");
            drafts.extend((status == Some("draft")).then_some(id));
        }
        assert!(left.is_empty(), "every mail belongs to a message: {left:?}");
        let waiting = self.kit.world.approvals().into_iter().map(|draft| draft.message_id.to_string());
        assert_eq!(waiting.collect::<BTreeSet<_>>(), drafts);
    }

    /// What is to come is in the queue, and nothing else is.
    fn check_jobs(&self, document: &Value) {
        let mut expected = BTreeSet::new();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        for conversation in document["conversations"].as_array().unwrap() {
            if !conversation["snoozedUntil"].is_null() {
                let until = text(&conversation["snoozedUntil"]);
                expected.insert((until, "wake".to_owned(), text(&conversation["id"])));
            }
            for item in conversation["timeline"].as_array().unwrap() {
                if item["status"] == "scheduled" {
                    expected.insert((text(&item["sendsAt"]), "send".to_owned(), text(&item["id"])));
                }
                assert!(item["status"] != "sending", "nothing is on its way for longer than an instant");
            }
        }
        for mail in
            document["appMail"].as_array().unwrap().iter().filter(|mail| mail["conversation"].is_null())
        {
            let at: Timestamp = text(&mail["recordedAt"]).parse().unwrap();
            let due = at + shared_inbox::__spec::limits::APP_MAIL_KEPT;
            expected.insert((due.to_string(), "forget-app-mail".to_owned(), text(&mail["messageId"])));
        }
        for request in document["documentRequests"].as_array().unwrap() {
            let Some(sent) = request["sentAt"].as_str().filter(|_| request["completedAt"].is_null()) else {
                continue;
            };
            let sent: Timestamp = sent.parse().unwrap();
            for after in shared_inbox::__spec::limits::REMINDERS
                .into_iter()
                .filter(|after| sent + *after > self.kit.now)
            {
                expected.insert(((sent + after).to_string(), "reminder".to_owned(), text(&request["id"])));
            }
        }
        let jobs = self.kit.world.jobs();
        assert!(jobs.iter().all(|job| job.due_at > self.kit.now), "nothing is overdue");
        let answers = jobs.iter().filter(|job| job.job == "sandbox-reply").count();
        let queued: BTreeSet<_> = jobs
            .iter()
            .filter(|job| job.job != "sandbox-reply")
            .map(|job| (job.due_at.to_string(), job.job.clone(), job.subject.clone()))
            .collect();
        assert_eq!(queued, expected);
        assert_eq!(queued.len() + answers, jobs.len(), "none is there twice");
    }

    /// Every way to narrow a list, against a look at every conversation that the key can see.
    fn check_lists(&mut self, agent: &AgentId, seen: &BTreeSet<String>) {
        let all: Vec<(usize, Value)> = (self.ids.clone().iter().enumerate())
            .filter(|(_, id)| seen.contains(*id))
            .map(|(number, id)| (number, self.kit.read(agent, id)))
            .collect();
        let mailboxes = self.kit.get(agent, Operation::ListMailboxes, None, &[]).unwrap();
        let address = |id: &str| {
            mailboxes.as_array().unwrap().iter().find(|it| it["id"] == id).unwrap()["address"].clone()
        };
        let ids = mailboxes.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned());
        let inboxes: Vec<String> = ids.collect();
        let views = [None, Some("open"), Some("waiting"), Some("closed"), Some("snoozed"), Some("all")];
        // Each view with each of the others in turn, and all of them together.
        let mut ways: Vec<[Option<&str>; 4]> = Vec::new();
        for view in views {
            ways.extend([None, Some("me"), Some("unassigned")].map(|assigned| [view, assigned, None, None]));
            ways.extend(["word", "edited", "an ans", "reminder"].map(|q| [view, None, Some(q), None]));
            ways.extend(inboxes.iter().map(|inbox| [view, None, None, Some(inbox.as_str())]));
            ways.push([view, Some("unassigned"), Some("word"), Some(&inboxes[0])]);
        }
        for way @ [view, assigned, q, inbox] in ways {
            let names = ["view", "assigned", "q", "mailbox"];
            let mut query: Vec<_> =
                names.into_iter().zip(way).filter_map(|(name, value)| Some((name, value?))).collect();
            query.push(("limit", "100"));
            if view == Some("all") {
                query.push(("reference", "ref-1"));
            }
            let fits = |it: &Value| {
                let snoozed = !it["snoozedUntil"].is_null();
                let there = if snoozed { "snoozed" } else { it["status"].as_str().unwrap() };
                let viewed = match view {
                    Some("all") => it["reference"] == "ref-1",
                    view => view.unwrap_or("open") == there,
                };
                let whose = match assigned {
                    None => true,
                    Some("me") => it["assignee"]["id"] == agent.as_str(),
                    Some(_) => it["assignee"].is_null(),
                };
                viewed
                    && whose
                    && inbox.is_none_or(|id| it["mailbox"] == address(id))
                    && q.is_none_or(|q| has_words(it, q))
            };
            let mut expected: Vec<&(usize, Value)> = all.iter().filter(|(_, it)| fits(it)).collect();
            // Of two at the same time, the later made comes first.
            expected.sort_by_key(|(number, it)| {
                std::cmp::Reverse((it["lastMessageAt"].as_str().unwrap().to_owned(), *number))
            });
            let expected: Vec<&str> = expected.iter().map(|(_, it)| it["id"].as_str().unwrap()).collect();
            assert_eq!(self.kit.ids(agent, &query), expected, "{query:?}");
            // So few that a word of most conversations is walked to and not looked up.
            query.retain(|(name, _)| *name != "limit");
            query.push(("limit", "2"));
            assert_eq!(self.kit.ids(agent, &query), expected[..expected.len().min(2)], "{query:?}");
        }
    }

    /// What one key sees: all of its places, nothing of the others, and lists that agree with reads.
    fn check_key(&mut self, agent: &AgentId, places: &[Place]) {
        let mut seen = BTreeSet::new();
        let mut open = BTreeMap::<String, u64>::new();
        let mut tags = BTreeMap::<String, u64>::new();
        for view in ["open", "waiting", "closed", "snoozed"] {
            let list = self.kit.list(agent, &[("view", view), ("limit", "100")]);
            let times: Vec<_> =
                list.iter().map(|s| s["lastMessageAt"].as_str().unwrap().to_owned()).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "newest first");
            for summary in list {
                let id = summary["id"].as_str().unwrap().to_owned();
                let read = self.kit.read(agent, &id);
                agree(&summary, &read, view);
                if view == "open" {
                    *open.entry(read["mailbox"].as_str().unwrap().to_owned()).or_default() += 1;
                }
                for tag in read["tags"].as_array().unwrap() {
                    *tags.entry(tag.as_str().unwrap().to_owned()).or_default() += 1;
                }
                assert!(seen.insert(id), "in one view only");
            }
        }
        let belongs: BTreeSet<_> =
            self.there.iter().filter(|(_, place)| places.contains(place)).map(|(id, _)| id.clone()).collect();
        assert_eq!(seen, belongs);
        for id in self.there.keys().filter(|id| !belongs.contains(*id)).cloned().collect::<Vec<_>>() {
            let refusal = self.kit.get(agent, Operation::GetConversation, Some(&id), &[]).unwrap_err();
            assert_eq!(refusal.status, 404);
        }
        for mailbox in self.kit.get(agent, Operation::ListMailboxes, None, &[]).unwrap().as_array().unwrap() {
            let counted = open.remove(mailbox["address"].as_str().unwrap()).unwrap_or(0);
            assert_eq!(mailbox["open"], counted);
        }
        assert!(open.is_empty(), "no conversation is in an inbox that the key does not see");
        for tag in self.kit.get(agent, Operation::ListTags, None, &[]).unwrap().as_array().unwrap() {
            assert_eq!(tag["count"], tags.remove(tag["name"].as_str().unwrap()).unwrap_or(0));
        }
        assert!(tags.is_empty());
        self.check_lists(agent, &belongs);
        for document in
            self.kit.get(agent, Operation::SearchDocuments, None, &[]).unwrap().as_array().unwrap()
        {
            assert!(belongs.contains(document["conversationId"].as_str().unwrap()));
        }
    }
}

/// Whether every word of the query begins a word of the subject or of a message.
fn has_words(conversation: &Value, query: &str) -> bool {
    let messages = conversation["timeline"].as_array().unwrap().iter().filter(|it| it["type"] == "message");
    let mut text = conversation["subject"].as_str().unwrap().to_lowercase();
    messages.for_each(|it| text.push_str(&format!(" {}", it["text"].as_str().unwrap().to_lowercase())));
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    query.split(' ').all(|wanted| words.iter().any(|word| word.starts_with(wanted)))
}

/// A list item and a read tell the same of a conversation.
fn agree(summary: &Value, read: &Value, view: &str) {
    let fields = "id subject status contact lastMessageAt assignee tags topic urgency risk";
    for field in fields.split(' ') {
        assert_eq!(summary[field], read[field], "{field}");
    }
    assert_eq!(summary.get("reference"), read.get("reference"));
    let timeline = read["timeline"].as_array().unwrap();
    let messages: Vec<_> = timeline.iter().filter(|item| item["type"] == "message").collect();
    assert_eq!(summary["messageCount"], messages.len());
    let last = messages.last().unwrap();
    assert_eq!(last["at"], read["lastMessageAt"]);
    assert!(last["text"].as_str().unwrap().starts_with(summary["snippet"].as_str().unwrap()));
    assert!(timeline.is_sorted_by_key(|item| item["at"].as_str().unwrap().to_owned()), "oldest first");
    let snoozed = !read["snoozedUntil"].is_null();
    assert_eq!(view, if snoozed { "snoozed" } else { read["status"].as_str().unwrap() });
}

fn document(world: &World) -> Value {
    serde_json::to_value(world).unwrap()
}

/// A case takes much longer than other properties do: a fortieth of `PROPTEST_CASES`.
#[test]
fn what_must_always_hold_holds_after_every_step() {
    let every = ProptestConfig::default();
    let config = ProptestConfig { cases: every.cases / 40, failure_persistence: None, ..every };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..40))| {
        let mut run = Run::new();
        for step in &steps {
            run.take(step);
            run.check();
        }
    });
}
