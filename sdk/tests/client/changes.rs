//! Following a list without a cursor: no change missed or told twice while it fits on a page, a gap when it does not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{cases, key};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared_inbox::{
    Client, ConversationSummary,
    clock::{BoxFuture, Clock},
    follow::Change,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Something that happens to a conversation, some time after the one before.
#[derive(Clone, Debug)]
struct Happening {
    after_ms: u64,
    conversation: u8,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// A mail comes: the conversation is in the list, on top.
    Mail,
    /// A mail comes that is dated a day ahead.
    FutureMail,
    /// A change that does not move it.
    Tag(u8),
    /// It leaves the list.
    Close,
}

/// A list of conversations to which things happen as time passes.
#[derive(Debug)]
struct World {
    now: Instant,
    /// Milliseconds since the start.
    elapsed: u64,
    script: Vec<(u64, Happening)>,
    list: BTreeMap<u8, Entry>,
    page: usize,
    /// How often the list was asked for, and the failures still to come.
    looks: usize,
    failures: usize,
    /// What each look showed.
    shown: Vec<Vec<ConversationSummary>>,
    /// The whole list at each look: how many mails each conversation had.
    whole: Vec<BTreeMap<String, u64>>,
    /// When the key stops working, in milliseconds since the start.
    ends_at: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    at: u64,
    mails: u64,
    tag: u8,
}

impl World {
    fn pass(&mut self, wait: Duration) {
        self.now += wait;
        self.elapsed += u64::try_from(wait.as_millis()).unwrap();
        while let Some((at, happening)) = self.script.first().cloned().filter(|(at, _)| *at <= self.elapsed) {
            self.script.remove(0);
            let id = happening.conversation;
            match happening.what {
                What::Mail | What::FutureMail => {
                    // Fewer than a page, or nothing else would ever be seen.
                    let future =
                        if matches!(happening.what, What::FutureMail) && id < 3 { 86_400_000 } else { 0 };
                    let entry = self.list.entry(id).or_insert(Entry { at, mails: 0, tag: 0 });
                    (entry.at, entry.mails) = (at + future, entry.mails + 1);
                }
                What::Tag(tag) => {
                    if let Some(entry) = self.list.get_mut(&id) {
                        entry.tag = tag;
                    }
                }
                What::Close => {
                    self.list.remove(&id);
                }
            }
        }
    }

    fn look(&mut self) -> (u16, Value) {
        self.looks += 1;
        if self.failures > 0 && self.looks.is_multiple_of(3) {
            self.failures -= 1;
            return (500, json!({"error": "Try again."}));
        }
        if self.elapsed > self.ends_at {
            return (401, json!({"error": "The end."}));
        }
        let mut newest: Vec<_> = self.list.iter().collect();
        newest.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.at));
        let page: Vec<_> =
            newest.into_iter().take(self.page).map(|(id, entry)| summary(*id, entry)).collect();
        self.shown.push(serde_json::from_value(json!(page)).unwrap());
        self.whole.push(self.list.iter().map(|(id, entry)| (format!("cnv_{id}"), entry.mails)).collect());
        (200, json!(page))
    }
}

fn summary(id: u8, entry: &Entry) -> Value {
    let at = shared_inbox::Timestamp::from_millis(1_772_000_000_000 + i64::try_from(entry.at).unwrap());
    json!({"id": format!("cnv_{id}"), "subject": "s", "snippet": "t", "status": "open",
           "contact": {"name": null, "email": null}, "mailbox": "Help", "lastMessageAt": at.to_string(),
           "messageCount": entry.mails, "assignee": null, "tags": [format!("tag{}", entry.tag)], "topic": null,
           "urgency": null, "risk": null})
}

/// Waiting makes things happen.
#[derive(Clone, Debug)]
struct Stage(Arc<Mutex<World>>);

impl Clock for Stage {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.0.lock().unwrap().pass(wait) })
    }
}

/// A service that shows the list, and a client for it.
async fn serve(stage: &Stage) -> (Client, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let world = Arc::clone(&stage.0);
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            while !bytes.windows(4).any(|four| four == b"\r\n\r\n")
                && stream.read_buf(&mut bytes).await.unwrap() > 0
            {}
            let (status, body) = world.lock().unwrap().look();
            let body = body.to_string();
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body.as_bytes()).await.unwrap();
        }
    });
    let client = Client::builder(base_url, key())
        .clock(Arc::new(stage.clone()))
        .rate_limit(1_000_000)
        .retry(shared_inbox::retry::RetryPolicy::never())
        .build()
        .unwrap();
    (client, server)
}

/// Follows the list through the whole script and gives all that was told.
async fn follow(stage: &Stage, with_existing: bool) -> Vec<Change> {
    let (client, server) = serve(stage).await;
    let page = u32::try_from(stage.0.lock().unwrap().page).unwrap();
    let mut changes = client.changes().limit(page).every(Duration::from_secs(10));
    if with_existing {
        changes = changes.with_existing();
    }
    let mut told = Vec::new();
    while let Some(change) = changes.next().await {
        match change {
            Ok(change) => told.push(change),
            Err(error) => assert!(error.is_unauthorized(), "only what cannot pass is told: {error}"),
        }
    }
    server.abort();
    told
}

