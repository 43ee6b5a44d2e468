//! The key in this system's own store: Keychain, Credential Manager, or the Secret Service of a Linux
//! desktop.
//!
//! Stores block, and may ask the person to unlock them: call these functions where that is no matter.

use keyring_core::{Entry, Error};

/// The name of the program in the store. The account is the service's address: each has its own key.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("this system's key store cannot be used: {0}")]
pub struct KeyStoreError(String);

impl KeyStoreError {
    // Of the error, only its sentence: its data may be the key.
    fn new(error: &Error) -> Self {
        Self(match error {
            Error::NoDefaultStore => "there is none on this machine".to_owned(),
            other => other.to_string().trim_end_matches('.').to_owned(),
        })
    }
}

/// Returns the key for the service at this address, if the store has one.
///
/// # Errors
///
/// When there is no store, or it stays locked.
pub fn stored_key(base_url: &str) -> Result<Option<String>, KeyStoreError> {
    access(base_url, Entry::get_password)
}

/// Stores the key for the service at this address, in place of the one before.
///
/// # Errors
///
/// When there is no store, or it stays locked.
pub fn store_key(base_url: &str, key: &str) -> Result<(), KeyStoreError> {
    access(base_url, |entry| entry.set_password(key)).map(drop)
}

/// Deletes the key for the service at this address. Returns whether there was one.
///
/// # Errors
///
/// When there is no store, or it stays locked.
pub fn delete_key(base_url: &str) -> Result<bool, KeyStoreError> {
    Ok(access(base_url, Entry::delete_credential)?.is_some())
}

/// Acts on the entry in the default store of `keyring_core`, which is the system's unless another was set
/// before. `None`: there is no entry.
fn access<T>(
    base_url: &str,
    act: impl FnOnce(&Entry) -> Result<T, Error>,
) -> Result<Option<T>, KeyStoreError> {
    if keyring_core::get_default_store().is_none() {
        open_system_store()?;
    }
    match Entry::new(PROGRAM, base_url.trim_end_matches('/')).and_then(|entry| act(&entry)) {
        Ok(result) => Ok(Some(result)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(KeyStoreError::new(&error)),
    }
}

#[cfg(feature = "keyring")]
fn open_system_store() -> Result<(), KeyStoreError> {
    keyring::Entry::store_status().as_ref().map(|&()| ()).map_err(KeyStoreError::new)
}

#[cfg(not(feature = "keyring"))]
fn open_system_store() -> Result<(), KeyStoreError> {
    Err(KeyStoreError("this program was built without it (feature `keyring`)".to_owned()))
}
