//! Whether a run broke a rule.

pub(super) mod answers;
pub(super) mod judge;
pub(super) mod oracles;
pub(super) mod same_texts;
pub(super) mod variations;
