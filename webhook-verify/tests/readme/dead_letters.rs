use super::server::handle;
use shared_inbox_webhooks::{Event, replay::{GuardError, Handlers, MemoryGuard}};

/// Runs every dead letter again, each by the rules of any other event. Returns how many failed again.
pub async fn retry_all(handlers: &Handlers<MemoryGuard>) -> Result<usize, GuardError> {
    let mut failed = 0;
    for letter in handlers.dead_letters(1000).await? {
        println!("{} failed {} times: {}", letter.delivery().event(), letter.attempts(), letter.error());
        let retried = handlers.retry(letter.delivery(), async |letter, _| {
            let event: Event = letter.parse().map_err(|error| error.to_string())?;
            handle(&event).await
        });
        failed += usize::from(retried.await.is_err());
    }
    Ok(failed)
}
