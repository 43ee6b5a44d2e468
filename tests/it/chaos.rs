//! Every operation of the client against a service that fails at random, in every way the mock knows: answers
//! are lost and quote what they were sent, reads are stale, people change what was just made, the key is
//! renamed, the rate limit and the service hold a resend up. What the mock would never do is in the client's
//! own tests, at a service that is not ours.
//!
//! Whatever happens: a create happened exactly once, or the error says so; nothing is claimed that is not so;
//! the limit of requests was kept; nothing hung. A run is told by its seed: `CHAOS_SEED=7 CHAOS_CALLS=5000
//! cargo test -p shared-inbox-tests chaos` plays another one, and the same one again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{sync::Arc, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use shared_inbox::{
    __spec::Operation, AssignTo, Certainty, Client, ConversationId, Error, Reference, Scope, Status,
    create::Lookup, http::Method, input::DocumentItem,
};
use shared_inbox_mock::{Approval, Control, Effect, FaultRule, InboundMail, MockServer, NewKey};

use crate::shared_clock::{SharedClock, client};

/// A fault of any kind, for one request or several in a row.
fn fault(rng: &mut StdRng) -> FaultRule {
    let effect = match rng.random_range(0..10) {
        0 => Effect::status(500),
        1 => Effect::status(503),
        2 => Effect::status_after(500),
        3 => Effect::status_after(502),
        4 => Effect::drop_before(),
        5 => Effect::drop_after(),
        6 => Effect::truncate(rng.random_range(0..40)),
        7 => Effect::body("<html>Bad gateway</html>"),
        8 => Effect::status_after(503).header("retry-after", "25"),
        _ => Effect::delay(Duration::from_millis(2)),
    };
    let effect = if rng.random_bool(0.1) { effect.delayed(Duration::from_millis(2)) } else { effect };
    let rule = FaultRule::new(effect).times(rng.random_range(1..5)).skip(rng.random_range(0..3));
    match rng.random_range(0..3) {
        0 => rule.method("POST"),
        1 => rule.method("GET"),
        _ => rule,
    }
}

/// How often `text` stands in the conversation, as someone sees it who has no faults to fear.
async fn count(observer: &Client, conversation: &ConversationId, text: &str) -> usize {
    let conversation = observer.conversation(conversation).get().await.expect("no fault is left");
    let says = |item: &&shared_inbox::TimelineItem| {
        item.as_note().is_some_and(|note| note.body == text)
            || item.as_message().is_some_and(|message| message.text.to_lowercase().contains(text))
    };
    conversation.timeline.iter().filter(says).count()
}

#[derive(Default, Debug)]
struct Tally {
    calls: usize,
    done: usize,
    recovered: usize,
    refused: usize,
    unknown: usize,
    /// Of these, still not clear at a later look.
    unclear: usize,
    /// Drafts that a person changed and approved as soon as they were there.
    meddled: usize,
}

struct Chaos {
    mock: MockServer,
    live: Client,
    test: Client,
    watcher: Client,
    watcher_key: String,
    live_agent: String,
    test_watcher: Client,
    conversation: ConversationId,
    sandbox: ConversationId,
    rng: StdRng,
    tally: Tally,
}

impl Chaos {
    async fn start(seed: u64) -> Self {
        let mock = MockServer::builder().manual_clock().start().await;
        let clock = Arc::new(SharedClock::with(&mock));
        let test = client(&mock, mock.test_key(), &clock);
        // With a limit that holds calls up.
        let live = Client::builder(mock.base_url(), mock.live_key()).clock(clock.clone());
        let live = live.rate_limit(30).deadline(Duration::from_secs(600)).build().unwrap();
        let (mut watchers, mut keys) = (Vec::new(), Vec::new());
        for key in [NewKey::live("Watcher", [Scope::Read]), NewKey::test("Watcher", [Scope::Read])] {
            let key = mock.control().create_key(key).await.unwrap().key;
            watchers.push(client(&mock, &key, &clock));
            keys.push(key);
        }
        let live_agent = format!("agent:{}", live.me().await.unwrap().agent.id);
        let test_watcher = watchers.pop().unwrap();
        let watcher = watchers.pop().unwrap();
        let inbox = live.mailboxes().await.unwrap().remove(0).address;
        let mail = InboundMail::new(inbox, "kim@example.com", "Where is my order?");
        let conversation = mock.control().inbound(mail).await.unwrap().conversation_id;
        let sandbox = test.sandbox_inbound("delivered@customer.test", "Hello").await.unwrap().conversation_id;
        let rng = StdRng::seed_from_u64(seed);
        let (watcher_key, tally) = (keys.remove(0), Tally::default());
        Self {
            mock,
            live,
            test,
            watcher,
            watcher_key,
            live_agent,
            test_watcher,
            conversation,
            sandbox,
            rng,
            tally,
        }
    }

