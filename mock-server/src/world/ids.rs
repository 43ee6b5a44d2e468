//! A seeded generator for ids, keys and randomness. Its state is part of the world document, so the same seed
//! and the same calls produce the same world.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use shared_inbox::__spec::Id;

/// A SplitMix64 generator. Its outputs do not repeat within 2^64 steps, so ids made of whole outputs are
/// unique.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IdGenerator(u64);

/// Returns the id with this suffix behind its prefix.
pub(crate) fn id_with_suffix<T: Id>(suffix: &str) -> T {
    format!("{}{suffix}", T::PREFIX).parse().expect("digits and lower-case letters fit every kind of id")
}

impl IdGenerator {
    /// Creates a generator; the same seed produces the same series.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 up to, not including, 1.
    pub(crate) fn next_f64(&mut self) -> f64 {
        Self::fraction_of(self.next_u64())
    }

    /// Maps 64 bits to a number from 0 up to, not including, 1; a float has 53 of them.
    pub(crate) fn fraction_of(bits: u64) -> f64 {
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a new id.
    pub(crate) fn next_id<T: Id>(&mut self) -> T {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut bits = self.next_u64();
        let mut rest = [b'0'; 13];
        for place in rest.iter_mut().rev() {
            *place = DIGITS[(bits % 36) as usize];
            bits /= 36;
        }
        id_with_suffix(std::str::from_utf8(&rest).expect("ASCII"))
    }

    /// Returns random letters and digits, for keys and secrets.
    pub(crate) fn token(&mut self, length: usize) -> String {
        const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        (0..length).map(|_| char::from(CHARACTERS[(self.next_u64() % 62) as usize])).collect()
    }
}

// Written as text: programs that store numbers as floats would change a number of 64 bits.
impl Serialize for IdGenerator {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for IdGenerator {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        u64::from_str_radix(&text, 16)
            .map(Self::seeded)
            .map_err(|_| D::Error::custom("not a generator's state: expected up to 16 hexadecimal digits"))
    }
}
