//! API keys, each of which acts as an agent. A world stores only their hashes.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};
use shared_inbox::{AgentId, Problems, Scope, UserId};

use crate::world::{IdGenerator, Refusal, Result, World};

/// The live key that every world has unless it is configured otherwise.
pub const LIVE_KEY: &str = "rk_live_MockServerLiveKey0000000000000000000000000000000";
/// The test key that every world has unless it is configured otherwise.
pub const TEST_KEY: &str = "rk_test_MockServerTestKey0000000000000000000000000000000";

/// An API key and the agent that it acts as.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Key {
    /// The agent's id.
    pub agent_id: AgentId,
    /// The name of the key and of its agent.
    pub name: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// Whether it works on live data, or in the sandbox.
    pub livemode: bool,
    /// The person who created it.
    pub created_by: Option<UserId>,
    /// Whether it was revoked.
    #[serde(default)]
    pub revoked: bool,
    /// The SHA-256 of the key, in hexadecimal.
    #[cfg_attr(feature = "schemas", schemars(with = "String", regex(pattern = "^[0-9a-fA-F]{64}$")))]
    pub key_hash: KeyHash,
}

redacted_debug!(Key { agent_id, scopes, livemode, revoked });

/// The SHA-256 of a key, which is all that a world stores of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Hashes a key.
    pub fn from_key(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }
}

redacted_debug!(KeyHash {});

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for KeyHash {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("not a SHA-256: expected 64 hexadecimal digits");
        let text = String::deserialize(d)?;
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |d: u8| char::from(d).to_digit(16).ok_or_else(wrong);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

/// The two keys that a world has from its start.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadyKeys {
    /// For live data.
    pub live: String,
    /// For the sandbox.
    pub test: String,
}

redacted_debug!(ReadyKeys {});

impl ReadyKeys {
    /// Returns the fixed keys.
    pub fn fixed() -> Self {
        Self { live: LIVE_KEY.to_owned(), test: TEST_KEY.to_owned() }
    }

    /// Returns the keys of the world with this number, which are the same at every start.
    pub fn numbered(number: u64) -> Self {
        let mut ids = IdGenerator::seeded(number.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x6b65_7973);
        Self { live: format!("rk_live_{}", ids.token(48)), test: format!("rk_test_{}", ids.token(48)) }
    }
}

/// A key to create.
///
/// ```
/// use shared_inbox::Scope;
/// use shared_inbox_mock::{NewKey, world::{KeyHash, World}};
///
/// let mut world = World::empty();
/// let made = world.create_key(NewKey::live("Billing bot", [Scope::Draft]))?;
/// assert_eq!(world.authenticate(&KeyHash::from_key(&made.key)), Some(made.agent_id));
/// # Ok::<(), shared_inbox_mock::Refusal>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NewKey {
    /// Its name, and that of its agent.
    pub name: String,
    /// Its scopes; `read` comes with any other.
    #[cfg_attr(feature = "schemas", schemars(extend("items" = crate::json::words::item(Scope::KNOWN))))]
    pub scopes: Vec<Scope>,
    /// Whether it works on live data, or in the sandbox.
    pub livemode: bool,
    /// The person who creates it.
    pub created_by: Option<UserId>,
}

impl NewKey {
    /// Returns a live key with these scopes.
    pub fn live(name: impl Into<String>, scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self { name: name.into(), scopes: scopes.into_iter().collect(), livemode: true, created_by: None }
    }

    /// Returns a test key with these scopes.
    pub fn test(name: impl Into<String>, scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self { livemode: false, ..Self::live(name, scopes) }
    }

    setters! {
        /// Sets the person who creates it: the key sees that person's private inboxes.
        created_by(user: UserId) => created_by = Some(user);
    }
}

/// A key that was created.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreatedKey {
    /// The key, shown only once.
    pub key: String,
    /// Its agent.
    pub agent_id: AgentId,
}

redacted_debug!(CreatedKey { agent_id });

/// A key in the list of the control API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct KeyEntry {
    /// Its agent.
    pub agent_id: AgentId,
    /// The name of the key and of its agent.
    pub name: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// Whether it works on live data, or in the sandbox.
    pub livemode: bool,
    /// The person who created it.
    pub created_by: Option<UserId>,
    /// Whether it was revoked.
    pub revoked: bool,
}

redacted_debug!(KeyEntry { agent_id, scopes, livemode, revoked });

const ALL_SCOPES: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];

