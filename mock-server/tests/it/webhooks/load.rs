//! Many events, many endpoints, failing receivers: nothing is lost, nothing is sent twice, and it ends.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use shared_inbox_mock::{MockServer, MockServerBuilder};

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

/// So many events in all; `SOAK_EVENTS=5000` and more take minutes.
fn events(usually: usize) -> usize {
    std::env::var("SOAK_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(usually)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_to_failing_receivers_arrive_exactly_as_the_log_says() {
    let events = events(400);
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
    // Each event goes to one of them; the clock moves on now and then, so that first tries and later ones
    // mix.
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
async fn an_event_reaches_more_webhooks_than_are_tried_at_once() {
    const WEBHOOKS: usize = 300;
    let (kit, receiver) = (Kit::with(patient()).await, Receiver::answering(503).await);
    for _ in 0..WEBHOOKS {
        kit.hook(&receiver).await;
    }
    kit.mail_in(true, None).await;
    kit.settle().await;
    assert_eq!((receiver.count(), kit.queued().await), (WEBHOOKS, WEBHOOKS));
    receiver.answer(200);
    kit.advance(minutes(1)).await;
    assert_eq!((receiver.count(), kit.queued().await), (2 * WEBHOOKS, 0));
}
