//! Exactly once: the handler's effects and the mark of the event commit together.

use std::pin::Pin;

use super::guard::{Delivery, GuardFuture};
use super::run::{HandleError, Handled};

/// The result of marking an event inside a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// It is new, and marked as soon as the transaction commits.
    New,
    /// Another transaction that has not ended yet holds the mark.
    InProgress,
    /// It was marked by a transaction that committed.
    Done,
    /// Its handler failed too often: it is a dead letter.
    DeadLettered,
}

/// A store of yours in which effects and marks can be committed together: the *transactional inbox*.
///
/// [`mark`](Self::mark) writes the mark inside the transaction, so that it is there if and only if the effects are; two
/// transactions can never both commit it. Nothing needs a lease: a machine that dies takes its transaction
/// with it. The crate `shared-inbox-stores` has one on PostgreSQL.
pub trait TransactionalInbox: Send + Sync {
    /// A transaction under way. Dropping it undoes what was done in it.
    type Transaction: Send;

    /// Starts a transaction.
    fn begin(&self) -> GuardFuture<'_, Self::Transaction>;

    /// Writes the mark, or returns that it is there. Unless it returns [`Mark::New`], the transaction is
    /// dropped.
    fn mark<'a>(
        &'a self,
        transaction: &'a mut Self::Transaction,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Mark>;

    /// Commits the transaction.
    fn commit(&self, transaction: Self::Transaction) -> GuardFuture<'_, ()>;
}

/// The boxed future of a handler inside a transaction, which may borrow the transaction.
pub type InTransaction<'t, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 't>>;

/// Runs `handler` inside a transaction that also holds the mark of the event: what the handler does through
/// that transaction happens exactly once. On a server use `Handlers::once_in_transaction`, which does the
/// same in a task of its own.
///
/// A handler that fails, panics or is dropped changes nothing.
///
/// # Errors
/// When the handler fails, or the store does. A store that fails at the commit may have committed: the next
/// try finds out.
pub async fn once_in_transaction<I, T, E>(
    inbox: &I,
    delivery: &Delivery,
    handler: impl for<'t> FnOnce(&'t mut I::Transaction) -> InTransaction<'t, T, E>,
) -> Result<Handled<T>, HandleError<E>>
where
    I: TransactionalInbox + ?Sized,
{
    let mut transaction = inbox.begin().await.map_err(HandleError::Guard)?;
    match inbox.mark(&mut transaction, delivery).await.map_err(HandleError::Guard)? {
        Mark::New => {}
        Mark::InProgress => return Ok(Handled::InProgress),
        Mark::Done => return Ok(Handled::AlreadyDone),
        Mark::DeadLettered => return Ok(Handled::DeadLettered),
    }
    let value = handler(&mut transaction).await.map_err(HandleError::Handler)?;
    inbox.commit(transaction).await.map_err(HandleError::Guard)?;
    Ok(Handled::Ran(value))
}
