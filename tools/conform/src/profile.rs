//! Sets of sections for those who implement the API step by step.

use std::{fmt, str::FromStr};

/// A set of sections of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Profile {
    /// What a client that only reads relies on.
    Read,
    /// Everything of [`Profile::Read`], and what changes something: notes, status, tags, replies, app mail,
    /// the sandbox, errors, limits.
    Write,
    /// Webhooks: delivery, retries and events.
    Webhooks,
    /// Every section.
    #[default]
    Full,
}

const READ: &[&str] = &[
    "1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "4.1", "4.2", "4.3", "4.10", "4.11", "4.12", "4.15", "5",
    "9",
];

const WRITE: &[&str] = &[
    "1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "3.1", "3.3", "4.1", "4.2", "4.3", "4.4", "4.5",
    "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15", "5", "7", "8", "8.3", "9",
];

const WEBHOOKS: &[&str] = &["6.1", "6.2"];

const FULL: &[&str] = &[
    "1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "3.1", "3.3", "4.1", "4.2", "4.3", "4.4", "4.5",
    "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15", "4.16", "5", "6.1", "6.2",
    "7", "8", "8.3", "9",
];

impl Profile {
    /// Every profile, from the smallest to the largest.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Webhooks, Self::Full];

    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Webhooks => "webhooks",
            Self::Full => "full",
        }
    }

    /// Returns its sections, in the order of the document.
    #[must_use]
    pub fn sections(self) -> &'static [&'static str] {
        match self {
            Self::Read => READ,
            Self::Write => WRITE,
            Self::Webhooks => WEBHOOKS,
            Self::Full => FULL,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error returned for a name that no profile has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile `{0}`: it is read, write, webhooks or full")]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}