    async fn step(&mut self, operation: Operation, n: usize) {
        self.tally.calls += 1;
        // A conversation that grows without end would only make each read slower.
        if n.is_multiple_of(50) {
            let mail = InboundMail::new("help@acme.example", "kim@example.com", "And another question");
            self.conversation = self.mock.control().inbound(mail).await.unwrap().conversation_id;
        }
        if self.rng.random_bool(0.02) {
            self.rename().await;
        }
        if self.rng.random_bool(0.05) {
            self.echo(n).await;
        }
        for _ in 0..self.rng.random_range(0..3) {
            self.mock.control().add_fault(fault(&mut self.rng)).await.unwrap();
        }
        // Now and then the same words as before: an identical older item must not be taken for the new one.
        let marker = if self.rng.random_bool(0.3) {
            "the same words again".into()
        } else {
            format!("words {n} of this run")
        };
        match operation {
            Operation::AddNote | Operation::Reply | Operation::RequestDocuments => {
                self.create(operation, &marker).await
            }
            Operation::SandboxInbound => self.simulate(&marker).await,
            _ => self.repeatable(operation, n).await,
        }
    }

    /// A create that is verified: once, or an error that says what is known.
    async fn create(&mut self, operation: Operation, marker: &str) {
        let before = self.without_faults(marker).await;
        if self.rng.random_bool(0.2) {
            self.show_late().await;
        }
        let thread = self.live.conversation(&self.conversation);
        let send = self.rng.random_bool(0.3);
        let meddler = self.rng.random_bool(0.2).then(|| Meddler::watch(self.mock.control(), marker));
        let result = match operation {
            Operation::AddNote => thread.add_note(marker).await.map(|created| created.recovered()),
            Operation::Reply => {
                let reply = thread.reply(marker);
                if send { reply.and_send().await } else { reply.await }.map(|created| created.recovered())
            }
            _ => {
                let request = thread.request_documents([DocumentItem::new("Passport")]).message(marker);
                if send { request.and_send().await } else { request.await }.map(|created| created.recovered())
            }
        };
        self.mock.control().clear_faults().await;
        if let Some(meddler) = meddler {
            self.tally.meddled += meddler.stop().await;
        }
        let made = count(&self.watcher, &self.conversation, marker).await - before;
        match result {
            Ok(recovered) => {
                assert_eq!(made, 1, "{operation:?} was done, so there is one");
                self.tally.done += 1;
                self.tally.recovered += usize::from(recovered);
            }
            Err(error) if error.certainty() == Certainty::Unknown => {
                assert!(made <= 1, "{operation:?} is unknown, and there are {made}");
                let unconfirmed = error.unconfirmed().expect("what is needed to decide later");
                let lookup = self.live.find_unconfirmed(unconfirmed).await.expect("no fault is left");
                // Something else that is new may leave it to a person; what is said is so.
                match lookup {
                    Lookup::Found(_) => assert_eq!(made, 1, "{operation:?}: found later"),
                    Lookup::NotFound => assert_eq!(made, 0, "{operation:?}: not found later"),
                    _ => self.tally.unclear += 1,
                }
                self.tally.unknown += 1;
            }
            Err(error) => {
                assert_eq!(made, 0, "{operation:?}: {error} claims that nothing happened");
                self.tally.refused += 1;
            }
        }
    }

