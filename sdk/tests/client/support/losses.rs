//! The ways to lose a response after the request took effect, and what a client makes of each.

use std::time::Duration;

use futures_util::future::join_all;
use shared_inbox::{Certainty, ClientBuilder, clock::Clock};

use super::{Kind, Outcome, Service, conversation_id, create};

/// A way to lose a response.
pub struct Loss {
    pub name: &'static str,
    pub outcome: Outcome,
    /// How long it takes until the loss is noticed.
    pub late: Duration,
}

const fn loss(name: &'static str, outcome: Outcome, late_secs: u64) -> Loss {
    Loss { name, outcome, late: Duration::from_secs(late_secs) }
}

pub const LOSSES: [Loss; 7] = [
    loss("connection dropped at once", Outcome::LostAfter, 0),
    loss("connection dropped after 1 s", Outcome::LostAfter, 1),
    loss("connection dropped after 4 s", Outcome::LostAfter, 4),
    loss("response slower than the timeout", Outcome::Hangs, 30),
    loss("500 after the effect", Outcome::After(500), 0),
    loss("502 after the effect", Outcome::After(502), 0),
    loss("truncated response", Outcome::Truncated, 0),
];

/// What a client has made of creates whose responses were lost.
#[derive(Default, Debug)]
pub struct Measured {
    pub recovered: usize,
    pub unknown: usize,
    pub duplicates: usize,
    /// Claims that do not fit what was stored.
    pub false_words: usize,
    /// How long after the loss was noticed the caller knew, in the client's time.
    pub known_after: Vec<Duration>,
}

impl Measured {
    pub fn median(&self) -> Duration {
        let mut all = self.known_after.clone();
        all.sort();
        all.get(all.len() / 2).copied().unwrap_or_default()
    }
}

/// Creates so many items, each in a conversation of its own by a client of its own, and loses each response.
pub async fn measure(
    loss: &Loss,
    kind: Kind,
    creates: u32,
    settings: fn(ClientBuilder) -> ClientBuilder,
) -> Measured {
    let mut measured = Measured::default();
    let runs = (0..creates).map(|n| async move {
        let service = Service::start().await;
        service.state().behavior.lingers = loss.late;
        let mut builder = settings(service.builder());
        if loss.outcome == Outcome::Hangs {
            // The time of an attempt is real; what the service makes of it is not.
            builder = builder.timeout(Duration::from_secs(1));
        }
        let client = builder.build().unwrap();
        let thread = client.conversation(&conversation_id());
        // At any moment within a second, in a conversation that is in use, by a client that is.
        service.teammate_writes("sent", "Good morning!", Duration::ZERO);
        service.clock.leap(Duration::from_millis(600_000 + u64::from(n) * 37 % 1_000));
        client.me().await.unwrap();
        service.clock.leap(Duration::from_millis(u64::from(n) * 7_919 % 90_000));
        service.next_posts([loss.outcome]);
        let started = service.clock.now();
        let result = create(&thread, kind, "Your refund is on its way.").await;
        let known_after = service.clock.now().saturating_duration_since(started + loss.late);
        (result.map_err(|error| error.certainty()), service.stored(), known_after)
    });
    for (result, stored, known_after) in join_all(runs).await {
        measured.duplicates += usize::from(stored > 1);
        measured.known_after.push(known_after);
        match result {
            Ok(recovered) => {
                measured.recovered += usize::from(recovered && stored == 1);
                measured.false_words += usize::from(!recovered || stored != 1);
            }
            Err(Certainty::Unknown) => measured.unknown += 1,
            Err(_) => measured.false_words += 1,
        }
    }
    measured
}
