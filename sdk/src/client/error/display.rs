//! The error as text, without keys, addresses and the text of emails.

use std::fmt;

use super::redact::redact;
use super::{Cause, Certainty, Error, Transport};

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Config { what, problem } => write!(f, "{what}: {problem}"),
            Cause::Input(problems) => problems.fmt(f),
            Cause::Scope(scope) => {
                write!(
                    f,
                    "the key lacks the scope `{scope}`; make a key that has it, scopes cannot be added later"
                )
            }
            Cause::Limit(error) => error.fmt(f),
            Cause::Deadline => f.write_str("the time for this call was up before it could be sent"),
            Cause::Connect(Transport { address, .. }) => {
                write!(f, "no connection to {address} could be made; check the base URL and the network")
            }
            Cause::Timeout(Transport { address, .. }) => write!(f, "no response from {address} in time"),
            Cause::Dropped(Transport { address, .. }) => {
                write!(f, "the connection to {address} broke before the response was complete")
            }
            Cause::Status(response) => {
                write!(f, "the service responded with {}", response.status.as_u16())?;
                match &response.shown {
                    Some(sentence) => write!(f, ": {sentence}"),
                    None => f.write_str(", with a body that is not the service's"),
                }
            }
            Cause::Unreadable { response, path, .. } if path.is_empty() || path == "." => {
                write!(f, "the response ({}) is not the JSON that was expected", response.status.as_u16())
            }
            Cause::Unreadable { response, path, .. } => {
                // A path may hold the names of fields that someone else chose.
                let path = redact(path, &[]);
                write!(f, "the response ({}) does not fit at `{path}`", response.status.as_u16())
            }
            Cause::TooLarge { response, limit } => {
                write!(f, "the response ({}) is larger than {limit} bytes", response.status.as_u16())
            }
            Cause::Redirected(response) => write!(
                f,
                "the response is a redirect ({}), which is not followed; check the base URL",
                response.status.as_u16()
            ),
            Cause::Undelivered(status) => {
                write!(f, "the message was not delivered, its status is `{status}`")
            }
            Cause::Vanished => f.write_str("the message is no longer in the conversation"),
            Cause::GaveUpWaiting => f.write_str("it did not happen in the time given"),
            Cause::OnceKeyTaken { record, fingerprint } => write!(
                f,
                "the key of `once` stands for another conversation or content: its fingerprint is {}, this call's {fingerprint}",
                record.fingerprint()
            ),
            Cause::OnceInProgress(record) => {
                write!(f, "{} has been at the same create since {}", record.owner(), record.since())
            }
            Cause::OnceUnclear(_) => f.write_str(
                "an earlier call with this key may have created it, and the conversation does not tell: look at it, then settle \
                 the record (`Client::once_records`)",
            ),
            Cause::OnceStore(error) => error.fmt(f),
            Cause::LeaseLost => f.write_str("another process has taken over"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(call) = &self.0.call {
            write!(f, "{call}: ")?;
        }
        if let Some(first) = &self.0.first {
            write!(f, "nothing was sent, because {first} failed: ")?;
        }
        self.0.cause.fmt(f)?;
        if matches!(self.0.cause, Cause::OnceUnclear(_)) {
            return Ok(());
        }
        if self.0.unconfirmed.is_some() && self.0.is_repeatable {
            f.write_str("; it may have taken effect: call again with the same key, which looks first")?;
        } else if self.0.unconfirmed.is_some() {
            f.write_str(concat!(
                "; whether it took effect is not known: look with `Client::find_unconfirmed` before calling again, or ",
                "choose `Verification::ReadFirst` (see ",
                env!("CARGO_PKG_REPOSITORY"),
                "/blob/main/sdk/README.md#lost-responses)"
            ))?;
        } else if self.0.certainty == Certainty::Unknown {
            f.write_str("; it may have taken effect")?;
        }
        Ok(())
    }
}

/// The sentence of `Display`, since `main` prints an error this way; `{:#?}` shows the fields too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        // The last error of the chain is the cause; those above it are the context.
        let chain = std::iter::successors(Some(self as &dyn std::error::Error), |error| error.source());
        let cause = chain.skip(1).last().map(ToString::to_string);
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("kind", &self.kind())
            .field("certainty", &self.0.certainty)
            .field("attempts", &self.0.attempts)
            .field("cause", &cause)
            .field("unconfirmed", &self.0.unconfirmed)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Cause::Connect(failed) | Cause::Timeout(failed) | Cause::Dropped(failed) => Some(&failed.error),
            Cause::Limit(error) => Some(error),
            Cause::OnceStore(error) => Some(error),
            _ => None,
        }
    }
}