    /// The next reads show the conversation as it is now, however much is made meanwhile; not for as long as
    /// things take to settle. Only creates go wrong then.
    async fn show_late(&mut self) {
        let control = self.mock.control();
        control.clear_faults().await;
        let path = format!("/conversations/{}", self.conversation);
        let now = self.watcher.raw(Method::GET, &path).await.expect("no fault is left");
        let stale = Effect::body(String::from_utf8(now.bytes().to_vec()).unwrap());
        // A read that had to wait for the rate limit comes later than that, and shows what is there.
        let stale = FaultRule::new(stale).method("GET").path(&path).lasting(Duration::from_secs(9));
        let stale = stale.times(self.rng.random_range(1..4));
        control.add_fault(stale).await.unwrap();
        control.add_fault(fault(&mut self.rng).method("POST")).await.unwrap();
    }

    /// The key goes by another name from now on.
    async fn rename(&mut self) {
        let world = self.mock.control().state().await.unwrap();
        let old = self.watcher.conversation(&self.conversation).get().await.unwrap().team.agents;
        let me = self.live_agent.clone();
        let old =
            old.into_iter().find(|agent| agent.id.to_string() == me).expect("a member of the team").name;
        let new = format!("Renamed {}", self.tally.calls);
        let quoted = |name: &str| serde_json::Value::from(name).to_string();
        let renamed = world.replace(&quoted(&old), &quoted(&new));
        assert_ne!(renamed, world);
        self.mock.control().restore(renamed).await.unwrap();
        let team = self.watcher.conversation(&self.conversation).get().await.unwrap().team.agents;
        assert!(team.iter().any(|agent| agent.name == new), "{team:?}");
    }

    /// A refusal that quotes all that it was sent can be logged.
    async fn echo(&mut self, n: usize) {
        let words = format!("Dear Kim, these are the words of call {n}");
        let sentence = format!("not allowed: {} says \"{words}\" to kim@example.com", self.watcher_key);
        let echo = Effect::body(serde_json::json!({ "error": sentence }).to_string());
        self.mock.control().add_fault(FaultRule::new(echo).method("POST")).await.unwrap();
        let error = self.watcher.conversation(&self.conversation).reply(&words).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Rejected);
        assert_eq!(error.message(), Some(sentence.as_str()), "whole for who asks for it");
        let shown = format!("{error} {error:?}");
        for secret in [&self.watcher_key[8..], "Dear Kim", "words of call", "kim@example"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        self.mock.control().clear_faults().await;
    }

    /// Counts with the faults put aside, so that only the call itself meets them.
    async fn without_faults(&self, marker: &str) -> usize {
        let faults = self.mock.control().faults().await;
        self.mock.control().clear_faults().await;
        let n = count(&self.watcher, &self.conversation, marker).await;
        for fault in faults {
            self.mock.control().add_fault(fault.rule).await.unwrap();
        }
        n
    }

    /// A simulated mail cannot be looked up, so it is sent at most once.
    async fn simulate(&mut self, marker: &str) {
        let marker = format!("{marker}, mail {}", self.tally.calls);
        let result = self.test.sandbox_inbound("delivered@customer.test", &marker).on(&self.sandbox).await;
        self.mock.control().clear_faults().await;
        let made = count(&self.test_watcher, &self.sandbox, &marker).await;
        let right = match &result {
            Ok(_) => made == 1,
            Err(error) if error.certainty() == Certainty::Unknown => made <= 1,
            Err(_) => made == 0,
        };
        assert!(right, "{made} mails: {result:?}");
        self.note_outcome(&result.map(|_| ()));
    }

