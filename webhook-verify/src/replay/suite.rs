//! The rules of a guard as tests that any implementation can run: feature `suite`, for the tests of a guard.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//! use std::time::Duration;
//! use shared_inbox_webhooks::replay::{MemoryGuard, RETRY_WINDOW, suite};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let hand = Arc::new(AtomicU64::new(0));
//! let clock = hand.clone();
//! let guard = MemoryGuard::new().clock(move || Duration::from_millis(clock.load(Ordering::SeqCst)));
//! // A guard on a store of its own time has a short lease, and really waits.
//! let pass = async |time: Duration| {
//!     hand.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
//! };
//! suite::check(&guard, &pass).await;
//! suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
//! # }
//! ```

use std::time::Duration;

use super::{Claim, ClaimStatus, Delivery, FencingToken, ReplayGuard};

/// Checks every rule of [`ReplayGuard`] but how long a handled event is kept. `pass` lets that much time go by, by the
/// guard's own clock. Uses deliveries of its own names, and may be run on a store that holds others.
///
/// # Panics
/// When the guard breaks a rule; the message names it.
pub async fn check<G: ReplayGuard + ?Sized>(guard: &G, pass: &impl AsyncFn(Duration)) {
    let rules = Rules { guard, pass };
    rules.one_claim_is_granted_and_the_next_waits().await;
    rules.a_handled_event_is_done().await;
    rules.a_claim_given_back_can_be_taken_again_with_a_larger_fence().await;
    rules.a_claim_runs_out_and_not_before().await;
    rules.a_renewed_claim_lasts_another_lease().await;
    rules.a_claim_that_ran_out_is_its_holders_until_another_takes_it().await;
    rules.a_holder_that_was_overtaken_can_change_nothing().await;
    rules.every_step_may_be_repeated().await;
    rules.a_handled_event_is_handled_again_once_it_is_forgotten().await;
    rules.endpoints_and_events_are_told_apart().await;
    rules.of_many_claims_at_once_one_is_granted().await;
}

/// Checks that a handled event is remembered for `retention`, and forgotten after it.
///
/// # Panics
/// When it is not.
pub async fn check_retention<G: ReplayGuard + ?Sized>(
    guard: &G,
    retention: Duration,
    pass: &impl AsyncFn(Duration),
) {
    let rules = Rules { guard, pass };
    let event = delivery("retention");
    let fence = rules.granted(&event).await;
    rules.commit(&event, fence, ClaimStatus::Held).await;
    pass(retention * 9 / 10).await;
    rules.expect(&event, Claim::Done, "it is remembered for as long as the service repeats it").await;
    pass(retention / 5).await;
    let again = rules.granted(&event).await;
    rules.release(&event, again, ClaimStatus::Held).await;
}

struct Rules<'a, G: ?Sized, P> {
    guard: &'a G,
    pass: &'a P,
}

fn delivery(event: &str) -> Delivery {
    Delivery::new("suite", format!("suite_{event}"))
}

