//! What a client knows of the service's clock: how the item of a create can be dated, as the record of that create has it.

use std::time::Duration;

use serde_json::json;
use shared_inbox::{Conversation, Timestamp, clock::Clock};

use crate::support::{Kind, Outcome, Service, conversation_id};

const T0: i64 = 1_772_357_400;

/// A client, and the service whose clock it learns.
struct Observer {
    service: Service,
    client: shared_inbox::Client,
    started: std::time::Instant,
}

impl Observer {
    async fn new() -> Self {
        let service = Service::start().await;
        let (client, started) = (service.client(), service.clock.now());
        Self { service, client, started }
    }

    /// Returns one that has had responses: each with its time and the error of its date, in seconds.
    async fn after(responses: &[(u64, i64)]) -> Self {
        let observer = Self::new().await;
        for (at, off) in responses {
            observer.hear(*at, *off).await;
        }
        observer
    }

    fn seconds(&self) -> u64 {
        self.service.clock.now().duration_since(self.started).as_secs()
    }

    async fn hear(&self, at: u64, off: i64) {
        self.service.clock.leap(Duration::from_secs(at - self.seconds()));
        self.service.state().behavior.date = Some(off);
        self.client.me().await.unwrap();
    }

    /// Hears a response that is under way for that long.
    async fn hear_slowly(&self, takes: u64, off: i64) {
        self.service.state().behavior.date = Some(off);
        self.service.state().behavior.takes = Duration::from_secs(takes);
        self.service.next_gets([Outcome::After(404)]);
        self.client.me().await.unwrap_err();
    }

    /// Reads an item that was made now, by a clock that is off.
    async fn read_item(&self, off: i64) {
        self.service.state().lines.clear();
        self.service.state().behavior.stamp_off = off;
        self.service.twin_makes(Kind::Note, "Hello");
        self.client.conversation(&conversation_id()).get().await.unwrap();
    }

    /// Returns from when on an item of a request that is sent now may be its own, and surely is, in seconds before now by the
    /// service's clock.
    async fn window(&self) -> Option<(i64, i64)> {
        let seen: Conversation = serde_json::from_value(json!({"id": "cnv_1", "subject": "", "status": "open",
            "contact": {"name": null, "email": null}, "mailbox": "", "lastMessageAt": "2026-03-01T09:00:00.000Z",
            "assignee": null, "tags": [], "topic": null, "urgency": null, "risk": null, "riskReasons": [],
            "snoozedUntil": null, "timeline": [], "team": {"people": [], "agents": []}}))
        .unwrap();
        let note = self.client.conversation(&conversation_id()).add_note("x").seen(&seen);
        let record = serde_json::to_value(note.unconfirmed().await.unwrap()).unwrap();
        let window = record["baseline"]["window"].as_object()?;
        let before = |name: &str| {
            let at: Timestamp = window[name].as_str().unwrap().parse().unwrap();
            T0 + self.seconds() as i64 - at.as_secs()
        };
        Some((before("possibleFrom"), before("certainFrom")))
    }
}

#[tokio::test]
async fn a_clock_that_was_never_heard_is_not_known() {
    let observer = Observer::new().await;
    assert_eq!(observer.window().await, None);
    observer.service.state().behavior.date = None;
    observer.service.next_gets([Outcome::Header(404, "date", "noon")]);
    observer.client.me().await.unwrap_err();
    assert_eq!(observer.window().await, None);
}

#[tokio::test]
async fn machines_that_disagree_widen_the_window_up_to_five_seconds() {
    for (off, certain) in [(0, 1), (-1, 2), (-2, 3), (-3, 3), (-20, 3), (3, 1), (20, 1)] {
        let observer = Observer::after(&[(0, 0), (10, off), (10, 0)]).await;
        observer.read_item(0).await;
        // Two seconds of the five are those that `Date` does not tell.
        assert_eq!(observer.window().await, Some((61 - off.min(0), certain)), "{off}");
    }
}

#[tokio::test]
async fn a_clock_that_stands_still_is_followed() {
    let standing: Vec<_> = (0..10).map(|n| (n * 20, -20 * n as i64)).collect();
    // Sent at 180 s, when the clock still showed the start.
    assert_eq!(Observer::after(&standing).await.window().await.unwrap().1, 180 + 1);
}

#[tokio::test]
async fn a_slow_response_says_little() {
    let observer = Observer::after(&[(0, 0), (10, 0)]).await;
    observer.hear_slowly(30, 0).await;
    assert_eq!(observer.window().await.unwrap().1, 1);
    observer.hear_slowly(30, -30).await;
    assert_eq!(observer.window().await.unwrap().1, 3);
}

#[tokio::test]
async fn items_that_are_dated_by_another_clock_count_by_that_clock() {
    let observer = Observer::after(&[(0, 0)]).await;
    assert_eq!(61 - observer.window().await.unwrap().0, -86_400, "none was seen");
    for (off, expected) in [(3600, -86_400), (-90_000, -86_400), (-7200, -7200), (-10, -10), (1, 0)] {
        observer.read_item(off).await;
        assert_eq!(61 - observer.window().await.unwrap().0, expected, "{off}");
    }
}

#[tokio::test]
async fn a_clock_that_has_jumped_is_believed_and_its_items_once_one_fits() {
    for jump in [-3600, -63, 75, 3600] {
        let observer = Observer::after(&[(0, 0), (10, 0)]).await;
        observer.read_item(0).await;
        observer.hear(20, jump).await;
        let (possible, certain) = observer.window().await.unwrap();
        assert!(possible >= 86_400 - jump.max(0), "{jump}: {possible}");
        assert!((1..=3).contains(&(certain + jump)), "{jump}: {certain}");
        observer.hear(700, jump).await;
        observer.read_item(jump).await;
        assert_eq!(observer.window().await, Some((61 - jump, 1 - jump)), "{jump}");
    }
}

#[tokio::test]
async fn clocks_that_drift_apart_over_hours_are_followed() {
    // A second in five minutes, for a day.
    let responses: Vec<_> = (0..288_u64).map(|n| (n * 300, n as i64)).collect();
    let off = 287 - Observer::after(&responses).await.window().await.unwrap().1.abs();
    assert!((0..=3).contains(&off), "{off}");
}
