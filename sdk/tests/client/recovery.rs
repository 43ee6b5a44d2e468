//! A lost response is recovered with default settings, at a service that is not ours and behaves: each way to lose one, for
//! each kind of create. `cargo bench -p shared-inbox --bench creates` prints the table.

use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng, seq::IndexedRandom};

use crate::support::losses::{LOSSES, measure};
use crate::support::{KINDS, Outcome, Service, assert_honest, create, from_env};

#[tokio::test]
async fn every_way_to_lose_a_response_is_recovered_within_a_second() {
    // All at once: one of them waits for real seconds.
    let cases = LOSSES.iter().flat_map(|loss| KINDS.map(|kind| (loss, kind)));
    let measured = cases.map(|(loss, kind)| async move {
        let measured = measure(loss, kind, 2, |builder| builder).await;
        (format!("{}, {kind:?}: {measured:?}", loss.name), measured)
    });
    for (case, measured) in join_all(measured).await {
        assert_eq!((measured.recovered, measured.duplicates, measured.false_words), (2, 0, 0), "{case}");
        // Of an attempt whose time is over, the clock of the client has passed nothing.
        assert!(measured.median() <= Duration::from_secs(1), "{case}");
    }
}

#[derive(Default, Debug)]
struct Tally {
    calls: usize,
    recovered: usize,
    /// Creates whose item is in the conversation, and of these, those whose outcome is unknown.
    there: usize,
    unknown: usize,
}

/// `CHAOS_SEED=7 CHAOS_CALLS=10000 cargo test -p shared-inbox --test client a_third` plays another run.
#[tokio::test]
async fn when_a_third_of_calls_meets_a_fault_nearly_every_create_is_known() {
    let (seed, calls) = (from_env("CHAOS_SEED", 24), from_env("CHAOS_CALLS", 300));
    let mut rng = StdRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    for _ in 0..calls.div_ceil(10) {
        let (service, thread) = Service::start_with_thread().await;
        for _ in 0..10 {
            service.clock.leap(Duration::from_millis(rng.random_range(0..20_000)));
            let mut one_of = |millis: [u64; 4]| Duration::from_millis(*millis.choose(&mut rng).unwrap());
            service.state().behavior.takes = one_of([0, 0, 40, 3_000]);
            service.state().behavior.lingers = one_of([0, 0, 900, 4_000]);
            service.state().behavior.shows_after = one_of([0, 0, 0, 3_000]);
            if rng.random_bool(0.1) {
                service.teammate_notes("Anna", "Called them back", Duration::from_secs(1));
            }
            let mut faults =
                || [(); 4].map(|()| if rng.random_bool(0.33) { fault(&mut rng) } else { Outcome::Good });
            service.next_posts(faults());
            service.next_gets(faults());
            let kind = *KINDS.choose(&mut rng).unwrap();
            let text = format!("Words {} of this run", rng.random_range(0..20));
            let before = service.stored();
            let result = create(&thread, kind, &text).await;
            let made = service.stored() - before;
            service.clear_faults();
            assert_honest(
                &result,
                made,
                format_args!("seed {seed}, {kind:?}, {text}: {result:?}\n{service}"),
            );
            tally.calls += 1;
            tally.there += made;
            tally.recovered += usize::from(matches!(result, Ok(true)));
            tally.unknown += if result.is_err() { made } else { 0 };
        }
    }
    println!("CHAOS_SEED={seed} CHAOS_CALLS={calls} {tally:?}");
    assert!(tally.recovered > tally.calls / 20, "{tally:?}");
    assert!(tally.unknown * 100 <= tally.there, "{tally:?}");
}

fn fault(rng: &mut StdRng) -> Outcome {
    *[
        Outcome::LostBefore,
        Outcome::LostAfter,
        Outcome::LostAfter,
        Outcome::Before(429),
        Outcome::Before(500),
        Outcome::Before(503),
        Outcome::After(500),
        Outcome::After(502),
        Outcome::AfterAsking(503, 25),
        Outcome::Truncated,
        Outcome::Says("<html>Bad gateway</html>"),
    ]
    .choose(rng)
    .unwrap()
}
