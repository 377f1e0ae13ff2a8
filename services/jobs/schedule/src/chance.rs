//! Seeded numbers, for drawn courses: equal seeds give equal numbers.

/// A sequence of numbers (`SplitMix64`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        usize::try_from(self.next() % end).unwrap_or_default()
    }
}
