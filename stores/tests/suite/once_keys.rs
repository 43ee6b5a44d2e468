//! The rules of a store of `once` keys, as tests that any store can run.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use shared_inbox::once::{Begun, LeaseStatus, OnceRecord, OnceStore};

/// Checks every rule of [`OnceStore`] but what a crash leaves behind. `lease` is how long the leases of the
/// suite run, `pass` lets that much time go by, by the store's own clock. Uses keys of its own, and may be
/// run on a store that holds others.
pub(crate) async fn check<S: OnceStore + ?Sized>(store: &S, lease: Duration, pass: &impl AsyncFn(Duration)) {
    let rules = Rules { store, lease };
    rules.of_many_at_once_one_is_granted().await;
    rules.another_fingerprint_changes_nothing().await;
    rules.a_record_keeps_every_character().await;
    rules.a_removed_record_is_gone().await;
    rules.a_lease_ends_and_not_before(pass).await;
    rules.an_owner_that_was_overtaken_can_change_nothing(pass).await;
    rules.a_result_is_kept_for_its_time(pass).await;
}

struct Rules<'a, S: ?Sized> {
    store: &'a S,
    lease: Duration,
}

fn json_of(record: &OnceRecord) -> Value {
    serde_json::to_value(record).expect("a record is JSON")
}

/// Returns the record with these fields changed.
fn with(record: &OnceRecord, fields: Value) -> OnceRecord {
    let (mut json, Value::Object(fields)) = (json_of(record), fields) else {
        panic!("no fields: {record:?}")
    };
    json.as_object_mut().expect("an object").extend(fields);
    serde_json::from_value(json).expect("a record")
}

fn record(key: &str, text: &str) -> OnceRecord {
    let record = json!({
        "key": format!("suite/{key}"),
        "fingerprint": format!("fingerprint of {text}"),
        "conversation": "cnv_suite",
        "since": "2026-03-01T09:30:00.000Z",
        "owner": "the suite",
        "create": { "conversation": "cnv_suite", "expected": { "kind": "note", "body": text }, "baseline": { "keys": [], "isComplete": false } },
    });
    serde_json::from_value(record).expect("a record")
}

fn finished(record: &OnceRecord, item: &str) -> OnceRecord {
    with(record, json!({ "create": null, "result": { "item": item, "response": { "item": item } } }))
}

