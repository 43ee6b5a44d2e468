//! The identity and scopes of the key.

use super::payload::{Payload, outgoing};
use crate::client::engine::{Core, decode, traced};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::Options;
use crate::{Me, Scope, operation::Operation};

/// Returns whose key this is, requested once.
pub(crate) async fn identity<'a>(core: &'a Core, options: &Options) -> Result<&'a Me> {
    let ask = || async {
        let out = outgoing(core, Operation::Me, None, Payload::default(), Operation::Me.scope())?;
        let call = async {
            let response = core.run(&out, options).await?;
            let me = decode(&response).map_err(|error| error.for_call(&out.label, response.attempts))?;
            Ok((me, response.attempts))
        };
        traced(&out.label, |(_, attempts)| ("received", *attempts), call).await.map(|(me, _)| me)
    };
    // Another call may be requesting it already, with a later deadline. Like that of an attempt, the time is real.
    let left = core.budget(options).left();
    match tokio::time::timeout(left, core.me.get_or_try_init(ask)).await {
        Ok(me) => me,
        Err(_) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
    }
}

/// Fails when the client checks scopes and the key lacks this one.
pub(crate) async fn check_scope(
    core: &Core,
    operation: Operation,
    scope: &Scope,
    options: &Options,
) -> Result<()> {
    // `GET /me` needs no scope, and its response is needed for the check.
    if !core.check_scopes || operation == Operation::Me {
        return Ok(());
    }
    // Keys with other scopes always have `read`, so a failed `GET /me` is another failure.
    if identity(core, options).await?.allows(scope) {
        Ok(())
    } else {
        Err(Error::new(Cause::Scope(scope.clone()), Certainty::NotSent))
    }
}
