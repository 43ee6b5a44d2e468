//! Whether a run broke a rule.

pub(super) mod judge;
pub(super) mod oracle;
pub(super) mod oracles;