impl<S: OnceStore + ?Sized> Rules<'_, S> {
    async fn begin(&self, record: &OnceRecord) -> Begun {
        self.store.begin(record, self.lease).await.expect("the store responds to `begin`")
    }

    async fn granted(&self, record: &OnceRecord) -> (u64, Option<OnceRecord>) {
        match self.begin(record).await {
            Begun::Granted { fence, previous } => (fence, previous),
            other => panic!("{}: not granted, but {other:?}", record.key()),
        }
    }

    /// Asserts that the key is taken, and returns the record.
    async fn exists(&self, record: &OnceRecord, rule: &str) -> OnceRecord {
        match self.begin(record).await {
            Begun::Exists(found) => found,
            _ => panic!("{}: {rule}", record.key()),
        }
    }

    async fn update(&self, record: &OnceRecord, fence: u64, time: Duration, expected: LeaseStatus) {
        let status = self.store.update(record.key(), fence, Some(record), time).await;
        assert_eq!(status.expect("the store responds to `update`"), expected, "{}: update", record.key());
    }

    async fn extend(&self, record: &OnceRecord, fence: u64, lease: Duration, expected: LeaseStatus) {
        let status = self.store.update(record.key(), fence, None, lease).await;
        assert_eq!(status.expect("the store responds to `update`"), expected, "{}: extend", record.key());
    }

    async fn finish(&self, record: &OnceRecord, item: &str, fence: u64, expected: LeaseStatus) {
        self.update(&finished(record, item), fence, self.lease * 4, expected).await;
    }

    async fn remove(&self, record: &OnceRecord, fence: u64, expected: LeaseStatus) {
        let status = self.store.remove(record.key(), fence).await;
        assert_eq!(status.expect("the store responds to `remove`"), expected, "{}: remove", record.key());
    }

    /// Returns fence and whether it is held, of the record in the list.
    async fn listed(&self, record: &OnceRecord) -> Option<(u64, bool)> {
        let list = self.store.list().await.expect("the store responds to `list`");
        let stored = list.into_iter().find(|stored| stored.record.key() == record.key());
        stored.map(|stored| (stored.fence, stored.is_held))
    }

    async fn of_many_at_once_one_is_granted(&self) {
        let record = record("at_once", "x");
        let all = join_all((0..16).map(|_| self.begin(&record))).await;
        let mut fences = all.iter().filter_map(|begun| match begun {
            Begun::Granted { fence, .. } => Some(*fence),
            _ => None,
        });
        let fence = fences.next().expect("one is granted");
        assert_eq!(fences.next(), None, "of many at once one is granted");
        assert_eq!(self.listed(&record).await, Some((fence, true)), "it is in the list");
        self.remove(&record, fence, LeaseStatus::Held).await;
    }

    async fn another_fingerprint_changes_nothing(&self) {
        let (one, other) = (record("fingerprint", "x"), record("fingerprint", "y"));
        let (fence, _) = self.granted(&one).await;
        self.extend(&one, fence, Duration::ZERO, LeaseStatus::Held).await;
        let found = self.exists(&other, "another fingerprint is never granted").await;
        assert_eq!(found.fingerprint(), one.fingerprint());
        assert_eq!(self.listed(&one).await, Some((fence, false)), "a lease of no time has ended");
        self.finish(&one, "not_1", fence, LeaseStatus::Held).await;
        let found = self.exists(&other, "nor when there is a result").await;
        assert!(found.is_finished() && found.fingerprint() == one.fingerprint());
        self.remove(&one, fence, LeaseStatus::Held).await;
    }

    async fn a_record_keeps_every_character(&self) {
        for key in ["ü/}{:'\"\\\n", "a b", "../../x", &"k".repeat(2_000)] {
            let record = record(key, "text '\"\\ \u{1F642} \n {} $1 %s");
            let (fence, _) = self.granted(&record).await;
            let found = self.exists(&record, "its lease runs").await;
            assert_eq!((found.key(), found.since()), (record.key(), record.since()));
            assert_eq!(json_of(&found), json_of(&record), "{key}");
            self.remove(&record, fence, LeaseStatus::Held).await;
        }
    }

    async fn a_removed_record_is_gone(&self) {
        let record = record("removed", "x");
        let (fence, _) = self.granted(&record).await;
        self.remove(&record, fence + 1, LeaseStatus::Lost).await;
        self.remove(&record, fence, LeaseStatus::Held).await;
        self.remove(&record, fence, LeaseStatus::Lost).await;
        self.update(&record, fence, self.lease, LeaseStatus::Lost).await;
        self.finish(&record, "not_1", fence, LeaseStatus::Lost).await;
        assert_eq!(self.listed(&record).await, None);
        let (next, previous) = self.granted(&record).await;
        assert!(previous.is_none() && next > fence, "{fence}, {next}: fences grow also then");
        self.remove(&record, next, LeaseStatus::Held).await;
    }

    async fn a_lease_ends_and_not_before(&self, pass: &impl AsyncFn(Duration)) {
        let record = record("lease", "x");
        let (fence, _) = self.granted(&record).await;
        pass(self.lease * 6 / 10).await;
        self.exists(&record, "its lease runs").await;
        let replaced = with(&record, json!({ "owner": "the suite again" }));
        self.update(&replaced, fence, self.lease, LeaseStatus::Held).await;
        pass(self.lease * 6 / 10).await;
        self.exists(&record, "it was renewed").await;
        pass(self.lease * 6 / 10).await;
        self.extend(&record, fence, self.lease, LeaseStatus::Held).await;
        self.exists(&record, "a late renewal is one, when nobody came between").await;
        self.extend(&record, fence, Duration::ZERO, LeaseStatus::Held).await;
        let (next, previous) = self.granted(&record).await;
        let previous = previous.expect("the record of the owner before");
        assert!(next > fence && previous.since() == record.since() && previous.owner() == replaced.owner());
        self.remove(&record, next, LeaseStatus::Held).await;
    }

    async fn an_owner_that_was_overtaken_can_change_nothing(&self, pass: &impl AsyncFn(Duration)) {
        let record = record("overtaken", "x");
        let (first, _) = self.granted(&record).await;
        pass(self.lease * 11 / 10).await;
        let (second, _) = self.granted(&record).await;
        assert!(second > first, "fences grow");
        self.update(&record, first, self.lease, LeaseStatus::Lost).await;
        self.finish(&record, "not_1", first, LeaseStatus::Lost).await;
        self.remove(&record, first, LeaseStatus::Lost).await;
        assert_eq!(self.listed(&record).await, Some((second, true)), "it is the second one's");
        self.finish(&record, "not_2", second, LeaseStatus::Held).await;
        self.finish(&record, "not_2", second, LeaseStatus::Held).await;
        self.finish(&record, "not_1", first, LeaseStatus::Lost).await;
        self.extend(&record, second, self.lease, LeaseStatus::Lost).await;
        self.update(&record, second, self.lease, LeaseStatus::Lost).await;
        let found = self.exists(&record, "it has a result").await;
        assert_eq!(found.response(), Some(&json!({ "item": "not_2" })));
        self.remove(&record, second, LeaseStatus::Held).await;
    }

    async fn a_result_is_kept_for_its_time(&self, pass: &impl AsyncFn(Duration)) {
        let (kept, open) = (record("kept", "x"), record("open", "x"));
        let (fence, _) = self.granted(&kept).await;
        let (open_fence, _) = self.granted(&open).await;
        self.finish(&kept, "not_1", fence, LeaseStatus::Held).await;
        pass(self.lease * 3).await;
        self.store.purge().await.expect("the store responds to `purge`");
        assert!(self.exists(&kept, "a result is kept for its time").await.is_finished());
        pass(self.lease * 2).await;
        self.store.purge().await.expect("the store responds to `purge`");
        assert_eq!(
            self.listed(&open).await,
            Some((open_fence, false)),
            "no record without a result is forgotten"
        );
        let (next, previous) = self.granted(&kept).await;
        assert!(previous.is_none() && next > fence, "a result whose time is over is forgotten");
        self.remove(&kept, next, LeaseStatus::Held).await;
        self.remove(&open, open_fence, LeaseStatus::Held).await;
    }
}