fn stage(script: &[Happening], page: usize, failures: usize) -> Stage {
    let mut at = 0;
    let mut timed = Vec::new();
    for happening in script {
        at += happening.after_ms;
        timed.push((at, happening.clone()));
    }
    Stage(Arc::new(Mutex::new(World {
        now: Instant::now(),
        elapsed: 0,
        script: timed,
        list: BTreeMap::new(),
        page,
        looks: 0,
        failures,
        shown: Vec::new(),
        whole: Vec::new(),
        ends_at: at + 20_000,
    })))
}

fn happenings(conversations: u8) -> impl Strategy<Value = Vec<Happening>> {
    let what = prop_oneof![6 => Just(What::Mail), 1 => Just(What::FutureMail), 4 => (0..4_u8).prop_map(What::Tag), 2 => Just(What::Close)];
    let gap = prop_oneof![Just(0), 0..3_000_u64, 0..40_000_u64];
    let one = (gap, 0..conversations, what).prop_map(|(after_ms, conversation, what)| Happening {
        after_ms,
        conversation,
        what,
    });
    proptest::collection::vec(one, 1..60)
}

/// Applies what was told to what was known.
fn replay(known: &mut BTreeMap<String, ConversationSummary>, change: &Change) {
    match change {
        Change::New(summary) => {
            let old = known.insert(summary.id.to_string(), summary.clone());
            assert!(old.is_none(), "told as new, but known: {summary:?}");
        }
        Change::Changed { before, after, .. } => {
            assert_ne!(**before, *after, "a change is a change");
            let old = known.insert(after.id.to_string(), after.clone());
            assert_eq!(old.as_ref(), Some(&**before), "each change starts from the one told before");
        }
        Change::Left(summary) => {
            assert_eq!(known.remove(summary.id.as_str()).as_ref(), Some(summary), "only the known can leave");
        }
        other => panic!("not a change: {other:?}"),
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn no_change_is_missed_or_told_twice_while_the_list_fits_on_a_page(
        script in happenings(9), failures in 0..5_usize
    ) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let stage = stage(&script, 10, failures);
            let told = follow(&stage, true).await;
            // What was told, replayed look by look, is exactly what each look showed.
            let shown = stage.0.lock().unwrap().shown.clone();
            let mut known = BTreeMap::new();
            let mut told = told.iter();
            for page in shown {
                let page: BTreeMap<_, _> = page.into_iter().map(|s| (s.id.to_string(), s)).collect();
                while known != page {
                    let change = told.next().expect("a change was missed");
                    replay(&mut known, change);
                }
            }
            assert_eq!(told.next(), None, "something was told twice");
        });
    }

    #[test]
    fn a_gap_is_told_whenever_a_full_page_may_hide_a_change(script in happenings(40)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let stage = stage(&script, 5, 0);
            let told = follow(&stage, true).await;
            let shown = stage.0.lock().unwrap().shown.clone();
            let full = shown.iter().filter(|page| page.len() == 5).count();
            let gaps: Vec<_> = told.iter().filter_map(|c| if let Change::Gap(gap) = c { Some(gap) } else { None }).collect();
            assert_eq!(gaps.len(), full, "one for each full page, none for the others");
            // Where no gap in mail is told, whoever got mail since the last look is on the page.
            let whole = stage.0.lock().unwrap().whole.clone();
            let mut gaps = gaps.into_iter();
            for (look, page) in shown.iter().enumerate() {
                if page.len() < 5 || gaps.next().unwrap().mail {
                    continue;
                }
                let before = &whole[look - 1];
                for (id, mails) in &whole[look] {
                    let shown = page.iter().any(|summary| summary.id.as_str() == id);
                    assert!(shown || before.get(id) == Some(mails), "{id} got mail and is not on the page");
                }
            }
        });
    }
}

#[tokio::test]
async fn a_gap_in_mail_is_told_when_mail_may_be_missing_also_after_one_dated_in_the_future() {
    let happen = |after_ms, conversation, what| Happening { after_ms, conversation, what };
    let first = |what: What| [happen(0, 1, What::Mail), happen(0, 2, What::Mail), happen(0, 3, what)];
    for first in [first(What::Mail), first(What::FutureMail)] {
        let later = [
            // One gets mail: those below it are known.
            happen(5_000, 2, What::Mail),
            // All on the page get mail, and more.
            happen(10_000, 4, What::Mail),
            happen(0, 5, What::Mail),
            happen(0, 6, What::Mail),
        ];
        let script: Vec<_> = first.into_iter().chain(later).collect();
        let stage = stage(&script, 3, 0);
        stage.0.lock().unwrap().pass(Duration::ZERO);
        let told = follow(&stage, true).await;
        let gaps: Vec<bool> = told
            .iter()
            .filter_map(|c| if let Change::Gap(gap) = c { Some(gap.mail) } else { None })
            .collect();
        assert_eq!(gaps[..3], [true, false, true], "{gaps:?}");
        assert!(gaps[3..].iter().all(|mail| !mail), "nothing happened since: {gaps:?}");
    }
}

