//! The rules of a replay guard, as tests that any guard can run.

use std::fmt::Debug;
use std::time::Duration;

use futures_util::future::join_all;

use Claim::{DeadLettered, Done, InProgress};
use ClaimStatus::{Held, Lost};
use Step::{
    Abandon, Bury, Commit, Discard, Forget, Granted, Listed, Pass, PassRetryWindows, Rejected, Release,
    Renew, Retry, Run,
};
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, CountedClaim, DeadLetter, DeadLetterGuard, Delivery, FencingToken, GuardError,
    RETRY_WINDOW, ReplayGuard,
};

/// Checks every rule of [`ReplayGuard`] but how long a handled event is kept. `pass` lets that much time go
/// by, by the guard's own clock. Uses deliveries of its own names, and may be run on a store that holds
/// others.
pub(crate) async fn check<G: ReplayGuard + ?Sized>(guard: &G, pass: &impl AsyncFn(Duration)) {
    for (rule, steps) in RULES {
        let mut trial = Trial::new(guard, pass, rule);
        for step in *steps {
            trial.take(*step).await;
        }
    }
    endpoints_and_events_are_told_apart(guard).await;
    of_many_claims_at_once_one_is_granted(guard).await;
}

/// Checks every rule of [`DeadLetterGuard`], as [`check`] does those of [`ReplayGuard`]. The guard must hold
/// no dead letter, and holds none afterwards.
pub(crate) async fn check_dead_letters<G: DeadLetterGuard + ?Sized>(
    guard: &G,
    pass: &impl AsyncFn(Duration),
) {
    for (rule, steps) in DEAD_LETTER_RULES {
        let mut trial = Trial::new(guard, pass, rule);
        for step in *steps {
            trial.take_with_dead_letters(*step).await;
        }
    }
    dead_letters_are_listed_oldest_first(guard, pass).await;
}

/// Checks that a handled event is remembered for `retention`, and forgotten after it.
pub(crate) async fn check_retention<G: ReplayGuard + ?Sized>(
    guard: &G,
    retention: Duration,
    pass: &impl AsyncFn(Duration),
) {
    let mut trial =
        Trial::new(guard, pass, "a handled event is remembered for as long as the service repeats it");
    trial.take(Granted).await;
    trial.take(Commit(0, Held)).await;
    pass(retention * 9 / 10).await;
    trial.take(Rejected(Done)).await;
    pass(retention / 5).await;
    trial.take(Granted).await;
    trial.take(Release(1, Held)).await;
}

/// A step of a rule, with its result. Claims are named by the order in which they were granted, from 0; one
/// that was not granted has a fence that no guard grants.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A claim, which is granted with a larger fence than any before it.
    Granted,
    Rejected(Claim),
    Renew(usize, ClaimStatus),
    Commit(usize, ClaimStatus),
    Release(usize, ClaimStatus),
    Abandon(usize),
    Forget(bool),
    /// Time passes, in percent of the lease.
    Pass(u32),
    PassRetryWindows(u32),
    /// A claim that counts, granted as this run, after one that lapsed or not.
    Run(u32, bool),
    /// Makes the event a dead letter after this many attempts.
    Bury(usize, u32, ClaimStatus),
    /// A retry, which is granted like a claim, or not.
    Retry(bool),
    /// There is one dead letter, of this event after this many attempts; of none, there is none.
    Listed(u32),
    Discard(bool),
}

type Rules = &'static [(&'static str, &'static [Step])];

#[rustfmt::skip]
const RULES: Rules = &[
    ("one claim is granted, and another attempt waits", &[Granted, Rejected(InProgress), Release(0, Held)]),
    ("a handled event is done, for longer than a lease",
        &[Granted, Commit(0, Held), Rejected(Done), Pass(150), Rejected(Done)]),
    ("a released claim can be taken again, with a larger fence",
        &[Granted, Release(0, Held), Granted, Release(1, Held), Granted, Release(2, Held), Granted, Release(3, Held)]),
    ("a claim runs out, and not before",
        &[Granted, Pass(60), Rejected(InProgress), Pass(60), Granted, Release(1, Held)]),
    ("a renewed claim lasts another lease",
        &[Granted, Pass(60), Renew(0, Held), Pass(60), Renew(0, Held), Pass(60), Renew(0, Held), Pass(60),
        Rejected(InProgress), Pass(60), Granted, Renew(0, Lost), Release(1, Held)]),
    ("a claim that ran out is its holder's until another takes it",
        &[Granted, Pass(150), Renew(0, Held), Rejected(InProgress), Pass(150), Commit(0, Held), Rejected(Done)]),
    ("a holder that was overtaken can change nothing",
        &[Granted, Pass(150), Granted, Renew(0, Lost), Commit(0, Lost), Release(0, Lost), Abandon(0),
        Rejected(InProgress), Release(1, Held), Commit(0, Lost), Commit(1, Lost), Granted, Commit(1, Lost),
        Commit(2, Held), Commit(0, Lost), Release(0, Lost), Rejected(Done)]),
    ("every step may be repeated, and a release does not undo a commit",
        &[Granted, Renew(0, Held), Renew(0, Held), Commit(0, Held), Commit(0, Held), Renew(0, Lost), Release(0, Lost),
        Rejected(Done)]),
    ("a claim is released once", &[Granted, Release(0, Held), Release(0, Lost)]),
    ("a claim that was never granted changes nothing",
        &[Commit(0, Lost), Granted, Commit(1, Lost), Rejected(InProgress), Release(0, Held)]),
    ("a handled event is handled again once it is forgotten",
        &[Forget(false), Granted, Forget(false), Rejected(InProgress), Commit(0, Held), Forget(true), Forget(false),
        Granted, Commit(0, Lost), Commit(1, Held), Rejected(Done)]),
];

