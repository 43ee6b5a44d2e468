//! Chance that is the same on every machine.

/// Chance from a seed, the same on every machine (SplitMix64).
#[derive(Debug, Clone, Default)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    pub(crate) fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        (!list.is_empty()).then(|| &list[self.below(list.len())])
    }
}
