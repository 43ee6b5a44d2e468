//! The guards of receivers, on real stores.
//!
//! Time is moved and not waited for: what a store counts down is put back by as much.

mod connection;
mod outage;
mod postgres_guard;
mod postgres_tables;
mod redis_guard;
#[path = "../../../stores/tests/suite/guard.rs"]
pub(crate) mod suite;
mod transaction;

use std::time::Duration;

use shared_inbox_tests::{stores, until};
use shared_inbox_webhooks::replay::{Claim, ClaimStatus, ReplayGuard};

use crate::support::{
    granted, one, pass_in_postgres, pass_in_redis, postgres, redis, redis_connection, trace::Trace,
};

#[tokio::test]
async fn a_claim_that_is_taken_over_is_told_and_one_that_was_given_back_is_not() {
    async fn take_over(guard: &dyn ReplayGuard, pass: impl AsyncFn(Duration)) {
        let trace = Trace::start();
        let event = one().with_event_type("scout.held");
        let fence = granted(guard, &event).await;
        assert_eq!(guard.release(&event, fence).await.unwrap(), ClaimStatus::Held);
        granted(guard, &event).await;
        assert_eq!(trace.lines(), [""; 0]);
        pass(guard.lease_time()).await;
        let fence = granted(guard, &event).await;
        let lines = trace.lines();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let warning = "WARN a webhook's claim ran out before its end was noted: the event is handled again";
        assert!(line.starts_with(warning) && line.contains("scout.held"), "{line}");
        assert_eq!(guard.commit(&event, fence).await.unwrap(), ClaimStatus::Held);
    }
    let store = stores::valkey();
    let connection = redis_connection(store.url()).await;
    let pass = async |time| pass_in_redis(connection.clone(), time).await;
    take_over(&redis(store.url()).await.guard(), pass).await;
    let store = stores::postgres();
    let postgres = postgres(&store.url()).await;
    take_over(&postgres.guard(), async |time| pass_in_postgres(postgres.pool(), time).await).await;
}

#[tokio::test]
async fn a_claim_that_is_abandoned_is_given_back_in_the_background() {
    let (valkey, database) = (stores::valkey(), stores::postgres());
    let (redis, postgres) = (redis(valkey.url()).await.guard(), postgres(&database.url()).await.guard());
    for guard in [&redis as &dyn ReplayGuard, &postgres] {
        let fence = granted(guard, &one()).await;
        guard.abandon(&one(), fence);
        until("it is free", async || guard.claim(&one()).await.unwrap() != Claim::InProgress).await;
    }
}
