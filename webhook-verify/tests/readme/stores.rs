use shared_inbox_webhooks::replay::{Delivery, GuardError, Handled, HandleError, Handlers, PostgresGuard, RedisGuard};

/// Claims, counts and dead letters in a store that all receivers share. `rediss://` is TLS; a broken connection is made anew.
pub async fn on_redis(url: &str) -> Result<Handlers<RedisGuard>, GuardError> {
    Ok(Handlers::new(RedisGuard::connect(url).await?).max_attempts(5))
}

/// The same in PostgreSQL.
pub async fn on_postgres(url: &str) -> Result<Handlers<PostgresGuard>, GuardError> {
    let guard = PostgresGuard::connect(url).await?; // or `new(pool)`, with a pool of yours
    guard.create_table().await?; // also after an update; or give `schema/postgres.sql` to your migrations
    Ok(Handlers::new(guard).max_attempts(5))
}

/// Exactly once: the mark commits with what the handler does through the transaction.
pub async fn order(
    handlers: &Handlers<PostgresGuard>,
    delivery: Delivery,
) -> Result<Handled<()>, HandleError<sqlx::Error>> {
    let handled = handlers.once_in_transaction(delivery, |transaction| Box::pin(async move {
        let order = sqlx::query("insert into orders (id) values ($1)").bind(1042);
        order.execute(&mut **transaction).await.map(drop)
    }));
    handled.await
}
