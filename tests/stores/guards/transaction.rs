//! Marks inside the handler's own transaction.

use shared_inbox_stores::PostgresGuard;
use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, HandleError, Handled, Handlers, Mark, RETRY_WINDOW, ReplayGuard, TransactionalInbox,
};

use crate::support::{delivery, granted, one, pass_in_postgres, postgres};

async fn orders(guard: &PostgresGuard) -> i64 {
    sqlx::query_scalar("select count(*) from orders").fetch_one(guard.pool()).await.unwrap()
}

/// Handles an event inside its transaction; the handler fails when told to.
async fn order(
    handlers: &Handlers<PostgresGuard>,
    fails: bool,
) -> Result<Handled<()>, HandleError<sqlx::Error>> {
    let handling = handlers.once_in_transaction(one(), move |transaction| {
        Box::pin(async move {
            sqlx::query("insert into orders values (1042)").execute(&mut **transaction).await?;
            if fails { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
        })
    });
    handling.await
}

#[tokio::test]
async fn effect_and_mark_commit_together_in_postgres() {
    let store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    sqlx::query("create table orders (id int)").execute(guard.pool()).await.unwrap();
    let handlers = Handlers::new(guard.clone());
    assert_eq!(order(&handlers, true).await.unwrap_err().status(), 500);
    assert_eq!(orders(&guard).await, 0, "a handler that failed left nothing");
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))));
    for _ in 0..3 {
        assert!(matches!(order(&handlers, false).await, Ok(Handled::AlreadyDone)));
    }
    assert_eq!(orders(&guard).await, 1);
    assert_eq!(guard.claim(&one()).await.unwrap(), Claim::Done, "both forms share their marks");
    assert!(guard.forget(&one()).await.unwrap());
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))));
    pass_in_postgres(guard.pool(), RETRY_WINDOW).await;
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))), "a mark does not last for ever");
}

#[tokio::test]
async fn a_transaction_under_way_keeps_others_from_waiting_and_ends_with_its_connection() {
    let store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    let mut first = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut first, &one()).await.unwrap(), Mark::New);
    let mut second = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut second, &one()).await.unwrap(), Mark::InProgress);
    assert_eq!(
        guard.mark(&mut second, &delivery("evt_2")).await.unwrap(),
        Mark::New,
        "others are not held up"
    );
    drop(second);
    let timeout = "select current_setting('idle_in_transaction_session_timeout')";
    let timeout: String = sqlx::query_scalar(timeout).fetch_one(&mut *first).await.unwrap();
    assert_eq!(timeout, "1min", "a machine that vanished does not hold it for ever");
    // As when its process is killed.
    let process: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *first).await.unwrap();
    sqlx::query("select pg_terminate_backend($1, 60000)").bind(process).execute(guard.pool()).await.unwrap();
    assert!(TransactionalInbox::commit(&guard, first).await.is_err());
    let mut third = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut third, &one()).await.unwrap(), Mark::New);
    TransactionalInbox::commit(&guard, third).await.unwrap();
    let mut fourth = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut fourth, &one()).await.unwrap(), Mark::Done);
}

#[tokio::test]
async fn a_live_claim_keeps_a_transaction_out() {
    let store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    let fence = granted(&guard, &one()).await;
    let mut transaction = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut transaction, &one()).await.unwrap(), Mark::InProgress);
    drop(transaction);
    assert_eq!(guard.release(&one(), fence).await.unwrap(), ClaimStatus::Held);
    let mut transaction = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut transaction, &one()).await.unwrap(), Mark::New);
    TransactionalInbox::commit(&guard, transaction).await.unwrap();
    assert_eq!(ReplayGuard::commit(&guard, &one(), fence).await.unwrap(), ClaimStatus::Lost);
}

#[tokio::test]
async fn a_transaction_that_always_fails_is_a_dead_letter_in_the_end_and_not_run_again() {
    let store = stores::postgres();
    let guard = postgres(&store.url()).await.guard();
    sqlx::query("create table orders (id int)").execute(guard.pool()).await.unwrap();
    let handlers = Handlers::new(guard.clone()).max_attempts(3);
    for is_last in [false, false, true] {
        let failed = order(&handlers, true).await;
        assert_eq!(matches!(failed, Ok(Handled::DeadLettered)), is_last, "{failed:?}");
    }
    assert!(matches!(order(&handlers, false).await, Ok(Handled::DeadLettered)), "a retry alone may run it");
    assert_eq!(orders(&guard).await, 0);
    let letters = handlers.dead_letters(10).await.unwrap();
    assert_eq!((letters.len(), letters[0].attempts()), (1, 3));
}
