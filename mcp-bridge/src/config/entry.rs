//! The server's entry in a client's settings. Fields that the bridge does not set are kept.

use serde_json::{Map, Value, json};

use super::{KeyPlace, Launch};
use shared_inbox_mcp::settings::{API_KEY, BASE_URL};

/// The fields of an entry that the bridge sets, beside its variables.
pub(super) const OURS: [&str; 4] = ["type", "command", "args", "tools"];

/// The package that `npx` or `uvx` starts, with or without a version.
const PACKAGE: &str = env!("CARGO_PKG_NAME");

/// Arguments that say where the key is, or that none is needed.
const SANDBOX: &str = "--sandbox";
const KEY_FILE: &str = "--api-key-file";

/// Returns the entry for this launch, merged into the existing one.
pub(super) fn merge(
    old: Option<&Value>,
    launch: &Launch,
    key: Option<&str>,
    with_type: bool,
) -> Result<Value, String> {
    let empty = Map::new();
    let old = match old {
        None => None,
        Some(Value::Object(old)) => Some(old),
        Some(_) => return Err("the entry is not an object".into()),
    };
    let mut entry = old.unwrap_or(&empty).clone();
    entry.insert("command".into(), launch.command.to_string_lossy().into());
    if with_type {
        entry.insert("type".into(), "stdio".into());
    }

    let mut args = texts(entry.get("args"))?;
    if let Some(at) = args.iter().position(|arg| arg.starts_with(PACKAGE)) {
        // The arguments up to there are those of `npx` or `uvx`.
        args.drain(..=at);
    }
    if launch.base_url.is_some() && matches!(launch.key, KeyPlace::Settings | KeyPlace::Store) {
        // A service was named: the demo inbox is not meant any more.
        args.retain(|arg| arg != SANDBOX);
    }
    set(&mut args, &launch.args);
    if old.is_none() {
        set(&mut args, &launch.offered);
    }
    let in_file = args.iter().any(|arg| name(arg) == KEY_FILE);
    args.splice(0..0, launch.before.iter().cloned());
    entry.insert("args".into(), json!(args));

    let mut env = match entry.remove("env") {
        None => Map::new(),
        Some(Value::Object(env)) => env,
        Some(_) => return Err("`env` is not an object".into()),
    };
    if let Some(url) = &launch.base_url {
        env.insert(BASE_URL.into(), url.clone().into());
    }
    match key {
        // A key that is kept elsewhere does not lie around here too.
        _ if in_file || launch.key == KeyPlace::Store => _ = env.remove(API_KEY),
        Some(key) => _ = env.insert(API_KEY.into(), key.into()),
        None => {}
    }
    // Variables that are there and not in the entry would stay.
    if !env.is_empty() || old.is_some_and(|old| old.contains_key("env")) {
        entry.insert("env".into(), env.into());
    }
    Ok(entry.into())
}

/// Returns what is missing for the bridge to work with this entry, with what to do about it.
pub(super) fn missing(entry: &Value, key: KeyPlace) -> Vec<String> {
    let args = texts(entry.get("args")).unwrap_or_default();
    let has = |flag: &str| args.iter().any(|arg| name(arg) == flag);
    let set = |variable: &str| entry["env"].get(variable).is_some();
    let mut missing = Vec::new();
    if !has(SANDBOX) && !set(BASE_URL) && !has("--base-url") {
        missing.push(format!("there is no address to write: set {BASE_URL} or give --base-url"));
    }
    if !has(SANDBOX) && !set(API_KEY) && !has(KEY_FILE) && key != KeyPlace::Store {
        missing.push(format!(
            "there is no key to write: store it with `shared-inbox-mcp key set`, set {API_KEY}, or name a file that holds it with \
             {KEY_FILE}"
        ));
    }
    missing
}

/// Returns what is different in the new entry, a line each. Values of variables are not shown: one of them is
/// a key.
pub(super) fn changes(old: Option<&Value>, new: &Value) -> Vec<String> {
    let mut said = Vec::new();
    let before = |name: &str| old.and_then(|old| old.get(name));
    for name in OURS {
        match (before(name), new.get(name)) {
            (before, after) if before == after => {}
            (Some(before), Some(after)) => said.push(format!("{name}: {before} became {after}")),
            (None, Some(after)) => said.push(format!("{name}: {after}")),
            (_, None) => {}
        }
    }
    let variables = |env: Option<&Value>| env.and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (variables(before("env")), variables(new.get("env")));
    for (name, value) in &after {
        match before.get(name) {
            Some(same) if same == value => {}
            Some(_) => said.push(format!("env: {name} was changed")),
            None => said.push(format!("env: {name} was set")),
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    said.extend(gone.map(|name| format!("env: {name} was taken out")));
    said
}

fn texts(list: Option<&Value>) -> Result<Vec<String>, String> {
    let wrong = || "`args` is not a list of texts".to_owned();
    match list {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Returns the option that an argument sets.
fn name(arg: &str) -> &str {
    arg.split('=').next().unwrap_or(arg)
}

/// Replaces the arguments that set the same options, or appends the new ones. An argument may occur more than
/// once.
fn set(args: &mut Vec<String>, new: &[String]) {
    for same in new.chunk_by(|one, next| name(one) == name(next)) {
        let at = take_out(args, &same[0]);
        args.splice(at..at, same.iter().cloned());
    }
}

/// Removes the arguments that set the same option, with a value in them or after them. Returns the index of
/// the first.
fn take_out(args: &mut Vec<String>, like: &str) -> usize {
    let (mut first, mut at) = (None, 0);
    while at < args.len() {
        if name(&args[at]) != name(like) {
            at += 1;
            continue;
        }
        let value_after = like.contains('=')
            && args[at] == name(like)
            && args.get(at + 1).is_some_and(|next| !next.starts_with('-'));
        args.drain(at..at + 1 + usize::from(value_after));
        first.get_or_insert(at);
    }
    first.unwrap_or(args.len())
}
