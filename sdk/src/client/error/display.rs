//! The error as text, without keys, addresses and the text of emails.

use std::fmt;

use super::{Cause, Certainty, Error};

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
        std::error::Error::source(&self.0.cause)
    }
}