/// Returns scopes in the service's order, each once; any scope includes `read`.
fn normalize_scopes(asked: &[Scope]) -> Vec<Scope> {
    let any = !asked.is_empty();
    ALL_SCOPES.into_iter().filter(|s| (any && *s == Scope::Read) || asked.contains(s)).collect()
}

impl World {
    /// Creates a key.
    pub fn create_key(&mut self, new: NewKey) -> Result<CreatedKey> {
        let mut problems = Problems::default();
        if new.name.trim().is_empty() {
            problems.push("name", "must not be empty");
        }
        for (i, _) in new.scopes.iter().enumerate().filter(|(_, scope)| !ALL_SCOPES.contains(scope)) {
            problems.push(format!("scopes[{i}]"), "must be one of read, write, draft, send, record");
        }
        problems.or(())?;
        if let Some(user) = &new.created_by {
            self.user(user)?;
        }
        let prefix = if new.livemode { "rk_live_" } else { "rk_test_" };
        let secret = format!("{prefix}{}", self.generate_key());
        let agent_id = self.add_key(&secret, new);
        Ok(CreatedKey { key: secret, agent_id })
    }

    /// Generates the part of a key behind its prefix. Worlds with the same seed would generate the same keys,
    /// so the existing keys are mixed in: the key of a request selects the world.
    fn generate_key(&mut self) -> String {
        let drawn = self.ids.token(48);
        let keys = self.keys.iter().map(|key| key.key_hash.0);
        let hash = keys.fold(Sha256::new_with_prefix(drawn), Digest::chain_update).finalize();
        let seed = hash.iter().take(8).fold(0, |seed, byte| (seed << 8) | u64::from(*byte));
        IdGenerator::seeded(seed).token(48)
    }

    fn add_key(&mut self, secret: &str, new: NewKey) -> AgentId {
        let agent_id: AgentId = self.ids.next_id();
        self.keys.push(Key {
            agent_id: agent_id.clone(),
            name: new.name,
            scopes: normalize_scopes(&new.scopes),
            livemode: new.livemode,
            created_by: new.created_by,
            revoked: false,
            key_hash: KeyHash::from_key(secret),
        });
        self.index_people();
        agent_id
    }

    /// Gives the world these two keys, with all scopes. They replace the fixed keys, so that a copy of
    /// another world does not accept that world's keys.
    pub fn use_keys(&mut self, keys: &ReadyKeys) {
        for (secret, fixed, livemode) in [(&keys.live, LIVE_KEY, true), (&keys.test, TEST_KEY, false)] {
            let (hash, fixed) = (KeyHash::from_key(secret), KeyHash::from_key(fixed));
            if self.keys.iter().any(|key| key.key_hash == hash) {
                continue;
            }
            if let Some(key) = self.keys.iter_mut().find(|key| key.key_hash == fixed) {
                key.key_hash = hash;
                self.index_people();
            } else {
                let name = if livemode { "Live agent" } else { "Test agent" };
                self.add_key(secret, NewKey { livemode, ..NewKey::live(name, ALL_SCOPES) });
            }
        }
    }

    /// Returns all keys, without their hashes.
    pub fn keys(&self) -> Vec<KeyEntry> {
        let entry = |key: &Key| KeyEntry {
            agent_id: key.agent_id.clone(),
            name: key.name.clone(),
            scopes: key.scopes.clone(),
            livemode: key.livemode,
            created_by: key.created_by.clone(),
            revoked: key.revoked,
        };
        self.keys.iter().map(entry).collect()
    }

    /// Returns the hashes of all valid keys.
    pub fn key_hashes(&self) -> impl Iterator<Item = KeyHash> {
        self.keys.iter().filter(|key| !key.revoked).map(|key| key.key_hash)
    }

    /// Revokes a key.
    pub fn revoke_key(&mut self, agent: &str) -> Result<()> {
        let key = self.keys.iter_mut().find(|key| key.agent_id.as_str() == agent);
        key.ok_or_else(|| Refusal::no_such("key"))?.revoked = true;
        self.index_people();
        Ok(())
    }

    /// Returns the agent of a key, or `None` if it is unknown or revoked.
    pub fn authenticate(&self, key_hash: &KeyHash) -> Option<AgentId> {
        let key = &self.keys[*self.index.keys_by_hash.get(key_hash)?];
        (!key.revoked).then(|| key.agent_id.clone())
    }

    /// Returns the scopes of an agent's key; none for an unknown agent.
    #[cfg(feature = "mcp")]
    pub(crate) fn scopes(&self, agent: &AgentId) -> &[Scope] {
        self.index.agents.get(agent).map_or(&[], |key| &self.keys[*key].scopes)
    }
}
