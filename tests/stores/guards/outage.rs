//! A store that is away, and one that is back.

use std::convert::Infallible;
use std::sync::Arc;

use shared_inbox_stores::{Postgres, PostgresGuard};
use shared_inbox_tests::stores::{self, Store};
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, HandleError, Handled, Handlers, OnStoreError, ReplayGuard,
};

use crate::support::{granted, one, postgres, redis};

/// A guard that gives up after two seconds, for a store that will be away: a pool tries again for as long as
/// it may.
async fn impatient(store: &Store) -> PostgresGuard {
    loop {
        if let Ok(postgres) = Postgres::connect(&store.url()).await {
            return postgres.guard();
        }
    }
}

#[tokio::test]
async fn a_redis_that_lost_everything_gives_larger_fences_than_before() {
    let mut store = stores::valkey();
    let guard = redis(store.url()).await.guard();
    let before = granted(&guard, &one()).await;
    store.kill();
    assert!(guard.claim(&one()).await.is_err());
    store.restart();
    // The first words on a broken connection find out that it is broken.
    let after = loop {
        if let Ok(claim) = guard.claim(&one()).await {
            let Claim::Granted(after) = claim else { panic!("{claim:?}") };
            break after;
        }
    };
    assert!(after > before, "{after:?} after {before:?}");
    assert_eq!(guard.commit(&one(), before).await.unwrap(), ClaimStatus::Lost, "it belongs to the next one");
    assert_eq!(guard.commit(&one(), after).await.unwrap(), ClaimStatus::Held);
}

#[tokio::test]
async fn a_guard_on_postgres_goes_on_when_the_store_is_back_and_remembers() {
    let mut store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    let fence = granted(&guard, &one()).await;
    assert_eq!(ReplayGuard::commit(&guard, &one(), fence).await.unwrap(), ClaimStatus::Held);
    let guard = impatient(&store).await;
    store.kill();
    assert!(guard.claim(&one()).await.is_err());
    store.restart();
    let after = loop {
        if let Ok(claim) = guard.claim(&one()).await {
            break claim;
        }
    };
    assert_eq!(after, Claim::Done);
}

/// What an event comes to while its store is away.
async fn while_away<G: ReplayGuard + 'static>(guard: G) {
    let guard = Arc::new(guard);
    let rejecting = Handlers::new(guard.clone());
    let rejected = rejecting.once(one(), async |_| Ok::<_, Infallible>(())).await;
    assert!(matches!(&rejected, Err(HandleError::Guard(_))), "{rejected:?}");
    assert_eq!(rejected.unwrap_err().status(), 503);
    let open = Handlers::new(guard).on_store_error(OnStoreError::LetThrough);
    let through = open.once(one(), async |claim| Ok::<_, Infallible>(claim.fencing_token())).await;
    assert!(matches!(&through, Ok(Handled::RanUnrecorded(token, _)) if token.number() == 0), "{through:?}");
    assert_eq!(through.unwrap().status(), 200);
    let failed = open.once(one(), async |_| Err::<(), _>("no")).await;
    assert!(matches!(&failed, Err(HandleError::Handler("no"))), "{failed:?}");
}

#[tokio::test]
async fn while_the_store_is_away_an_event_is_rejected_or_let_through_as_the_caller_chose() {
    let mut store = stores::valkey();
    let guard = redis(store.url()).await.guard();
    store.kill();
    while_away(guard).await;
    let mut store = stores::postgres();
    let guard = impatient(&store).await;
    store.kill();
    while_away(guard).await;
}
