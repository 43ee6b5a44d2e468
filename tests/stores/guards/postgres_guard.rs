//! The guard on PostgreSQL, and what it keeps.

use std::time::Duration;

use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, DeadLetter, DeadLetterGuard, FencingToken, Mark, RETRY_WINDOW, ReplayGuard,
    TransactionalInbox,
};

use super::suite;
use crate::support::{delivery, granted, one, pass_in_postgres, postgres};

#[tokio::test]
async fn a_guard_on_postgres_keeps_every_rule_of_a_guard() {
    let store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    let pass = async |time| pass_in_postgres(guard.pool(), time).await;
    suite::check(&guard, &pass).await;
    suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
    suite::check_dead_letters(&guard, &pass).await;
}

#[tokio::test]
async fn old_marks_are_removed_from_postgres_by_themselves_and_young_ones_and_dead_letters_stay() {
    let store = stores::postgres();
    let postgres = postgres(&store.url()).await;
    let first = postgres.guard();
    let (old, lapsed, young) = (delivery("evt_old"), delivery("evt_lapsed"), delivery("evt_young"));
    let fence = granted(&first, &old).await;
    assert_eq!(ReplayGuard::commit(&first, &old, fence).await.unwrap(), ClaimStatus::Held);
    let held = granted(&first, &lapsed).await;
    let dead = delivery("evt_dead");
    let fence = granted(&first, &dead).await;
    let letter = DeadLetter::new(dead, 1, "database down");
    assert_eq!(first.bury(&letter, fence).await.unwrap(), ClaimStatus::Held);
    let passed = RETRY_WINDOW + Duration::from_secs(1);
    pass_in_postgres(first.pool(), passed).await;
    // Fences tell when an event was claimed.
    let micros = passed.as_micros() as u64;
    let older = "update shared_inbox_webhooks set fence = fence - $1";
    sqlx::query(older).bind(micros as i64).execute(first.pool()).await.unwrap();
    let held = FencingToken::new(held.number() - micros);
    let fence = granted(&first, &young).await;
    assert_eq!(ReplayGuard::commit(&first, &young, fence).await.unwrap(), ClaimStatus::Held);
    // Another process, which has not looked yet.
    let second = postgres.guard();
    granted(&second, &delivery("evt_next")).await;
    let names = "select event from shared_inbox_webhooks order by event";
    let left = loop {
        let left: Vec<String> = sqlx::query_scalar(names).fetch_all(first.pool()).await.unwrap();
        if !left.contains(&"evt_old".to_owned()) {
            break left;
        }
        tokio::task::yield_now().await;
    };
    let expected = ["evt_dead", "evt_lapsed", "evt_next", "evt_young"];
    assert_eq!(left, expected, "a claim's holder and whoever retries a dead letter may still come");
    assert_eq!(first.dead_letters(10).await.unwrap(), [letter]);
    assert_eq!(ReplayGuard::commit(&first, &lapsed, held).await.unwrap(), ClaimStatus::Held);
}

#[tokio::test]
async fn apps_that_share_a_database_are_told_apart_by_their_namespace() {
    let store = stores::postgres();
    let postgres = postgres(&store.url()).await;
    let (first, second) = (postgres.guard(), postgres.namespace("other").guard());
    let fence = granted(&first, &one()).await;
    let other = granted(&second, &one()).await;
    assert_eq!(ReplayGuard::commit(&first, &one(), fence).await.unwrap(), ClaimStatus::Held);
    assert_eq!(second.claim(&one()).await.unwrap(), Claim::InProgress);
    assert_eq!(second.release(&one(), other).await.unwrap(), ClaimStatus::Held);
    let mut transaction = second.begin().await.unwrap();
    assert_eq!(second.mark(&mut transaction, &one()).await.unwrap(), Mark::New);
    assert!(first.forget(&one()).await.unwrap());
    let mut beside = first.begin().await.unwrap();
    assert_eq!(first.mark(&mut beside, &one()).await.unwrap(), Mark::New, "their locks are apart too");
    TransactionalInbox::commit(&second, transaction).await.unwrap();
    TransactionalInbox::commit(&first, beside).await.unwrap();
    let pass = async |time| pass_in_postgres(first.pool(), time).await;
    suite::check(&second, &pass).await;
}
