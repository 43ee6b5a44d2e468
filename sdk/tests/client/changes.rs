//! Following a list without a cursor: no change missed or reported twice while it fits on a page, a gap when
//! it does not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::support::{self, LeapClock, cases, key, responding};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared_inbox::{
    Client, ConversationSummary,
    clock::{BoxFuture, Clock},
    follow::Change,
    retry::RetryPolicy,
};
use wiremock::{MockServer, Request, ResponseTemplate};

/// Something that happens to a conversation, some time after the one before.
#[derive(Clone, Copy, Debug)]
struct ListEvent {
    after_ms: u64,
    conversation: u8,
    action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    /// A mail comes: the conversation is in the list, on top.
    Mail,
    /// A mail comes that is dated a day ahead.
    FutureMail,
    /// A change that does not move it.
    Tag(u8),
    /// It leaves the list.
    Close,
}

fn event(after_ms: u64, conversation: u8, action: Action) -> ListEvent {
    ListEvent { after_ms, conversation, action }
}

/// A list of conversations to which things happen as time passes.
#[derive(Debug)]
struct List {
    now: Instant,
    /// Milliseconds since the start.
    elapsed: u64,
    script: Vec<(u64, ListEvent)>,
    entries: BTreeMap<u8, Entry>,
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

impl List {
    fn pass(&mut self, wait: Duration) {
        self.now += wait;
        self.elapsed += u64::try_from(wait.as_millis()).unwrap();
        while let Some((at, event)) = self.script.first().copied().filter(|(at, _)| *at <= self.elapsed) {
            self.script.remove(0);
            let id = event.conversation;
            match event.action {
                Action::Mail | Action::FutureMail => {
                    // Fewer than a page, or nothing else would ever be seen.
                    let future = if event.action == Action::FutureMail && id < 3 { 86_400_000 } else { 0 };
                    let entry = self.entries.entry(id).or_insert(Entry { at, mails: 0, tag: 0 });
                    (entry.at, entry.mails) = (at + future, entry.mails + 1);
                }
                Action::Tag(tag) => _ = self.entries.get_mut(&id).map(|entry| entry.tag = tag),
                Action::Close => _ = self.entries.remove(&id),
            }
        }
    }

    fn look(&mut self) -> ResponseTemplate {
        self.looks += 1;
        if self.failures > 0 && self.looks.is_multiple_of(3) {
            self.failures -= 1;
            return ResponseTemplate::new(500);
        }
        if self.elapsed > self.ends_at {
            return ResponseTemplate::new(401);
        }
        let mut newest: Vec<_> = self.entries.iter().collect();
        newest.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.at));
        let page: Vec<_> =
            newest.into_iter().take(self.page).map(|(id, entry)| summary(*id, entry)).collect();
        self.shown.push(serde_json::from_value(json!(page)).unwrap());
        self.whole.push(self.entries.iter().map(|(id, entry)| (format!("cnv_{id}"), entry.mails)).collect());
        ResponseTemplate::new(200).set_body_json(page)
    }
}

fn summary(id: u8, entry: &Entry) -> Value {
    let at = shared_inbox::Timestamp::from_millis(1_772_000_000_000 + i64::try_from(entry.at).unwrap());
    let mut summary = support::summary(id);
    summary["lastMessageAt"] = at.to_string().into();
    summary["messageCount"] = entry.mails.into();
    summary["tags"] = json!([format!("tag{}", entry.tag)]);
    summary
}

/// A clock of which the hands move a list on.
#[derive(Clone, Debug)]
struct ScriptedList(Arc<Mutex<List>>);

impl Clock for ScriptedList {
    fn now(&self) -> Instant {
        self.lock().now
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.lock().pass(wait) })
    }
}

impl ScriptedList {
    fn new(script: &[ListEvent], page: usize, failures: usize) -> Self {
        let mut at = 0;
        let mut timed = Vec::new();
        for event in script {
            at += event.after_ms;
            timed.push((at, *event));
        }
        let mut list = List {
            now: Instant::now(),
            elapsed: 0,
            script: timed,
            entries: BTreeMap::new(),
            page,
            looks: 0,
            failures,
            shown: Vec::new(),
            whole: Vec::new(),
            ends_at: at + 20_000,
        };
        list.pass(Duration::ZERO);
        Self(Arc::new(Mutex::new(list)))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap()
    }

    /// A service that shows the list, and a client for it.
    async fn serve(&self) -> (MockServer, Client) {
        let list = self.clone();
        let (server, client) = responding(move |_: &Request| list.lock().look()).await;
        let client = client.clock(Arc::new(self.clone())).rate_limit(1_000_000).retry(RetryPolicy::never());
        (server, client.build().unwrap())
    }

