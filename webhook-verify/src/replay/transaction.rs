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
}

/// A store of yours in which effects and marks can be committed together: the *transactional inbox*.
///
/// [`mark`](Self::mark) writes the mark inside the transaction, so that it is there if and only if the effects are; two
/// transactions can never both commit it. Nothing needs a lease: a machine that dies takes its transaction with it.
///
/// ```
/// use std::collections::BTreeSet;
/// use std::sync::{Arc, Mutex};
/// use shared_inbox_webhooks::replay::{GuardFuture, Delivery, Mark, Handled, TransactionalInbox, once_in_transaction};
/// # use tokio::sync::{Mutex as Lock, OwnedMutexGuard};
///
/// /// A database in a few lines: one transaction at a time, a copy of everything, swapped in at its commit.
/// #[derive(Clone, Default)]
/// struct Database(Arc<Lock<Tables>>);
///
/// #[derive(Clone, Default)]
/// struct Tables { marks: BTreeSet<Delivery>, orders: Vec<String> }
///
/// struct Transaction { committed: OwnedMutexGuard<Tables>, tables: Tables }
///
/// impl TransactionalInbox for Database {
///     type Transaction = Transaction;
///
///     fn begin(&self) -> GuardFuture<'_, Transaction> {
///         Box::pin(async {
///             let committed = self.0.clone().lock_owned().await;
///             Ok(Transaction { tables: committed.clone(), committed })
///         })
///     }
///
///     fn mark<'a>(&'a self, transaction: &'a mut Transaction, delivery: &'a Delivery) -> GuardFuture<'a, Mark> {
///         Box::pin(async {
///             let new = transaction.tables.marks.insert(delivery.clone());
///             Ok(if new { Mark::New } else { Mark::Done })
///         })
///     }
///
///     fn commit(&self, mut transaction: Transaction) -> GuardFuture<'_, ()> {
///         Box::pin(async move {
///             *transaction.committed = transaction.tables;
///             Ok(())
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let database = Database::default();
/// let delivery = Delivery::new("orders", "evt_1");
/// for _ in 0..3 {
///     let outcome = once_in_transaction(&database, &delivery, |transaction| Box::pin(async {
///         transaction.tables.orders.push("1042".to_owned());
///         Ok::<_, std::io::Error>(())
///     }));
///     assert_eq!(outcome.await.unwrap().status(), 200);
/// }
/// assert_eq!(database.0.lock().await.orders, ["1042"]);
/// # }
/// ```
pub trait TransactionalInbox: Send + Sync {
    /// A transaction under way. Dropping it undoes what was done in it.
    type Transaction: Send;

    /// Starts a transaction.
    fn begin(&self) -> GuardFuture<'_, Self::Transaction>;

    /// Writes the mark, or returns that it is there. Unless it returns [`Mark::New`], the transaction is dropped.
    fn mark<'a>(
        &'a self,
        transaction: &'a mut Self::Transaction,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Mark>;

    /// Commits the transaction.
    fn commit(&self, transaction: Self::Transaction) -> GuardFuture<'_, ()>;
}

impl<I: TransactionalInbox + ?Sized> TransactionalInbox for std::sync::Arc<I> {
    type Transaction = I::Transaction;

    fn begin(&self) -> GuardFuture<'_, Self::Transaction> {
        (**self).begin()
    }

    fn mark<'a>(
        &'a self,
        transaction: &'a mut Self::Transaction,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Mark> {
        (**self).mark(transaction, delivery)
    }

    fn commit(&self, transaction: Self::Transaction) -> GuardFuture<'_, ()> {
        (**self).commit(transaction)
    }
}

/// The boxed future of a handler inside a transaction, which may borrow the transaction.
pub type InTransaction<'t, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 't>>;

/// Runs `handler` inside a transaction that also holds the mark of the event: what the handler does through that transaction
/// happens exactly once. On a server use `Handlers::once_in_transaction`, which does the same in a task of its own.
///
/// A handler that fails, panics or is dropped changes nothing. [`TransactionalInbox`] has an example.
///
/// # Errors
/// When the handler fails, or the store does. A store that fails at the commit may have committed: the next try finds out.
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
    }
    let value = handler(&mut transaction).await.map_err(HandleError::Handler)?;
    inbox.commit(transaction).await.map_err(HandleError::Guard)?;
    Ok(Handled::Ran(value))
}
