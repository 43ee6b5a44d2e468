//! The rules of every rate limiter, for `rules!` to make tests of.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use shared_inbox::rate_limit::{AcquireRequest, LimitError, Permit, Priority, RateLimiter};
use tokio::time::{Instant, sleep, timeout};

pub(crate) struct Case {
    pub(crate) limiter: Arc<dyn RateLimiter>,
    /// That of another process with the same store; in memory, the same one.
    pub(crate) other: Arc<dyn RateLimiter>,
    pub(crate) minute: Duration,
    /// The store, if there is one.
    pub(crate) _keep: Option<Box<dyn Send>>,
}

impl Case {
    fn span(&self) -> Duration {
        self.minute + self.minute / 60
    }

    /// Whether a call could be sent now, and if not, how long it would wait.
    async fn try_acquire(&self, priority: Priority) -> Result<Permit, Duration> {
        match self.limiter.acquire(AcquireRequest::new(priority)).await {
            Ok(permit) => Ok(permit),
            Err(LimitError::Busy { wait, .. }) => Err(wait),
            Err(error) => panic!("{error}"),
        }
    }

    async fn take(&self, priority: Priority, times: usize) {
        let calls = (0..times).map(|_| self.try_acquire(priority));
        for (number, permit) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
            permit.unwrap_or_else(|wait| panic!("{wait:?} to wait for number {number}")).finished();
        }
    }

    /// A call that waits for as long as it takes, once it is in the queue.
    async fn queue(
        &self,
        priority: Priority,
        done: impl FnOnce() + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let (limiter, minute) = (Arc::clone(&self.limiter), self.minute);
        let task = tokio::spawn(async move {
            let request = AcquireRequest::new(priority).max_wait(minute * 20);
            limiter.acquire(request).await.unwrap().finished();
            done();
        });
        sleep(self.minute / 100).await;
        task
    }

    /// Looks until it is so: in a store, some things take a moment.
    async fn until(&self, mut is_so: impl AsyncFnMut() -> bool) {
        for _ in 0..200 {
            if is_so().await {
                return;
            }
            sleep(self.minute / 600).await;
        }
        panic!("it does not become so");
    }
}

/// Makes a test of each rule: `rules!(tokio::test, suite, case)`, where `suite` is this module and `case`
/// makes a case with a limit.
macro_rules! rules {
    ($test:meta, $suite:ident, $case:path) => {
        rules! { @ $test, $suite, $case,
            bulk_calls_leave_room_for_people_and_people_for_read_backs(120)
            whoever_asks_first_has_the_earlier_slot(4)
            a_call_that_cannot_make_it_is_told_so_before_it_waits(120)
            a_slot_that_is_given_back_goes_to_the_next_who_asks(2)
            a_place_in_which_nothing_was_sent_is_free_at_once(2)
            a_request_that_took_long_counts_from_its_end(2)
            a_request_that_still_runs_has_not_been_counted_yet(2)
            a_slot_that_was_slept_past_is_reserved_anew(2)
            a_429_stops_everyone_and_leaves_less_than_there_was(120)
            bulk_calls_have_their_share_however_many_others_wait(24)
            after_a_burst_of_people_bulk_calls_leave_the_last_free_places_to_them(120)
            after_a_burst_of_people_the_next_twelfth_is_for_bulk_calls(120)
            calls_that_are_dropped_while_they_wait_keep_no_place(12)
        }
    };
    (@ $test:meta, $suite:ident, $case:path, $($rule:ident($limit:literal))*) => {
        $(
            #[$test]
            async fn $rule() {
                $suite::$rule($case($limit).await).await;
            }
        )*
    };
}

pub(crate) async fn bulk_calls_leave_room_for_people_and_people_for_read_backs(case: Case) {
    case.take(Priority::Bulk, 90).await;
    case.try_acquire(Priority::Bulk).await.unwrap_err();
    case.take(Priority::Interactive, 20).await;
    case.try_acquire(Priority::Interactive).await.unwrap_err();
    case.take(Priority::ReadBack, 10).await;
    let wait = case.try_acquire(Priority::ReadBack).await.unwrap_err();
    assert!(wait <= case.span(), "{wait:?}");
}