    /// Follows the list through the whole script and gives all that was reported.
    async fn follow(&self, with_existing: bool) -> Vec<Change> {
        let (_server, client) = self.serve().await;
        let page = u32::try_from(self.lock().page).unwrap();
        let mut changes = client.changes().limit(page).every(Duration::from_secs(10));
        if with_existing {
            changes = changes.with_existing();
        }
        let mut reported = Vec::new();
        while let Some(change) = changes.next().await {
            match change {
                Ok(change) => reported.push(change),
                Err(error) => assert!(error.is_unauthorized(), "only what cannot pass is reported: {error}"),
            }
        }
        reported
    }
}

/// Whether mail may be missing, for each gap.
fn gaps(reported: &[Change]) -> Vec<bool> {
    reported
        .iter()
        .filter_map(|c| if let Change::Gap(gap) = c { Some(gap.mail_possible) } else { None })
        .collect()
}

fn list_events(conversations: u8) -> impl Strategy<Value = Vec<ListEvent>> {
    let action = prop_oneof![
        6 => Just(Action::Mail),
        1 => Just(Action::FutureMail),
        4 => (0..4_u8).prop_map(Action::Tag),
        2 => Just(Action::Close),
    ];
    let gap = prop_oneof![Just(0), 0..3_000_u64, 0..40_000_u64];
    let one = (gap, 0..conversations, action).prop_map(|(after, id, action)| event(after, id, action));
    proptest::collection::vec(one, 1..60)
}

