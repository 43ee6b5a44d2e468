//! Many events, many endpoints, failing receivers: nothing is lost, nothing is sent twice, and it ends.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use serde_json::{Value, json};
use shared_inbox_mock::{CreateWebhook, MockServer, MockServerBuilder};

use super::{
    kit::{Hook, hours, minutes, tries},
    receiver::{Receiver, Reply},
};
use crate::kit::Kit;

/// A small generator: the same failures in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// On a busy machine a receiver may be late, which is not what these are about.
fn patient() -> MockServerBuilder {
    MockServer::builder().manual_clock().empty().no_rate_limit().webhook_timeout(Duration::from_secs(100))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_to_failing_receivers_arrive_exactly_as_the_log_says() {
    to_failing_receivers(400).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs minutes"]
async fn five_thousand_events_to_twenty_failing_receivers_arrive_exactly_as_the_log_says() {
    to_failing_receivers(5_000).await;
}

async fn to_failing_receivers(events: usize) {
    const RECEIVERS: usize = 20;
    let kit = Kit::with(patient()).await;
    let mut hooks: Vec<(Receiver, Hook)> = Vec::new();
    for n in 0..RECEIVERS {
        let mut chance = Chance(n as u64);
        let receiver = Receiver::scripted(move |_| match chance.below(10) {
            0 => Reply::Status(500),
            1 => Reply::Status(404),
            2 => Reply::Drop,
            _ => Reply::Status(200),
        })
        .await;
        let hook = kit.hook(&receiver).await;
        hooks.push((receiver, hook));
    }
    // Each event goes to one of them; the clock moves on now and then, so that first tries and later ones mix.
    let control = kit.mock.control();
    let mut sent: Vec<HashSet<String>> = vec![HashSet::new(); RECEIVERS];
    for n in 0..events {
        let to = n % RECEIVERS;
        let event = control.test_webhook(&hooks[to].1.id).await.unwrap().event_id;
        assert!(sent[to].insert(event.to_string()), "every event has its own id");
        if n % (events / 5) == events / 5 - 1 {
            control.advance(Duration::from_secs(minutes(1))).await.unwrap();
        }
    }
    control.advance(Duration::from_secs(hours(30))).await.unwrap();

    assert_eq!(kit.queued().await, 0, "nothing is left over");
    let mut delivered = 0;
    for ((receiver, hook), sent) in hooks.iter().zip(&sent) {
        assert_eq!(kit.state_of(hook).await, "on");
        let mut arrived: HashMap<String, Vec<Option<u16>>> = HashMap::new();
        for request in receiver.received() {
            let statuses = arrived.entry(request.id().to_owned()).or_default();
            assert_ne!(statuses.last(), Some(&Some(200)), "{} came again after a 2xx", request.id());
            statuses.push(request.status);
            assert!(request.is_signed_with(&hook.secret));
        }
        let log = kit.deliveries(hook).await;
        let logged: HashMap<String, Vec<Option<u16>>> = log
            .iter()
            .map(|it| {
                let tries = it["attempts"].as_array().unwrap();
                let statuses =
                    tries.iter().map(|it| it["status"].as_u64().map(|status| status as u16)).collect();
                (it["eventId"].as_str().unwrap().to_owned(), statuses)
            })
            .collect();
        assert_eq!(logged, arrived, "the log is what the receiver saw");
        assert_eq!(logged.keys().cloned().collect::<HashSet<_>>(), *sent, "none is lost, none is made up");
        for entry in &log {
            let last = entry["attempts"].as_array().unwrap().last().unwrap();
            let outcome = if last["status"] == 200 { "delivered" } else { "failed" };
            assert_eq!(entry["outcome"], outcome);
            assert!(outcome == "delivered" || tries(entry) == 9);
            delivered += usize::from(outcome == "delivered");
        }
    }
    // Nine failures in a row at three in ten: about one in 50,000.
    assert!(delivered >= events - 3, "{delivered}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_events_of_many_endpoints_are_worked_off() {
    to_endpoints(50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs minutes"]
async fn a_thousand_endpoints_and_ten_thousand_queued_events_are_worked_off() {
    to_endpoints(1_000).await;
}

async fn to_endpoints(endpoints: usize) {
    const EVENTS: usize = 10;
    // The others have nobody who listens.
    let alive = endpoints / 10;
    let kit = Kit::with(patient()).await;
    let receiver = Receiver::answering(503).await;
    let control = kit.mock.control();
    for n in 0..endpoints {
        let url =
            if n < alive { format!("{}/{n}", receiver.url()) } else { "http://127.0.0.1:9/hook".to_owned() };
        control.create_webhook(CreateWebhook::new(url)).await.unwrap();
    }
    let user = kit.person().await;
    for _ in 0..EVENTS {
        let booking = json!({ "hostUserId": user, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z" });
        kit.act("/bookings", booking).await;
    }
    // Not over HTTP, where the client would give up after a while.
    control.advance(Duration::ZERO).await.unwrap();
    assert_eq!(kit.queued().await, endpoints * EVENTS);
    assert_eq!(receiver.count(), alive * EVENTS);

    receiver.answer(200);
    let moved = control.advance(Duration::from_secs(minutes(1))).await.unwrap();
    assert_eq!(moved.fired.len(), endpoints * EVENTS);
    assert_eq!(kit.queued().await, (endpoints - alive) * EVENTS, "those that nobody listens to are tried on");
    let mut arrived: BTreeMap<(String, String), usize> = BTreeMap::new();
    for request in receiver.received().iter().filter(|request| request.status == Some(200)) {
        *arrived.entry((request.path.clone(), request.id().to_owned())).or_default() += 1;
    }
    assert_eq!(arrived.len(), alive * EVENTS);
    assert!(arrived.values().all(|times| *times == 1));
    let state: Value = kit.look("/state").await;
    assert_eq!(state["webhooks"]["log"].as_object().unwrap().len(), EVENTS, "each event is kept once");
}