#[rustfmt::skip]
const DEAD_LETTER_RULES: Rules = &[
    ("runs are counted until one succeeds or is forgotten",
        &[Run(1, false), Release(0, Held), Run(2, false), Pass(150), Run(3, true), Rejected(InProgress),
        Release(2, Held), Run(4, false), Commit(3, Held), Forget(true), Run(1, false), Release(4, Held)]),
    ("a dead letter is kept whole, and its event is granted to a retry alone",
        &[Run(1, false), Bury(0, 1, Held), Rejected(DeadLettered), PassRetryWindows(2), Rejected(DeadLettered), Listed(1),
        Retry(true), Rejected(InProgress), Retry(false), Renew(1, Held), Commit(1, Held), Commit(1, Held), Rejected(Done),
        Listed(0), Retry(false)]),
    ("a retry that does not succeed leaves the dead letter",
        &[Run(1, false), Bury(0, 1, Held), Retry(true), Release(1, Held), Rejected(DeadLettered), Retry(true), Pass(150),
        Rejected(DeadLettered), Retry(true), Bury(2, 7, Lost), Commit(2, Lost), Release(2, Lost), Bury(3, 2, Held), Bury(3, 2, Held),
        Commit(3, Lost), Listed(2), Discard(true), Bury(3, 2, Lost)]),
    ("a dead letter can be discarded, and its event is not handled again",
        &[Run(1, false), Bury(0, 1, Held), Retry(true), Discard(false), Release(1, Held), Discard(true), Discard(false),
        Rejected(Done), Listed(0), Forget(true), Run(1, false), Release(2, Held)]),
];

/// One rule, tried on an event of its own.
struct Trial<'a, G: ?Sized, P> {
    guard: &'a G,
    pass: &'a P,
    event: Delivery,
    fences: Vec<FencingToken>,
    letter: DeadLetter,
}

impl<'a, G: ReplayGuard + ?Sized, P: AsyncFn(Duration)> Trial<'a, G, P> {
    fn new(guard: &'a G, pass: &'a P, rule: &str) -> Self {
        let event = Delivery::new("suite", rule).with_event_type("suite.test").with_body(*b"{\"id\":\0\xff}");
        Self { guard, pass, letter: DeadLetter::new(event.clone(), 1, ""), event, fences: Vec::new() }
    }

    fn expect<T: PartialEq + Debug>(&self, step: Step, result: Result<T, GuardError>, expected: T) {
        let rule = self.event.event();
        let result = result.unwrap_or_else(|error| panic!("{rule}: {step:?}: {error}"));
        assert_eq!(result, expected, "{rule}: {step:?}, after these claims: {:?}", self.fences);
    }

    fn grant(&mut self, step: Step, fence: Option<FencingToken>) {
        let rule = self.event.event();
        let fence = fence.unwrap_or_else(|| panic!("{rule}: {step:?} is not granted"));
        assert!(self.fences.last() < Some(&fence), "{rule}: fences grow, and {fence:?} is {:?}", self.fences);
        self.fences.push(fence);
    }

    async fn take(&mut self, step: Step) {
        let (guard, event) = (self.guard, &self.event);
        let fence =
            |place: usize| self.fences.get(place).copied().unwrap_or(FencingToken::new(u64::from(u32::MAX)));
        match step {
            Granted => {
                let claim = guard.claim(event).await;
                let fence = if let Ok(Claim::Granted(fence)) = claim { Some(fence) } else { None };
                self.grant(step, fence);
            }
            Rejected(claim) => self.expect(step, guard.claim(event).await, claim),
            Renew(place, status) => self.expect(step, guard.renew(event, fence(place)).await, status),
            Commit(place, status) => self.expect(step, guard.commit(event, fence(place)).await, status),
            Release(place, status) => self.expect(step, guard.release(event, fence(place)).await, status),
            Abandon(place) => guard.abandon(event, fence(place)),
            Forget(known) => self.expect(step, guard.forget(event).await, known),
            Pass(percent) => (self.pass)(guard.lease_time() / 100 * percent).await,
            PassRetryWindows(times) => (self.pass)(RETRY_WINDOW * times).await,
            Run(..) | Bury(..) | Retry(_) | Listed(_) | Discard(_) => {
                unreachable!("a step of dead letters")
            }
        }
    }
}