/// Applies what was reported to what was known.
fn replay(known: &mut BTreeMap<String, ConversationSummary>, change: &Change) {
    match change {
        Change::New(summary) => {
            let old = known.insert(summary.id.to_string(), summary.clone());
            assert!(old.is_none(), "reported as new, but known: {summary:?}");
        }
        Change::Changed { before, after, .. } => {
            assert_ne!(**before, *after, "a change is a change");
            let old = known.insert(after.id.to_string(), after.clone());
            assert_eq!(old.as_ref(), Some(&**before), "each change starts from the one reported before");
        }
        Change::Left(summary) => {
            assert_eq!(known.remove(summary.id.as_str()).as_ref(), Some(summary), "only the known can leave");
        }
        other => panic!("not a change: {other:?}"),
    }
}

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn no_change_is_missed_or_told_twice_while_the_list_fits_on_a_page(
        script in list_events(9), failures in 0..5_usize
    ) {
        block_on(async {
            let list = ScriptedList::new(&script, 10, failures);
            let reported = list.follow(true).await;
            // What was reported, replayed look by look, is exactly what each look showed.
            let mut known = BTreeMap::new();
            let mut reported = reported.iter();
            for page in &list.lock().shown {
                let page: BTreeMap<_, _> = page.iter().map(|s| (s.id.to_string(), s.clone())).collect();
                while known != page {
                    replay(&mut known, reported.next().expect("a change was missed"));
                }
            }
            assert_eq!(reported.next(), None, "something was reported twice");
        });
    }

    #[test]
    fn a_gap_is_told_whenever_a_full_page_may_hide_a_change(script in list_events(40)) {
        block_on(async {
            let list = ScriptedList::new(&script, 5, 0);
            let gaps = gaps(&list.follow(true).await);
            let List { shown, whole, .. } = &*list.lock();
            let full = shown.iter().filter(|page| page.len() == 5).count();
            assert_eq!(gaps.len(), full, "one for each full page, none for the others");
            // Where no gap in mail is reported, whoever got mail since the last look is on the page.
            let mut gaps = gaps.into_iter();
            for (look, page) in shown.iter().enumerate() {
                if page.len() < 5 || gaps.next().unwrap() {
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
    for action in [Action::Mail, Action::FutureMail] {
        let script = [
            event(0, 1, Action::Mail),
            event(0, 2, Action::Mail),
            event(0, 3, action),
            // One gets mail: those below it are known.
            event(5_000, 2, Action::Mail),
            // All on the page get mail, and more.
            event(10_000, 4, Action::Mail),
            event(0, 5, Action::Mail),
            event(0, 6, Action::Mail),
        ];
        let gaps = gaps(&ScriptedList::new(&script, 3, 0).follow(true).await);
        assert_eq!(gaps[..3], [true, false, true], "{gaps:?}");
        assert!(gaps[3..].iter().all(|mail| !mail), "nothing happened since: {gaps:?}");
    }
}

#[tokio::test]
async fn where_mails_dated_in_the_future_fill_the_page_mail_may_always_be_missing() {
    for (at, missing) in [(0, false), (4_000_000_000_000, true)] {
        let entry = Entry { at, mails: 1, tag: 0 };
        let page = [summary(1, &entry), summary(2, &entry)];
        let (_server, client) = responding(ResponseTemplate::new(200).set_body_json(page)).await;
        let mut changes = client.clock(LeapClock::new()).build().unwrap().changes().limit(2);
        for mail in [true, missing, missing] {
            let Some(Ok(Change::Gap(gap))) = changes.next().await else { panic!("a page that is full") };
            assert_eq!(gap.mail_possible, mail, "{at}");
        }
    }
}

#[tokio::test]
async fn an_id_that_stands_twice_on_a_page_is_told_once() {
    let entry = |tag| Entry { at: 0, mails: 1, tag };
    let page = [summary(1, &entry(1)), summary(1, &entry(2)), summary(2, &entry(0))];
    let looks = AtomicUsize::new(0);
    let (_server, client) = responding(move |_: &Request| match looks.fetch_add(1, Ordering::SeqCst) {
        0..3 => ResponseTemplate::new(200).set_body_json(&page),
        _ => ResponseTemplate::new(404),
    })
    .await;
    let mut changes = client.clock(LeapClock::new()).build().unwrap().changes().with_existing();
    let mut reported = Vec::new();
    while let Some(Ok(change)) = changes.next().await {
        reported.push(change);
    }
    assert_eq!(reported.len(), 2, "{reported:?}");
}

#[tokio::test]
async fn the_first_look_tells_nothing_unless_asked() {
    let script = [event(0, 1, Action::Mail), event(0, 2, Action::Mail), event(5_000, 3, Action::Mail)];
    for (with_existing, expected) in [(false, 1), (true, 3)] {
        let reported = ScriptedList::new(&script, 10, 0).follow(with_existing).await;
        assert_eq!(reported.len(), expected, "{reported:?}");
        assert!(matches!(reported.last().unwrap(), Change::New(summary) if summary.id.as_str() == "cnv_3"));
    }
}

#[tokio::test]
async fn a_first_look_that_does_not_show_all_says_so() {
    // Three are there, two fit on the page. When those go, the third comes up as if it were new.
    let script = [
        event(0, 1, Action::Mail),
        event(0, 2, Action::Mail),
        event(0, 3, Action::Mail),
        event(5_000, 1, Action::Close),
        event(0, 2, Action::Close),
    ];
    let reported = ScriptedList::new(&script, 2, 0).follow(false).await;
    let new = reported.iter().position(|change| matches!(change, Change::New(_))).unwrap();
    let gap = reported.iter().position(|change| matches!(change, Change::Gap(gap) if gap.mail_possible));
    assert!(gap.is_some_and(|gap| gap < new), "{reported:?}");
}

#[tokio::test]
async fn dropping_the_future_of_the_next_change_loses_nothing() {
    let script: Vec<_> = (1..9).map(|conversation| event(5_000, conversation, Action::Mail)).collect();
    let (_server, client) = ScriptedList::new(&script, 10, 0).serve().await;
    let mut changes = client.changes().limit(10).every(Duration::from_secs(10)).with_existing();
    let mut reported = Vec::new();
    loop {
        // Polled once and dropped, over and over.
        let change = tokio::select! {
            biased;
            change = changes.next() => change,
            () = tokio::task::yield_now() => continue,
        };
        match change {
            Some(Ok(Change::New(summary))) => reported.push(summary.id.to_string()),
            Some(Err(error)) => assert!(error.is_unauthorized(), "{error}"),
            None => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reported, (1..9).map(|id| format!("cnv_{id}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_wrong_key_or_parameter_cannot_mend_ends_the_stream() {
    let client = Client::builder("http://127.0.0.1:9/api/v1", key()).build().unwrap();
    let mut changes = client.changes().limit(500);
    assert!(changes.next().await.unwrap().unwrap_err().is_invalid_input());
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn a_list_that_is_always_full_does_not_fill_the_memory() {
    // More pages than are remembered, then the newest of them again, then the oldest.
    let pages: Vec<usize> = (0..=101).chain([101, 0]).collect();
    let reads = pages.len();
    let next = AtomicUsize::new(0);
    let (_server, client) = responding(move |_: &Request| {
        let page = pages[next.fetch_add(1, Ordering::SeqCst).min(pages.len() - 1)];
        let summary = |number: usize| {
            let mut summary = support::summary(number);
            summary["lastMessageAt"] = json!(shared_inbox::Timestamp::from_millis(number as i64));
            summary
        };
        let items: Vec<Value> = (page * 100..(page + 1) * 100).rev().map(summary).collect();
        ResponseTemplate::new(200).set_body_json(items)
    })
    .await;
    let client = client.clock(LeapClock::new()).build().unwrap();
    let mut changes = client.changes();
    let mut new = Vec::new();
    while new.len() <= reads && new.get(reads - 1) != Some(&100) {
        match changes.next().await.unwrap().unwrap() {
            Change::Gap(_) => new.push(0),
            Change::New(_) => *new.last_mut().unwrap() += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(new[reads - 2..reads], [0, 100], "the newest are still known, the oldest no longer");
}
