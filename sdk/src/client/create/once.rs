//! A create under a key: the record is written before anything is sent, and whoever finds the record of an
//! owner that is gone looks for the item before it sends.

use std::sync::Arc;
use std::time::Duration;

use super::builder::CreateRequest;
use super::input::{CreateInput, Created};
use super::lease::{Lease, lease_time, store_failed};
use super::read_back::{Lookup, find_unconfirmed};
use crate::Timestamp;
use crate::client::call::Response;
use crate::client::engine::{Budget, Core, MAX_ATTEMPT_TIME, Outgoing};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::once::{Begun, Fingerprint, OnceRecord, OnceSettings, OnceStoreError};

/// The first wait for another owner; doubles up to [`MAX_POLL_INTERVAL`].
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// What a lease outlasts a request by, besides the request's own time once more.
const LEASE_MARGIN: Duration = Duration::from_secs(5);

impl<I: CreateInput> CreateRequest<I> {
    /// Creates it, unless the store knows of it.
    pub(super) async fn create_once(
        &self,
        key: &str,
        out: &Outgoing,
        budget: &mut Budget,
    ) -> Result<Response<I::Output>> {
        let once = settings(&self.core)?;
        let timeout = self.options.timeout.min(MAX_ATTEMPT_TIME);
        let body = out.body.as_deref().unwrap_or_default();
        let fingerprint = Fingerprint::new(I::OPERATION, &self.conversation, body);
        let mut interval = FIRST_POLL_INTERVAL;
        // A lease can be lost after a request was.
        let mut certainty = Certainty::NotSent;
        loop {
            let record = OnceRecord {
                key: key.to_owned(),
                fingerprint: fingerprint.clone(),
                conversation: self.conversation.clone(),
                since: Timestamp::now(),
                owner: once.owner.clone(),
                create: self.known_baseline().map(|baseline| self.unconfirmed_since(baseline)),
                result: None,
            };
            let (length, since) = (timeout * 2 + LEASE_MARGIN, lease_time(&self.core));
            let begun = once.store.begin(&record, length).await;
            let begun = begun.map_err(|error| {
                // What an earlier call has left there cannot be read.
                let certainty = if error.is_damaged { Certainty::Unknown } else { certainty };
                store_failed(error).at_least(certainty)
            });
            let found = match begun? {
                Begun::Granted { fence, previous } => {
                    let lease = Lease::new(once, &self.core, record.clone(), fence, length, since);
                    let create = self.create_as_owner(&lease, record.clone(), previous, out, budget);
                    match lease.keep(create).await {
                        Err(error) if matches!(error.cause(), Cause::LeaseLost) => {
                            certainty = certainty.max(error.certainty());
                            None
                        }
                        result => return result.map_err(|error| error.at_least(certainty)),
                    }
                }
                Begun::Exists(found) => Some(found),
            };
            match found {
                Some(found) if found.fingerprint != fingerprint => {
                    let cause = Cause::OnceKeyTaken { record: Box::new(found), fingerprint };
                    return Err(Error::new(cause, certainty));
                }
                Some(found) if found.is_finished() => return replay(found),
                // Another owner is at it.
                found if interval >= budget.left() => {
                    let cause = Cause::OnceInProgress(Box::new(found.unwrap_or(record)));
                    return Err(Error::new(cause, certainty));
                }
                _ => self.core.clock.sleep(interval).await,
            }
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Creates it with a lease in hand, and records what became of it.
    async fn create_as_owner(
        &self,
        lease: &Lease,
        mut record: OnceRecord,
        previous: Option<OnceRecord>,
        out: &Outgoing,
        budget: &mut Budget,
    ) -> Result<Response<I::Output>> {
        let is_new = previous.is_none();
        if let Some(create) = previous.and_then(|previous| previous.create) {
            record.create = Some(create.clone());
            lease.renew(Some(&record)).await.map_err(|error| match error.cause() {
                Cause::LeaseLost => error,
                _ => error.at_least(Certainty::Unknown).with_unconfirmed(create.clone()),
            })?;
            let lookup = find_unconfirmed(&self.core, &create, &self.options, Some(lease)).await;
            let found = match &lookup {
                Ok(Lookup::Found(item)) => I::Output::recover(item).map(|value| (item, value)),
                _ => None,
            };
            if let Some((item, value)) = found {
                lease.finish(record, item_id(item), &value).await;
                return Ok(Response::read_back(value, 0));
            }
            if !matches!(lookup, Ok(Lookup::NotFound)) {
                lease.release(None).await;
                let unclear = || Error::new(Cause::OnceUnclear(Box::new(record)), Certainty::Unknown);
                let error = lookup.err().unwrap_or_else(unclear);
                return Err(error.at_least(Certainty::Unknown).with_unconfirmed(create));
            }
        }
        if !is_new || record.create.is_none() {
            match self.unconfirmed().await {
                Ok(create) => record.create = Some(create),
                Err(error) => {
                    lease.remove().await;
                    return Err(error.before(&out.label));
                }
            }
            lease.renew(Some(&record)).await?;
        }
        match self.create_now(out, budget, Some(lease)).await {
            Ok(response) => {
                lease.finish(record, response.item_id(), &*response).await;
                Ok(response)
            }
            Err(error) if matches!(error.cause(), Cause::LeaseLost) => Err(error),
            Err(error) => {
                match error.unconfirmed() {
                    Some(create) => {
                        record.create = Some(create.clone());
                        lease.release(Some(&record)).await;
                    }
                    None => lease.remove().await,
                }
                Err(error)
            }
        }
    }
}

fn replay<O: Created>(record: OnceRecord) -> Result<Response<O>> {
    let response = record.result.map(|result| result.response).unwrap_or_default();
    match serde_json::from_value(response) {
        Ok(value) => Ok(Response::replayed_from_record(value)),
        // An error of `serde_json` can quote the response.
        Err(_) => {
            let error = OnceStoreError::damaged("it was created, and the result cannot be read");
            Err(store_failed(error).at_least(Certainty::Unknown))
        }
    }
}

fn item_id(item: &crate::TimelineItem) -> Option<String> {
    let message = item.as_message().map(|message| message.id.to_string());
    message.or_else(|| item.as_note().map(|note| note.id.to_string()))
}

/// Returns the store, or an error that says how to set one.
pub(crate) fn settings(core: &Core) -> Result<&Arc<OnceSettings>> {
    let problem = "needs a store, and nothing was sent: set one with `ClientBuilder::once_store`, such as \
                   `FileStore::open(\"var/shared-inbox\")?`";
    core.once.as_ref().ok_or_else(|| Error::config("once", problem))
}