pub(crate) async fn whoever_asks_first_has_the_earlier_slot(case: Case) {
    case.take(Priority::Interactive, 4).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..4 {
        let order = Arc::clone(&order);
        tasks.push(case.queue(Priority::Interactive, move || order.lock().unwrap().push(number)).await);
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
}

pub(crate) async fn a_call_that_cannot_make_it_is_told_so_before_it_waits(case: Case) {
    case.take(Priority::Interactive, 110).await;
    let begun = Instant::now();
    let request = AcquireRequest::new(Priority::Interactive).max_wait(case.minute / 4);
    let Err(LimitError::Busy { wait, .. }) = case.limiter.acquire(request).await else { panic!("it waits") };
    assert!(wait + begun.elapsed() >= case.minute / 4, "{wait:?}");
    // It has not waited for what it was told.
    assert!(begun.elapsed() < wait + case.minute / 4, "{wait:?}");
}

pub(crate) async fn a_slot_that_is_given_back_goes_to_the_next_who_asks(case: Case) {
    case.take(Priority::ReadBack, 2).await;
    let first = case.queue(Priority::ReadBack, || ()).await;
    let second = case.queue(Priority::ReadBack, || ()).await;
    let wait = case.try_acquire(Priority::ReadBack).await.unwrap_err();
    assert!(wait > case.span(), "{wait:?}");
    first.abort();
    case.until(async || case.try_acquire(Priority::ReadBack).await.is_err_and(|wait| wait <= case.span()))
        .await;
    second.await.unwrap();
}

pub(crate) async fn a_place_in_which_nothing_was_sent_is_free_at_once(case: Case) {
    case.take(Priority::ReadBack, 1).await;
    let held = case.try_acquire(Priority::ReadBack).await.unwrap();
    case.try_acquire(Priority::ReadBack).await.unwrap_err();
    held.give_up();
    case.until(async || case.try_acquire(Priority::ReadBack).await.is_ok()).await;
}

pub(crate) async fn a_request_that_took_long_counts_from_its_end(case: Case) {
    let held = [(); 2].map(|()| case.try_acquire(Priority::ReadBack));
    let held = futures_util::future::join_all(held).await;
    sleep(case.minute * 3 / 4).await;
    held.into_iter().for_each(|permit| permit.unwrap().finished());
    let counts_from_its_end = |wait: Duration| wait > case.minute / 2;
    case.until(async || case.try_acquire(Priority::ReadBack).await.is_err_and(counts_from_its_end)).await;
}

pub(crate) async fn a_request_that_still_runs_has_not_been_counted_yet(case: Case) {
    let request = AcquireRequest::new(Priority::ReadBack).max_hold(case.minute * 10);
    let held = futures_util::future::join_all([(); 2].map(|()| case.limiter.acquire(request))).await;
    for _ in 0..6 {
        sleep(case.minute / 3).await;
        case.try_acquire(Priority::ReadBack).await.unwrap_err();
    }
    held.into_iter().for_each(|permit| permit.unwrap().finished());
}

pub(crate) async fn a_slot_that_was_slept_past_is_reserved_anew(case: Case) {
    case.take(Priority::ReadBack, 2).await;
    let request = AcquireRequest::new(Priority::ReadBack).max_wait(case.minute * 20);
    let mut slept = Box::pin(case.limiter.acquire(request));
    assert!(timeout(case.minute / 4, &mut slept).await.is_err());
    // Its slot comes and goes, and its place with it.
    sleep(case.span() * 2).await;
    case.take(Priority::ReadBack, 2).await;
    assert!(timeout(case.minute / 4, &mut slept).await.is_err(), "three at once");
    slept.await.unwrap().finished();
}

pub(crate) async fn a_429_stops_everyone_and_leaves_less_than_there_was(case: Case) {
    case.take(Priority::ReadBack, 20).await;
    case.try_acquire(Priority::ReadBack).await.unwrap().throttled(Some(case.minute / 5));
    for limiter in [&case.limiter, &case.other] {
        let stopped = async || {
            let permit = limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await;
            permit.map(Permit::give_up).is_err()
        };
        case.until(stopped).await;
    }
    sleep(case.minute / 4).await;
    // Less than had been sent, so none before those are forgotten.
    for limiter in [&case.limiter, &case.other] {
        limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap_err();
    }
}

pub(crate) async fn bulk_calls_have_their_share_however_many_others_wait(case: Case) {
    let mut load = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let limiter = Arc::clone(&case.limiter);
        let request = AcquireRequest::new(Priority::Interactive).max_wait(case.minute * 20);
        load.spawn(async move {
            loop {
                limiter.acquire(request).await.unwrap().finished();
            }
        });
    }
    sleep(case.minute).await;
    // As long as a call has by default.
    let request = AcquireRequest::new(Priority::Bulk).max_wait(case.minute * 2);
    for _ in 0..2 {
        case.limiter.acquire(request).await.unwrap().finished();
    }
}

pub(crate) async fn after_a_burst_of_people_bulk_calls_leave_the_last_free_places_to_them(case: Case) {
    case.take(Priority::Interactive, 30).await;
    // Their own 10, and all but 20 of the 70 common places that are left.
    case.take(Priority::Bulk, 60).await;
    case.try_acquire(Priority::Bulk).await.unwrap_err();
    case.take(Priority::Interactive, 20).await;
    case.try_acquire(Priority::Interactive).await.unwrap_err();
}

pub(crate) async fn after_a_burst_of_people_the_next_twelfth_is_for_bulk_calls(case: Case) {
    case.take(Priority::Interactive, 110).await;
    let mut people = tokio::task::JoinSet::new();
    for _ in 0..220 {
        let (limiter, minute) = (Arc::clone(&case.limiter), case.minute);
        people.spawn(async move {
            limiter.acquire(AcquireRequest::new(Priority::Interactive).max_wait(minute * 20)).await
        });
    }
    sleep(case.minute / 100).await;
    // As long as a call has by default.
    let request = AcquireRequest::new(Priority::Bulk).max_wait(case.minute * 2);
    let bulk = futures_util::future::join_all((0..10).map(|_| case.limiter.acquire(request))).await;
    assert!(bulk.iter().all(Result::is_ok), "{bulk:?}");
}

pub(crate) async fn calls_that_are_dropped_while_they_wait_keep_no_place(case: Case) {
    for number in 0..60 {
        let mut call = case.limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_wait(case.minute));
        // Some are dropped before they are answered, some after that.
        if let Ok(permit) = timeout(Duration::from_micros(number * 20), &mut call).await {
            permit.unwrap().give_up();
        }
    }
    let all_are_free = async || {
        let mut held = Vec::new();
        while let Ok(permit) = case.try_acquire(Priority::ReadBack).await {
            held.push(permit);
        }
        let all = held.len() == 12;
        held.into_iter().for_each(Permit::give_up);
        all
    };
    case.until(all_are_free).await;
}
