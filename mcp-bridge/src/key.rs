//! `key`: keeps the key in this system's key store, so that it stands in no file.

use std::io::{IsTerminal, Read};

use sha2::{Digest, Sha256};

use crate::cli::KeyAction;
use shared_inbox_mcp::settings::{BASE_URL, KeyStoreError, ServiceAccess, delete_key, store_key, stored_key};

/// More than any key has.
const MAX_KEY_BYTES: u64 = 4096;

/// Does what was asked, and returns what to print. The error names what to do instead.
pub(crate) fn manage(action: &KeyAction, access: &ServiceAccess) -> Result<String, String> {
    let base_url = access
        .address()
        .ok_or_else(|| format!("whose key it is must be known: give --base-url, or set {BASE_URL}"))?;
    match action {
        KeyAction::Set => {
            access.check(None)?;
            // Nobody types a key for a store that cannot take it.
            stored_key(&base_url).map_err(in_a_file_instead)?;
            let key = read_key()?;
            access.check(Some(key.clone()))?;
            store_key(&base_url, &key).map_err(in_a_file_instead)?;
            Ok(format!("Stored {} for {base_url}.", describe(&key)))
        }
        KeyAction::Show => match stored_key(&base_url).map_err(in_a_file_instead)? {
            Some(key) => Ok(format!("{} for {base_url}", describe(&key))),
            None => Err(format!("no key is stored for {base_url}")),
        },
        KeyAction::Delete => match delete_key(&base_url).map_err(in_a_file_instead)? {
            true => Ok(format!("Deleted the key for {base_url}. It works until it is revoked in the app.")),
            false => Err(format!("no key is stored for {base_url}")),
        },
    }
}

/// Returns which key it is: its kind, and enough of its digest to tell it from another.
fn describe(key: &str) -> String {
    let kind = key.strip_prefix("rk_").and_then(|rest| rest.split('_').next());
    let kind = kind.filter(|kind| matches!(*kind, "live" | "test")).unwrap_or("unknown");
    let digest: String = Sha256::digest(key).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("a {kind} key (SHA-256 {digest}…)")
}

fn in_a_file_instead(error: KeyStoreError) -> String {
    format!("{error}; put the key into a file that only you can read, and name it with --api-key-file")
}

fn read_key() -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the key could not be read: {error}");
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        key = ask().map_err(failed)?;
    } else {
        std::io::stdin().take(MAX_KEY_BYTES).read_to_string(&mut key).map_err(failed)?;
    }
    match key.trim() {
        "" => Err("there is no key on standard input".into()),
        key => Ok(key.to_owned()),
    }
}

/// Asks for the key in the terminal, without showing it.
fn ask() -> std::io::Result<String> {
    #[cfg(feature = "keyring")]
    return rpassword::prompt_password("The key, which is not shown: ");
    #[cfg(not(feature = "keyring"))]
    Err(std::io::ErrorKind::Unsupported.into())
}
