//! The service's side: signs events, delivers each of them three times to receivers at random, and disturbs
//! them on the way.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use shared_inbox_webhooks::{Secret, Signer};

use super::{
    process::Process,
    roles::{Role, SECRET},
};

const RECEIVERS: usize = 8;
/// How many requests are under way at once.
const SENDERS: usize = 24;
/// How often receivers are disturbed while events are delivered.
const DISTURBANCES: usize = 10;
/// How long an answer may take. A receiver that stands still answers when it goes on.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Signs an event, sends it, and says how it was answered.
#[derive(Clone)]
pub(crate) struct Service {
    client: reqwest::Client,
    signer: Arc<Signer>,
}

impl Service {
    pub(crate) fn new() -> Self {
        // An error means that a provider is installed.
        _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build().expect("a client");
        let signer = Signer::new([Secret::parse(SECRET).expect("a secret")]);
        Self { client, signer: Arc::new(signer) }
    }

    /// The status; nothing when the receiver is gone.
    pub(crate) async fn send(&self, event: &str, url: &str) -> Option<u16> {
        let body = body(event);
        let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        let signed = self.signer.sign(event, now, body.as_bytes());
        let request =
            signed.pairs().into_iter().fold(self.client.post(url), |r, (name, value)| r.header(name, value));
        Some(request.body(body).send().await.ok()?.status().as_u16())
    }

    /// Tries again until it is taken, with any of these receivers. Whatever is not a success is repeated, as
    /// the service does.
    pub(crate) async fn deliver(&self, event: &str, fleet: &Fleet, random: &mut StdRng) {
        const TRIES: usize = 5_000;
        let mut last = None;
        for _ in 0..TRIES {
            // The address alone: whoever holds on to a process keeps it from being killed.
            let url = fleet.any(random).url.clone();
            last = self.send(event, &url).await;
            if last == Some(200) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{event} was not taken in {TRIES} tries, the last answered with {last:?}");
    }
}

/// Receivers that share a store.
#[derive(Clone)]
pub(crate) struct Fleet(Arc<Mutex<Vec<Arc<Process>>>>);

impl Fleet {
    pub(crate) fn start(role: Role, store: &str, lease: Duration) -> Self {
        let processes = (0..RECEIVERS).map(|_| Arc::new(Process::start(role, store, lease)));
        Self(Arc::new(Mutex::new(processes.collect())))
    }

    fn any(&self, random: &mut StdRng) -> Arc<Process> {
        let processes = self.0.lock().expect("nobody panicked");
        Arc::clone(&processes[random.random_range(0..processes.len())])
    }

    /// Kills one of them, when the new one that takes its place is there.
    pub(crate) fn replace_one(&self, random: &mut StdRng, next: Process) {
        let mut processes = self.0.lock().expect("nobody panicked");
        let place = random.random_range(0..processes.len());
        processes[place] = Arc::new(next);
    }

    /// Lets one of them stand still for so long.
    pub(crate) fn stop_one(&self, random: &mut StdRng, time: Duration) {
        let process = self.any(random);
        process.stop();
        std::thread::sleep(time);
        process.signal("CONT");
    }
}

/// What an event is sent with.
pub(crate) fn body(event: &str) -> String {
    format!(r#"{{"id":"{event}","type":"webhook.test"}}"#)
}

pub(crate) fn name(number: usize) -> String {
    format!("evt_{number}")
}

/// Delivers every event three times, in random order, to receivers at random. `disturb` is called
/// `DISTURBANCES` times on the way, by whichever sender has come so far, with the number of the disturbance;
/// the other senders go on meanwhile.
pub(crate) async fn three_times_each(
    service: &Service,
    fleet: &Fleet,
    events: usize,
    disturb: impl Fn(usize, &mut StdRng) + Send + Sync + 'static,
) {
    let mut order: Vec<usize> = (0..3 * events).map(|n| n % events).collect();
    order.shuffle(&mut StdRng::seed_from_u64(7));
    let every = order.len().div_ceil(DISTURBANCES);
    let shared = Arc::new((order, AtomicUsize::new(0), disturb));
    let senders = (0..SENDERS).map(|number| {
        let (shared, fleet, service) = (Arc::clone(&shared), fleet.clone(), service.clone());
        tokio::spawn(async move {
            let (order, next, disturb) = &*shared;
            let mut random = StdRng::seed_from_u64(number as u64);
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(event) = order.get(place) else { return };
                if place % every == every / 2 {
                    tokio::task::block_in_place(|| disturb(place / every, &mut random));
                }
                service.deliver(&name(*event), &fleet, &mut random).await;
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.expect("every delivery is taken in the end");
    }
}