impl<G: DeadLetterGuard + ?Sized, P: AsyncFn(Duration)> Trial<'_, G, P> {
    async fn take_with_dead_letters(&mut self, step: Step) {
        let (guard, event) = (self.guard, &self.event);
        match step {
            Run(run, has_lapsed) => {
                let counted = guard.claim_run(event).await.unwrap_or(InProgress.into());
                let Claim::Granted(fence) = counted.claim else { return self.grant(step, None) };
                self.expect(step, Ok(counted), CountedClaim::granted(fence, run, has_lapsed));
                self.grant(step, Some(fence));
            }
            Bury(place, attempts, status) => {
                let error = format!("failure {attempts}: \u{1f4a5}");
                let letter = DeadLetter::new(event.clone(), attempts, &error);
                self.expect(step, guard.bury(&letter, self.fences[place]).await, status);
                if status == Held {
                    self.letter = letter;
                }
            }
            Retry(true) => {
                let granted = guard.claim_dead_letter(event).await.ok().flatten();
                let (fence, letter) = granted.unzip();
                self.expect_letters(step, Ok(letter.into_iter().collect()));
                self.grant(step, fence);
            }
            Retry(false) => self.expect(step, guard.claim_dead_letter(event).await, None),
            Listed(0) => self.expect(step, guard.dead_letters(100).await, Vec::new()),
            Listed(_) => self.expect_letters(step, guard.dead_letters(100).await),
            Discard(known) => self.expect(step, guard.discard(event).await, known),
            Rejected(claim) => {
                let counted = guard.claim_run(event).await;
                self.expect(step, counted.map(|counted| counted.claim), claim);
                self.take(step).await;
            }
            other => self.take(other).await,
        }
    }

    /// Expects the dead letter that was kept last, whole, and no other.
    fn expect_letters(&self, step: Step, letters: Result<Vec<DeadLetter>, GuardError>) {
        let whole = |letter: DeadLetter| {
            let (event_type, body) =
                (letter.delivery().event_type().map(str::to_owned), letter.body().to_vec());
            (letter, event_type, body)
        };
        let letters = letters.map(|letters| letters.into_iter().map(whole).collect());
        self.expect(step, letters, vec![whole(self.letter.clone())]);
    }
}

async fn endpoints_and_events_are_told_apart<G: ReplayGuard + ?Sized>(guard: &G) {
    let names =
        [("a", "bc"), ("b", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), ("1:a", "bc"), ("a:b", "c")];
    let names = names.into_iter().chain([("a", "b:c"), ("ü}{", "'\"\\")]);
    let events: Vec<_> =
        names.map(|(endpoint, event)| Delivery::new(format!("suite{endpoint}"), event)).collect();
    let claims = join_all(events.iter().map(|event| guard.claim(event))).await;
    for (event, claim) in events.iter().zip(claims) {
        let Ok(Claim::Granted(fence)) = claim else { panic!("{event:?} is taken for another: {claim:?}") };
        assert_eq!(guard.release(event, fence).await.ok(), Some(Held), "{event:?} is taken for another");
    }
}

async fn of_many_claims_at_once_one_is_granted<G: ReplayGuard + ?Sized>(guard: &G) {
    let event = Delivery::new("suite", "of many claims at once one is granted");
    let claims = join_all((0..32).map(|_| guard.claim(&event))).await;
    let (mut fences, mut rejected) = (Vec::new(), 0);
    for claim in claims {
        match claim {
            Ok(Claim::Granted(fence)) => fences.push(fence),
            other => rejected += usize::from(other.is_ok_and(|claim| claim == InProgress)),
        }
    }
    assert_eq!((fences.len(), rejected), (1, 31), "{}", event.event());
    assert_eq!(guard.release(&event, fences[0]).await.ok(), Some(Held), "{}", event.event());
}

async fn dead_letters_are_listed_oldest_first<G: DeadLetterGuard + ?Sized>(
    guard: &G,
    pass: &impl AsyncFn(Duration),
) {
    let mut trials =
        ["dead letter c", "dead letter a", "dead letter b"].map(|name| Trial::new(guard, pass, name));
    for trial in &mut trials {
        for step in [Run(1, false), Bury(0, 1, Held)] {
            trial.take_with_dead_letters(step).await;
        }
    }
    // One whose retry fails keeps its place.
    for step in [Retry(true), Bury(1, 2, Held)] {
        trials[0].take_with_dead_letters(step).await;
    }
    let letters = trials.map(|trial| trial.letter).to_vec();
    let listed = [guard.dead_letters(100).await, guard.dead_letters(2).await].map(|listed| listed.ok());
    let expected = [Some(letters.clone()), Some(letters[..2].to_vec())];
    assert_eq!(listed, expected, "dead letters are listed oldest first, and no more than were asked for");
    for letter in letters {
        assert_eq!(guard.discard(letter.delivery()).await.ok(), Some(true), "{letter:?} is discarded");
    }
}
