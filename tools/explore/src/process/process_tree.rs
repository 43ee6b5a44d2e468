//! The processes that a command started, also those that made a session of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
};

use rustix::process::{Pid, Signal, kill_process};

/// How often the list of processes is read: one may start another while it is read.
const MAX_ROUNDS: u32 = 20;

/// Kills the process `root`, all that have the variable `marker`, and all that descend from one of these. A
/// child that gave up both, its variables and its parent, is not found.
pub(crate) fn kill(root: Option<u32>, marker: &OsStr) {
    for _ in 0..MAX_ROUNDS {
        let found = find(root, marker);
        if found.is_empty() {
            return;
        }
        for id in found {
            if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
                let _ = kill_process(id, Signal::KILL);
            }
        }
    }
}

fn find(root: Option<u32>, marker: &OsStr) -> BTreeSet<u32> {
    let mut parents = BTreeMap::new();
    let mut found: BTreeSet<u32> = BTreeSet::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some((parent, is_alive)) = read_stat(&entry.path().join("stat")) else { continue };
        if !is_alive {
            continue;
        }
        parents.insert(id, parent);
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        if root == Some(id) || variables.split(|byte| *byte == 0).any(|it| it == marker.as_bytes()) {
            found.insert(id);
        }
    }
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(id, parent)| found.contains(parent) && !found.contains(id))
            .map(|(id, _)| *id)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Returns the parent of a process and whether it still runs. The name, in brackets, may have any characters
/// in it.
fn read_stat(path: &std::path::Path) -> Option<(u32, bool)> {
    let stat = fs::read_to_string(path).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    Some((fields.next()?.parse().ok()?, !matches!(state, "Z" | "X")))
}
