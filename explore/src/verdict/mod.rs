//! Whether a run broke a rule.

pub(super) mod judge;
pub(super) mod oracles;
