//! Dead letters in a store, while receivers are killed and stand still.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{DeadLetterGuard, Delivery, HandleError, Handled, Handlers};

use super::{
    LONG_LEASE, SHORT_LEASE, effects_in, end_leases, events, is_redis, kills_and_stops, prepare,
    process::Process,
    roles::{MAX_ATTEMPTS, Role, always_fails},
    service::{Fleet, Service, body, name, three_times_each},
};
use crate::support::{postgres, redis};

/// The handlers of an operator's program on the same store.
async fn operator(store: &str) -> Handlers<Arc<dyn DeadLetterGuard>> {
    let guard: Arc<dyn DeadLetterGuard> = if is_redis(store) {
        Arc::new(redis(store).await.guard().lease(LONG_LEASE))
    } else {
        Arc::new(postgres(store).await.guard().lease(LONG_LEASE))
    };
    Handlers::new(guard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_that_always_fails_is_a_dead_letter_whoever_was_killed_and_a_retry_handles_it_once() {
    for store in [stores::valkey(), stores::postgres()] {
        let (url, events) = (prepare(&store).await, events() / 4);
        let fleet = Fleet::start(Role::Fails, &url, SHORT_LEASE);
        let disturb = kills_and_stops(&fleet, Role::Fails, &url);
        three_times_each(&Service::new(), &fleet, events, disturb).await;
        drop(fleet);
        let (runs, operator) = (effects_in(&url).await, operator(&url).await);
        let letters = operator.dead_letters(events).await.expect("a list");
        let failing: BTreeSet<String> = (0..events).map(name).filter(|event| always_fails(event)).collect();
        let mut kept = BTreeSet::new();
        for letter in &letters {
            let event = letter.delivery().event();
            assert_eq!(letter.body(), body(event).as_bytes(), "{event}");
            // A receiver that is killed between its claim and the burial has counted one more.
            assert!(letter.attempts() >= MAX_ATTEMPTS, "{event}: {}", letter.attempts());
            let never_ended = letter.error().contains("never ended");
            assert!(never_ended || letter.error().contains("always fails"), "{event}: {}", letter.error());
            // One that succeeds is here only if it never came to its end.
            assert!(failing.contains(event) || never_ended, "{event}: {}", letter.error());
            kept.insert(event.to_owned());
        }
        assert!(kept.is_superset(&failing), "lost: {:?}", failing.difference(&kept).collect::<Vec<_>>());
        for event in &failing {
            let runs = runs.get(event).copied().unwrap_or_default();
            assert!(runs <= u64::from(MAX_ATTEMPTS), "{event} was run {runs} times");
        }
        // Two operators at once.
        let handled = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let retries = [(), ()].map(|()| {
            let (operator, letters, handled) = (operator.clone(), letters.clone(), Arc::clone(&handled));
            tokio::spawn(async move {
                for letter in letters {
                    let handled = Arc::clone(&handled);
                    let retry = operator.retry(letter.delivery(), async move |letter, _| {
                        let event = letter.delivery().event().to_owned();
                        *handled.lock().expect("nobody panicked").entry(event).or_default() += 1;
                        Ok::<_, std::fmt::Error>(())
                    });
                    match retry.await {
                        Ok(Handled::Ran(())) | Err(HandleError::NoDeadLetter) => {}
                        other => panic!("{other:?}"),
                    }
                }
            })
        });
        for retry in retries {
            retry.await.expect("it ends");
        }
        let handled = handled.lock().expect("nobody panicked").clone();
        assert!(handled.len() == kept.len() && handled.values().all(|runs| *runs == 1), "{handled:?}");
        assert!(operator.dead_letters(1).await.expect("a list").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_is_still_there_when_the_process_that_retried_it_was_killed() {
    for store in [stores::valkey(), stores::postgres()] {
        let url = prepare(&store).await;
        let receiver = Process::start(Role::Fails, &url, LONG_LEASE);
        let service = Service::new();
        for expected in [500, 500, 200] {
            assert_eq!(service.send("evt_0", &receiver.url).await, Some(expected));
        }
        let operator = operator(&url).await;
        let letters = operator.dead_letters(10).await.expect("a list");
        assert_eq!((letters.len(), letters[0].attempts()), (1, MAX_ATTEMPTS));
        let victim = Process::start(Role::Retries, &url, LONG_LEASE);
        tokio::task::block_in_place(|| victim.hears("begun "));
        assert_eq!(service.send("evt_0", &receiver.url).await, Some(409), "it is being retried");
        drop(victim);
        let event = Delivery::new("fleet", "evt_0");
        let early =
            operator.retry(&event, async |_, _| panic!("side by side") as Result<(), std::fmt::Error>);
        assert!(matches!(early.await, Err(HandleError::NoDeadLetter)), "its lease is not over");
        assert_eq!(operator.dead_letters(10).await.expect("a list"), letters, "nothing is lost");
        end_leases(&url).await;
        assert_eq!(service.send("evt_0", &receiver.url).await, Some(200), "it is a dead letter again");
        let retried = operator.retry(&event, async |letter, _| {
            assert_eq!(letter.body(), body("evt_0").as_bytes());
            Ok::<_, std::fmt::Error>(())
        });
        assert!(matches!(retried.await, Ok(Handled::Ran(()))));
        assert_eq!(service.send("evt_0", &receiver.url).await, Some(200), "it was handled");
        assert!(operator.dead_letters(10).await.expect("a list").is_empty());
    }
}
