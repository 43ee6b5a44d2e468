//! Creates at a service that is not ours and has a bad day: it rewrites, renames, shows late, tells a wrong
//! time or none, loses and repeats, while others write in the same conversation and the rate limit holds
//! calls up.
//!
//! Whatever happens: a create happened exactly once, or the error says so; nothing is claimed that is not so.
//! A run is told by its seed: `CHAOS_SEED=7 CHAOS_CALLS=10000 cargo test -p shared-inbox --test client
//! at_random` plays another one, and the same one again.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng, seq::IndexedRandom};

use crate::support::{
    KINDS, Kind, Outcome, Service, assert_honest, conversation_id, create_with, from_env, key, rewrites,
};
use shared_inbox::create::{Lookup, Verification};

/// How many creates meet one service before the next one takes its place.
const LIFE: usize = 8;

fn outcome(rng: &mut StdRng) -> Outcome {
    *[
        Outcome::Good,
        Outcome::LostAfter,
        Outcome::LostAfter,
        Outcome::LostBefore,
        Outcome::LostBefore,
        Outcome::After(500),
        Outcome::After(502),
        Outcome::After(504),
        Outcome::Before(500),
        Outcome::Before(503),
        Outcome::Before(501),
        Outcome::Before(429),
        Outcome::Before(403),
        Outcome::AfterAsking(503, 25),
        Outcome::Says("<html>Bad gateway</html>"),
        Outcome::Claims(r#"{"ok":false}"#),
    ]
    .choose(rng)
    .unwrap()
}

async fn service(rng: &mut StdRng) -> Service {
    let service = Service::start().await;
    {
        let behavior = &mut service.state().behavior;
        if rng.random_bool(0.4) {
            behavior.rewrite = rewrites::ALL.choose(rng).unwrap().1;
        }
        behavior.author = *["Robin", "Robin", "Robin", "Robin II", "Robin (agent)"].choose(rng).unwrap();
        behavior.lists_us = rng.random_bool(0.7);
        behavior.shown_as = rng.random_bool(0.1).then_some("memo");
        behavior.shows_after = Duration::from_secs(*[0, 0, 2, 9].choose(rng).unwrap());
        behavior.takes = Duration::from_millis(*[0, 0, 40, 1_900, 3_000, 20_000].choose(rng).unwrap());
        // Right, never told, or by another clock than that of the items.
        behavior.date =
            *[Some(0), Some(0), Some(0), Some(0), None, Some(3600), Some(-3600)].choose(rng).unwrap();
        behavior.stamp_off = *[0, 0, 0, -55, -20, 20, 55].choose(rng).unwrap();
        behavior.echoes = rng.random_bool(0.3);
    }
    service
}

/// Machines of the service disagree by less than a minute, so it may date what is as old as this like our
/// own.
const SAME_TIME: u64 = 65_000;

/// What else happens before a create. Says whether another process has made the same at the same time, by a
/// clock that may be off: then theirs may be taken for ours, and the text stands there once.
fn meanwhile(rng: &mut StdRng, service: &Service, kind: Kind, text: &str) -> bool {
    match rng.random_range(0..12) {
        0 => service.teammate_notes("Anna", text, Duration::from_secs(1)),
        1 => service.teammate_notes("Carl", "Called them back", Duration::from_secs(1)),
        2 => service.teammate_writes("draft", "Something else", Duration::from_secs(1)),
        // The same, by another process with this key: a while ago, or a moment ago.
        3 | 4 => {
            service.twin_makes(kind, text);
            let ago = *[0, 1, 300, 999, 1_000, 2_000, 3_500, 30_000, 100_000].choose(rng).unwrap();
            service.clock.leap(Duration::from_millis(ago));
            return ago <= SAME_TIME;
        }
        5 => {
            let date = &mut service.state().behavior.date;
            *date = date.map(|_| *[0, 0, 3600, -3600].choose(rng).unwrap());
        }
        6 => service.clock.leap(Duration::from_secs(rng.random_range(0..900))),
        _ => {}
    }
    false
}

#[derive(Default, Debug)]
struct Tally {
    succeeded: usize,
    recovered: usize,
    unknown: usize,
    found_later: usize,
    not_found_later: usize,
}

#[tokio::test]
async fn whatever_a_foreign_service_does_nothing_is_made_twice_and_no_word_is_false() {
    let (seed, calls) = (from_env("CHAOS_SEED", 20_261_115), from_env("CHAOS_CALLS", 200));
    println!("CHAOS_SEED={seed} CHAOS_CALLS={calls}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    for life in 0..(calls as usize).div_ceil(LIFE) {
        let service = service(&mut rng).await;
        let limit = *[20, 30, 120].choose(&mut rng).unwrap();
        let patience = Duration::from_secs(3600);
        let client = service.builder().rate_limit(limit).deadline(patience).build().unwrap();
        let thread = client.conversation(&conversation_id());
        if rng.random_bool(0.5) {
            let _ = thread.get().await;
        }
        for n in 0..LIFE {
            let text = match rng.random_bool(0.3) {
                true => format!("{} (again)", rewrites::TEXT),
                false => format!("{} ({n})", rewrites::TEXT),
            };
            if rng.random_bool(0.3) {
                let _ = thread.get().await;
            }
            let kind = *KINDS.choose(&mut rng).unwrap();
            let by_another = meanwhile(&mut rng, &service, kind, &text);
            let posts: Vec<Outcome> = (0..rng.random_range(0..4)).map(|_| outcome(&mut rng)).collect();
            let gets = (0..rng.random_range(0..4)).map(|_| match outcome(&mut rng) {
                Outcome::Claims(_) | Outcome::Says(_) => Outcome::Good,
                outcome => outcome,
            });
            let gets: Vec<Outcome> = gets.collect();
            service.next_posts(posts.clone());
            service.next_gets(gets.clone());
            let before = service.stored();
            let verification = match rng.random_range(0..10) {
                0 | 1 => Verification::ReadFirst,
                2 => Verification::Never,
                _ => Verification::ReadAfterLoss,
            };
            let result = create_with(&thread, kind, &text, Some(verification)).await;
            let made = service.stored() - before;
            service.clear_faults();
            let is_twins = by_another && made == 0 && matches!(result, Ok(true));
            assert_honest(
                &result,
                if is_twins { 1 } else { made },
                format_args!(
                    "life {life}, call {n}, {kind:?}, {posts:?}, {gets:?}: {text}: {result:?}\n{service}"
                ),
            );
            let error = match result {
                Ok(recovered) => {
                    tally.succeeded += 1;
                    tally.recovered += usize::from(recovered);
                    continue;
                }
                Err(error) => error,
            };
            let shown = format!("{error} {error:?}");
            assert!(
                !shown.contains(&key()) && !shown.contains("3704 0044"),
                "life {life}, call {n}: {shown}"
            );
            let Some(unconfirmed) = error.unconfirmed() else { continue };
            tally.unknown += 1;
            match client.find_unconfirmed(unconfirmed).await.expect("no fault is left") {
                Lookup::Found(_) => {
                    assert!(made == 1 || by_another, "life {life}, call {n}: found later\n{service}");
                    tally.found_later += 1;
                }
                Lookup::NotFound => {
                    assert_eq!(made, 0, "life {life}, call {n}: not found later\n{service}");
                    tally.not_found_later += 1;
                }
                _ => {}
            }
        }
    }
    println!("{tally:?}");
    // A run in which nothing was lost, or nothing was recovered, would prove nothing.
    assert!(tally.recovered > 0 && tally.unknown > 0 && tally.succeeded > calls as usize / 4, "{tally:?}");
    assert!(tally.found_later > 0 && tally.not_found_later > 0, "a look that decides nothing: {tally:?}");
}
