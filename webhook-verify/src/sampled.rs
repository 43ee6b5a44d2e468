//! Diagnoses of rejected requests, for an operator who sets up a webhook: few of them, and never on the thread that serves.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::diagnose::{Diagnosis, MAX_BODY_BYTES};
use crate::error::VerifyError;
use crate::headers::RawHeaders;
use crate::verifier::Verifier;

type Hook = dyn Fn(&Diagnosis) + Send + Sync;

/// Which rejected requests are diagnosed, and who gets the diagnosis.
pub(crate) struct Sampled {
    every: Duration,
    hook: std::sync::Arc<Hook>,
    /// When the last one was looked into, by the verifier's clock.
    last: Mutex<Option<Duration>>,
}

impl Sampled {
    pub(crate) fn new(every: Duration, hook: impl Fn(&Diagnosis) + Send + Sync + 'static) -> Self {
        Self { every, hook: std::sync::Arc::new(hook), last: Mutex::default() }
    }

    /// Looks into this one if it is time, on a thread of its own.
    pub(crate) fn take(
        &self,
        verifier: &Verifier,
        parts: Result<RawHeaders<'_>, VerifyError>,
        body: Option<&[u8]>,
    ) {
        let (Ok(now), Ok(runtime)) = (verifier.now(), tokio::runtime::Handle::try_current()) else { return };
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| now.saturating_sub(last) < self.every) {
                return;
            }
            *last = Some(now);
        }
        let (verifier, hook) = (verifier.clone(), std::sync::Arc::clone(&self.hook));
        let parts = parts.map(|parts| [parts.id, parts.timestamp, parts.signature].map(<[u8]>::to_vec));
        let body = body.filter(|body| body.len() <= MAX_BODY_BYTES).map(<[u8]>::to_vec);
        runtime.spawn_blocking(move || {
            let parts = parts.as_ref().map_err(|error| *error).map(|[id, timestamp, signature]| RawHeaders {
                id,
                timestamp,
                signature,
            });
            hook(&verifier.diagnose_read(parts, body.as_deref()));
        });
    }
}
