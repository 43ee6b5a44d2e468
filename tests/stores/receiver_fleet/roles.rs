//! What receivers of the fleet are asked to do.

/// What a receiver is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Handles events with a claim, and counts what it did in the same store.
    Claims,
    /// The same, but with each event it says `begun` and waits for a line.
    Waits,
    /// Handles events with a claim, and counts every run, also one whose claim was overtaken.
    CountsRuns,
    /// Handles events inside transactions.
    Transactions,
    /// Counts every run, and fails with every third event; after three runs it is a dead letter.
    Fails,
    /// Retries the dead letter of the first event, says `begun` and waits.
    Retries,
}

/// The secret that all of them begin with.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Whether this event fails whoever handles it.
pub(crate) fn always_fails(event: &str) -> bool {
    event.trim_start_matches("evt_").parse::<usize>().is_ok_and(|number| number % 3 == 0)
}

/// How many runs an event has before it is a dead letter.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