    /// What can be repeated is done in the end, or the error says why not.
    async fn repeatable(&mut self, operation: Operation, n: usize) {
        let thread = self.live.conversation(&self.conversation);
        let status = [Status::Open, Status::Waiting, Status::Closed][n % 3].clone();
        let result = match operation {
            Operation::Me => self.live.me().await.map(drop),
            Operation::ListConversations => self.live.conversations().limit(5).await.map(drop),
            Operation::GetConversation => thread.get().await.map(drop),
            Operation::SetStatus => thread.set_status(status.clone()).await.map(drop),
            Operation::TagConversation => thread.edit_tags().add("chaos").await.map(drop),
            Operation::AssignConversation => thread.assign(AssignTo::Me).await.map(drop),
            Operation::ListMailboxes => self.live.mailboxes().await.map(drop),
            Operation::ListTags => self.live.tags().await.map(drop),
            Operation::SearchDocuments => self.live.documents().search("invoice").limit(3).await.map(drop),
            Operation::RecordSent => {
                let reference = Reference::parse(&format!("order-{n}")).unwrap();
                let id = format!("<{n}@shop.example>");
                self.live.record_sent(id, reference, ["kim@example.com"], "Your order").await.map(drop)
            }
            other => unreachable!("{other:?} is not repeatable"),
        };
        self.mock.control().clear_faults().await;
        if result.is_ok() {
            let seen = self.watcher.conversation(&self.conversation).get().await.unwrap();
            match operation {
                // A scheduled reply may have gone out since, and moved an open conversation on.
                Operation::SetStatus if status == Status::Open => assert_ne!(seen.status, Status::Closed),
                Operation::SetStatus => assert_eq!(seen.status, status),
                Operation::TagConversation => assert_eq!(seen.tags, ["chaos"], "not added twice"),
                Operation::AssignConversation => assert!(seen.assignee.is_some()),
                _ => {}
            }
        }
        self.note_outcome(&result);
    }

    fn note_outcome(&mut self, result: &Result<(), Error>) {
        match result {
            Ok(()) => self.tally.done += 1,
            Err(error) if error.certainty() == Certainty::Unknown => self.tally.unknown += 1,
            Err(_) => self.tally.refused += 1,
        }
    }
}

/// A person who approves a draft with other words as soon as it is there.
struct Meddler {
    task: tokio::task::JoinHandle<()>,
    done: Arc<AtomicUsize>,
}

impl Meddler {
    fn watch(control: &Control, marker: &str) -> Self {
        let (control, marker, done) = (control.clone(), marker.to_owned(), Arc::new(AtomicUsize::new(0)));
        let (mut changes, count) = (control.changes(), Arc::clone(&done));
        let task = tokio::spawn(async move {
            while changes.recv().await.is_ok() {
                for draft in control.approvals().await {
                    if draft.text.contains(&marker) {
                        let louder = Approval::new().body(draft.text.to_uppercase());
                        let approved = control.approve(&draft.message_id, louder).await;
                        count.fetch_add(usize::from(approved.is_ok()), Ordering::Relaxed);
                    }
                }
            }
        });
        Self { task, done }
    }

    async fn stop(self) -> usize {
        self.task.abort();
        let _ = self.task.await;
        self.done.load(Ordering::Relaxed)
    }
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn whatever_fails_a_create_happens_once_and_no_error_lies() {
    let (seed, calls) = (from_env("CHAOS_SEED", 20_261_115), from_env("CHAOS_CALLS", 300));
    println!("CHAOS_SEED={seed} CHAOS_CALLS={calls}");
    let run = async {
        let mut chaos = Chaos::start(seed).await;
        for n in 0..calls as usize {
            let operation = Operation::KNOWN[chaos.rng.random_range(0..Operation::KNOWN.len())];
            chaos.step(operation, n).await;
            if n.is_multiple_of(250) {
                limit_kept(&chaos).await;
            }
        }
        limit_kept(&chaos).await;
        println!("{:?}", chaos.tally);
        // A run in which nothing was lost would prove nothing.
        assert!(chaos.tally.recovered > chaos.tally.calls / 100, "{:?}", chaos.tally);
        assert!(chaos.tally.done > chaos.tally.calls / 2, "{:?}", chaos.tally);
        assert!(chaos.tally.unclear < chaos.tally.calls / 50, "{:?}", chaos.tally);
        assert!(chaos.tally.meddled > chaos.tally.calls / 100, "{:?}", chaos.tally);
    };
    // Far more than it takes on a busy machine.
    let patience = Duration::from_secs(60) + Duration::from_millis(200) * calls as u32;
    tokio::time::timeout(patience, run).await.expect("nothing hangs");
}

/// No request was one too many.
async fn limit_kept(chaos: &Chaos) {
    let journal = chaos.mock.control().requests().await;
    assert!(!journal.is_empty());
    assert!(journal.iter().all(|request| request.status != Some(429)), "a 429 was provoked");
    chaos.mock.control().clear_requests().await;
}