#[tokio::test]
async fn where_mails_dated_in_the_future_fill_the_page_mail_may_always_be_missing() {
    for (at, missing) in [(0, false), (4_000_000_000_000, true)] {
        let entry = Entry { at, mails: 1, tag: 0 };
        let server = wiremock::MockServer::start().await;
        let answer =
            wiremock::ResponseTemplate::new(200).set_body_json([summary(1, &entry), summary(2, &entry)]);
        wiremock::Mock::given(wiremock::matchers::any()).respond_with(answer).mount(&server).await;
        let client = Client::builder(format!("{}/api/v1", server.uri()), key());
        let client = client.clock(crate::support::LeapClock::new()).build().unwrap();
        let mut changes = client.changes().limit(2);
        for gap in [true, missing, missing] {
            let Some(Ok(Change::Gap(told))) = changes.next().await else { panic!("a page that is full") };
            assert_eq!(told.mail, gap, "{at}");
        }
    }
}

#[tokio::test]
async fn an_id_that_stands_twice_on_a_page_is_told_once() {
    let entry = |tag| Entry { at: 0, mails: 1, tag };
    let page = json!([summary(1, &entry(1)), summary(1, &entry(2)), summary(2, &entry(0))]);
    let server = wiremock::MockServer::start().await;
    let answer = wiremock::ResponseTemplate::new(200).set_body_json(page);
    wiremock::Mock::given(wiremock::matchers::any())
        .respond_with(answer)
        .up_to_n_times(3)
        .mount(&server)
        .await;
    let base_url = format!("{}/api/v1", server.uri());
    let stage = stage(&[], 10, 0);
    let client = Client::builder(base_url, key())
        .clock(Arc::new(stage))
        .retry(shared_inbox::retry::RetryPolicy::never());
    let mut changes = client.build().unwrap().changes().with_existing();
    let mut told = Vec::new();
    // The fourth look finds nobody.
    while let Some(Ok(change)) = changes.next().await {
        told.push(change);
    }
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test]
async fn the_first_look_tells_nothing_unless_asked() {
    let mail = |after_ms, conversation| Happening { after_ms, conversation, what: What::Mail };
    let script = [mail(0, 1), mail(0, 2), mail(5_000, 3)];
    for (with_existing, expected) in [(false, 1), (true, 3)] {
        let stage = stage(&script, 10, 0);
        stage.0.lock().unwrap().pass(Duration::ZERO);
        let told = follow(&stage, with_existing).await;
        assert_eq!(told.len(), expected, "{told:?}");
        assert!(matches!(told.last().unwrap(), Change::New(summary) if summary.id.as_str() == "cnv_3"));
    }
}

#[tokio::test]
async fn a_first_look_that_does_not_show_all_says_so() {
    let mail = |after_ms, conversation| Happening { after_ms, conversation, what: What::Mail };
    let close = |after_ms, conversation| Happening { after_ms, conversation, what: What::Close };
    // Three are there, two fit on the page. When those go, the third comes up as if it were new.
    let script = [mail(0, 1), mail(0, 2), mail(0, 3), close(5_000, 1), close(0, 2)];
    let stage = stage(&script, 2, 0);
    stage.0.lock().unwrap().pass(Duration::ZERO);
    let told = follow(&stage, false).await;
    let new = told.iter().position(|change| matches!(change, Change::New(_))).unwrap();
    let gap = told.iter().position(|change| matches!(change, Change::Gap(gap) if gap.mail));
    assert!(gap.is_some_and(|gap| gap < new), "{told:?}");
}

#[tokio::test]
async fn dropping_the_future_of_the_next_change_loses_nothing() {
    let mail = |conversation| Happening { after_ms: 5_000, conversation, what: What::Mail };
    let script: Vec<_> = (1..9).map(mail).collect();
    let stage = stage(&script, 10, 0);
    let (client, server) = serve(&stage).await;
    let mut changes = client.changes().limit(10).every(Duration::from_secs(10)).with_existing();
    let mut told = Vec::new();
    loop {
        // Polled once and dropped, over and over.
        let change = tokio::select! {
            biased;
            change = changes.next() => change,
            () = tokio::task::yield_now() => continue,
        };
        match change {
            Some(Ok(Change::New(summary))) => told.push(summary.id.to_string()),
            Some(Err(error)) => assert!(error.is_unauthorized(), "{error}"),
            None => break,
            other => panic!("{other:?}"),
        }
    }
    server.abort();
    assert_eq!(told, (1..9).map(|id| format!("cnv_{id}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_wrong_key_or_parameter_cannot_mend_ends_the_stream() {
    let stage = stage(&[], 10, 0);
    let client = Client::builder("http://127.0.0.1:9/api/v1", key()).clock(Arc::new(stage)).build().unwrap();
    let mut changes = client.changes().limit(500);
    assert!(changes.next().await.unwrap().unwrap_err().is_invalid_input());
    assert!(changes.next().await.is_none());
}
