//! The script in virtual time: real minutes in a store whose clock is a number that the test says.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use redis::aio::MultiplexedConnection;
use shared_inbox_tests::stores::{self, Store};

const MINUTE: u64 = 60_000;
const LIMIT: usize = 120;
/// Span, how far ahead bulk calls and interactive ones may reserve, the gap; then bytes of places: those that
/// bulk calls leave free, the common ones, those of bulk calls and of read-backs.
const RULES: [f64; 8] = [61_000.0, 5_000.0, 30_000.0, 277.0, 160.0, 800.0, 80.0, 80.0];
/// When it begins, by the store's clock.
const START: u64 = 1_800_000_000_000;

struct Simulation {
    _store: Store,
    connection: MultiplexedConnection,
    script: redis::Script,
    /// The version of the state that was told last.
    seen: u64,
    /// How many reports were sent.
    reported: usize,
}

/// A pool (0: none), and how long to wait.
type Answer = (u64, u64);

impl Simulation {
    async fn new() -> Self {
        let store = stores::valkey();
        let client = redis::Client::open(store.url()).unwrap();
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let script = include_str!("../../../stores/src/redis/limiter/reserve.lua");
        // The time is the last word.
        let with_clock =
            script.replace("call('TIME')", "{math.floor(ARGV[4] / 1000), ARGV[4] % 1000 * 1000}");
        assert!(!with_clock.contains("'TIME'"));
        let script = redis::Script::new(&with_clock);
        let mut simulation = Self { _store: store, connection, script, seen: 0, reported: 0 };
        simulation.call(START, -1, &[], &[]).await;
        simulation
    }

    /// The time that the store takes it to be, and an answer to each question.
    async fn call(
        &mut self,
        clock: u64,
        hold: i32,
        given_back: &[(u64, u64)],
        questions: &[(u8, u64)],
    ) -> (u64, Vec<Answer>) {
        let mut call = self.script.key("simulation");
        call.key("simulation:reports");
        let bytes = |words: &[f64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut head = RULES.to_vec();
        head.extend([f64::from(hold), 0.0, 0.0, self.seen as f64, (self.reported + 1) as f64]);
        let questions: Vec<_> = questions.iter().flat_map(|it| [f64::from(it.0), it.1 as f64]).collect();
        let given_back: Vec<_> = given_back.iter().flat_map(|it| [it.0 as f64, it.1 as f64, 0.0]).collect();
        call.arg(bytes(&head)).arg(bytes(&questions)).arg(bytes(&given_back)).arg(clock);
        let reply: Vec<u8> = call.invoke_async(&mut self.connection).await.unwrap();
        let words: Vec<_> = reply.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word) as u64).collect();
        self.seen = words[3];
        (words[1], words[5..].chunks(3).map(|answer| (answer[0], answer[1])).collect())
    }
}

/// The most requests in any window.
fn worst_window(sent: &mut [u64]) -> usize {
    sent.sort_unstable();
    let within = |at: &u64| sent.iter().filter(|other| **other >= *at && **other < at + MINUTE).count();
    sent.iter().map(within).max().unwrap_or(0)
}

#[tokio::test]
async fn the_limit_holds_whoever_asks_gives_back_loses_replies_or_sets_the_clock_back() {
    let mut simulation = Simulation::new().await;
    let mut random = StdRng::seed_from_u64(7);
    let (mut now, mut behind, mut sent, mut given_back) = (0, 0, Vec::new(), Vec::new());
    for _ in 0..4_000 {
        now += match random.random_range(0..100) {
            0 => random.random_range(0..MINUTE),
            1..40 => random.random_range(0..400),
            _ => 0,
        };
        if random.random_range(0..300) == 0 {
            behind += random.random_range(0..200_000);
        }
        let question = (random.random_range(0..3), [0, 30_000, 120_000, 600_000][random.random_range(0..4)]);
        let returned = std::mem::take(&mut given_back);
        if random.random_range(0..4) == 0 {
            // A reply that is lost: the process reports the same again.
            simulation.call(START + now - behind, 0, &returned, &[]).await;
        }
        let (time, answers) = simulation.call(START + now - behind, 0, &returned, &[question]).await;
        simulation.reported += returned.len();
        let (pool, wait) = answers[0];
        if pool == 0 {
            continue;
        }
        assert!(wait <= question.1, "{wait} ms for a call that has {}", question.1);
        if random.random_range(0..7) == 0 {
            given_back.push((pool, time + wait));
        } else {
            sent.push(now + wait);
        }
    }
    let worst = worst_window(&mut sent);
    eprintln!("{} requests, {worst} at most in a window", sent.len());
    assert!(worst <= LIMIT, "{worst} in a window");
    assert!(sent.len() > 1_000, "{}", sent.len());
}
