//! The figures that the script reserves slots by. They divide the limit as
//! `shared_inbox::rate_limit::MemoryLimiter` does: of a limit of 120, ten places are for read-backs alone,
//! ten for bulk calls, and a hundred for all.

/// The window and the limit, and the figures derived from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// In milliseconds, as all times here.
    pub(super) window: u64,
    pub(super) limit: u32,
}

impl Rules {
    /// Returns how long after its slot a request may end and still count from the slot. A slot is not used
    /// later than this either.
    pub(super) fn slack(self) -> u64 {
        (self.window / 60).max(1)
    }

    /// Returns how long a place is taken.
    pub(super) fn span(self) -> u64 {
        self.window + self.slack()
    }

    /// Returns how far ahead bulk calls may reserve what others can use too.
    pub(super) fn near(self) -> u64 {
        self.window / 12
    }

    /// Returns the figures for the script, with places in bytes.
    pub(super) fn figures(self) -> [u64; 8] {
        let limit = u64::from(self.limit);
        let read_backs = limit / 12;
        let bulk = if limit < 3 { 0 } else { (limit / 12).max(1) };
        let common = limit - read_backs - bulk;
        let kept_free = limit / 4 - limit / 12;
        // How far ahead interactive calls may reserve what belongs to bulk calls.
        let lend = self.window / 2;
        // Between slots of callers that wait: half of what would use up the limit evenly.
        let gap = self.span() / (2 * (limit - read_backs));
        let [kept_free, common, bulk, read_backs] =
            [kept_free, common, bulk, read_backs].map(|places| 8 * places);
        [self.span(), self.near(), lend, gap, kept_free, common, bulk, read_backs]
    }
}