impl<G: ReplayGuard + ?Sized, P: AsyncFn(Duration)> Rules<'_, G, P> {
    async fn claim(&self, event: &Delivery) -> Claim {
        self.guard.claim(event).await.expect("the store responds to a claim")
    }

    async fn granted(&self, event: &Delivery) -> FencingToken {
        match self.claim(event).await {
            Claim::Granted(fence) => fence,
            other => panic!("{}: the claim should be granted, and is {other:?}", event.event()),
        }
    }

    async fn expect(&self, event: &Delivery, claim: Claim, rule: &str) {
        assert_eq!(self.claim(event).await, claim, "{}: {rule}", event.event());
    }

    async fn commit(&self, event: &Delivery, fence: FencingToken, expected: ClaimStatus) {
        let standing = self.guard.commit(event, fence).await.expect("the store responds to a commit");
        assert_eq!(standing, expected, "{}: commit", event.event());
    }

    async fn release(&self, event: &Delivery, fence: FencingToken, expected: ClaimStatus) {
        let standing = self.guard.release(event, fence).await.expect("the store responds to a release");
        assert_eq!(standing, expected, "{}: release", event.event());
    }

    async fn renew(&self, event: &Delivery, fence: FencingToken, expected: ClaimStatus) {
        let standing = self.guard.renew(event, fence).await.expect("the store responds to a renewal");
        assert_eq!(standing, expected, "{}: renew", event.event());
    }

    async fn forget(&self, event: &Delivery, expected: bool) {
        let forgotten = self.guard.forget(event).await.expect("the store responds");
        assert_eq!(forgotten, expected, "{}: forget", event.event());
    }

    /// Lets a share of the lease pass, in percent.
    async fn pass(&self, percent: u32) {
        (self.pass)(self.guard.lease_time() / 100 * percent).await;
    }

    async fn one_claim_is_granted_and_the_next_waits(&self) {
        let event = delivery("in_progress");
        let fence = self.granted(&event).await;
        self.expect(&event, Claim::InProgress, "another try must wait").await;
        self.release(&event, fence, ClaimStatus::Held).await;
    }

    async fn a_handled_event_is_done(&self) {
        let event = delivery("done");
        let fence = self.granted(&event).await;
        self.commit(&event, fence, ClaimStatus::Held).await;
        self.expect(&event, Claim::Done, "it was handled").await;
        self.pass(150).await;
        self.expect(&event, Claim::Done, "a mark outlives the lease").await;
    }

    async fn a_claim_given_back_can_be_taken_again_with_a_larger_fence(&self) {
        let event = delivery("released");
        let mut last = self.granted(&event).await;
        for _ in 0..3 {
            self.release(&event, last, ClaimStatus::Held).await;
            let next = self.granted(&event).await;
            assert!(next > last, "{}: fences grow, and {next:?} came after {last:?}", event.event());
            last = next;
        }
        self.release(&event, last, ClaimStatus::Held).await;
    }

    async fn a_claim_runs_out_and_not_before(&self) {
        let event = delivery("lapsed");
        let first = self.granted(&event).await;
        self.pass(60).await;
        self.expect(&event, Claim::InProgress, "its lease is not over").await;
        self.pass(60).await;
        let second = self.granted(&event).await;
        assert!(second > first, "{}: fences grow", event.event());
        self.release(&event, second, ClaimStatus::Held).await;
    }

    async fn a_renewed_claim_lasts_another_lease(&self) {
        let event = delivery("renewed");
        let fence = self.granted(&event).await;
        for _ in 0..3 {
            self.pass(60).await;
            self.renew(&event, fence, ClaimStatus::Held).await;
        }
        self.pass(60).await;
        self.expect(&event, Claim::InProgress, "it was renewed").await;
        self.pass(60).await;
        let next = self.granted(&event).await;
        self.renew(&event, fence, ClaimStatus::Lost).await;
        self.release(&event, next, ClaimStatus::Held).await;
    }

    async fn a_claim_that_ran_out_is_its_holders_until_another_takes_it(&self) {
        let event = delivery("late");
        let fence = self.granted(&event).await;
        self.pass(150).await;
        self.renew(&event, fence, ClaimStatus::Held).await;
        self.expect(&event, Claim::InProgress, "a late renewal is a renewal").await;
        self.pass(150).await;
        self.commit(&event, fence, ClaimStatus::Held).await;
        self.expect(&event, Claim::Done, "a late commit counts when nobody came between").await;
    }

    async fn a_holder_that_was_overtaken_can_change_nothing(&self) {
        let event = delivery("overtaken");
        let first = self.granted(&event).await;
        self.pass(150).await;
        let second = self.granted(&event).await;
        self.renew(&event, first, ClaimStatus::Lost).await;
        self.commit(&event, first, ClaimStatus::Lost).await;
        self.release(&event, first, ClaimStatus::Lost).await;
        self.guard.abandon(&event, first);
        self.expect(&event, Claim::InProgress, "it is the second one's").await;
        self.release(&event, second, ClaimStatus::Held).await;
        self.commit(&event, first, ClaimStatus::Lost).await;
        self.commit(&event, second, ClaimStatus::Lost).await;
        let third = self.granted(&event).await;
        self.commit(&event, second, ClaimStatus::Lost).await;
        self.commit(&event, third, ClaimStatus::Held).await;
        self.commit(&event, first, ClaimStatus::Lost).await;
        self.release(&event, first, ClaimStatus::Lost).await;
        self.expect(&event, Claim::Done, "what is done stays done").await;
    }

    async fn every_step_may_be_repeated(&self) {
        let event = delivery("repeated");
        let fence = self.granted(&event).await;
        self.renew(&event, fence, ClaimStatus::Held).await;
        self.renew(&event, fence, ClaimStatus::Held).await;
        self.commit(&event, fence, ClaimStatus::Held).await;
        self.commit(&event, fence, ClaimStatus::Held).await;
        self.renew(&event, fence, ClaimStatus::Lost).await;
        self.release(&event, fence, ClaimStatus::Lost).await;
        self.expect(&event, Claim::Done, "a release after the commit does not undo it").await;
        let event = delivery("released_twice");
        let fence = self.granted(&event).await;
        self.release(&event, fence, ClaimStatus::Held).await;
        self.release(&event, fence, ClaimStatus::Lost).await;
        self.commit(&event, FencingToken::new(u64::from(u32::MAX)), ClaimStatus::Lost).await;
        self.commit(&delivery("never_claimed"), FencingToken::new(1), ClaimStatus::Lost).await;
    }

    async fn a_handled_event_is_handled_again_once_it_is_forgotten(&self) {
        let event = delivery("forgotten");
        self.forget(&event, false).await;
        let first = self.granted(&event).await;
        self.forget(&event, false).await;
        self.expect(&event, Claim::InProgress, "what is in progress is left alone").await;
        self.commit(&event, first, ClaimStatus::Held).await;
        self.forget(&event, true).await;
        self.forget(&event, false).await;
        let second = self.granted(&event).await;
        assert!(second > first, "{}: fences grow", event.event());
        self.commit(&event, first, ClaimStatus::Lost).await;
        self.commit(&event, second, ClaimStatus::Held).await;
        self.expect(&event, Claim::Done, "it was handled again").await;
    }

    async fn endpoints_and_events_are_told_apart(&self) {
        let names = [
            ("a", "bc"),
            ("b", "bc"),
            ("ab", "c"),
            ("", "abc"),
            ("abc", ""),
            ("1:a", "bc"),
            ("a:b", "c"),
            ("a", "b:c"),
            ("ü}{", "'\"\\"),
        ];
        let deliveries = names.map(|(endpoint, event)| Delivery::new(format!("suite{endpoint}"), event));
        let mut fences = Vec::new();
        for event in &deliveries {
            fences.push(self.granted(event).await);
        }
        for (event, fence) in deliveries.iter().zip(fences) {
            self.release(event, fence, ClaimStatus::Held).await;
        }
    }

    async fn of_many_claims_at_once_one_is_granted(&self) {
        let event = delivery("at_once");
        let mut waiting: Vec<_> = (0..32).map(|_| self.guard.claim(&event)).collect();
        let mut granted = Vec::new();
        std::future::poll_fn(|context| {
            waiting.retain_mut(|claim| match claim.as_mut().poll(context) {
                std::task::Poll::Pending => true,
                std::task::Poll::Ready(answer) => {
                    if let Claim::Granted(fence) = answer.expect("the store responds to a claim") {
                        granted.push(fence);
                    }
                    false
                }
            });
            if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        assert_eq!(granted.len(), 1, "{}: of many claims at once one is granted", event.event());
        self.release(&event, granted[0], ClaimStatus::Held).await;
    }
}
