//! Files of attacks: those that are built in and those of other teams, read and checked.

use std::{collections::HashSet, fs, path::Path};

use serde_json::Value;
use shared_inbox_explore::harness::read_toml;

use crate::{
    attack::{Attack, Goal, Place},
    task::TaskKind,
};

/// The longest text: the service cuts a longer one when it is read.
const MAX_CHARACTERS: usize = 8_000;
const BUILT_IN: [&str; 11] = [
    include_str!("attacks/plain-orders.toml"),
    include_str!("attacks/authority.toml"),
    include_str!("attacks/forged-marks.toml"),
    include_str!("attacks/hidden-text.toml"),
    include_str!("attacks/encoded.toml"),
    include_str!("attacks/split.toml"),
    include_str!("attacks/urgency.toml"),
    include_str!("attacks/detour.toml"),
    include_str!("attacks/link.toml"),
    include_str!("attacks/honest-leak.toml"),
    include_str!("attacks/approver.toml"),
];

impl Goal {
    /// Checks that it can be told from what the task itself asks for; the error begins with the field.
    fn check(&self, task: TaskKind) -> Result<(), String> {
        let (field, value) = match self {
            Self::Text { text } | Self::Documents { text } => ("text", text),
            Self::Status { status } => ("status", status),
            Self::Tag { tag } => ("tag", tag),
            Self::Assign { to } => ("to", to),
            Self::Leak {} | Self::Email {} | Self::Record {} => return Ok(()),
        };
        if value.trim().is_empty() {
            return Err(format!("goal.{field}: must not be empty"));
        }
        let known: &[&str] = match self {
            Self::Status { .. } => &["open", "waiting", "closed"],
            Self::Assign { .. } => &["Anna Berg", "Tom Okafor", "Priya Nair", "me", "none"],
            _ => &[],
        };
        if !known.is_empty() && !known.contains(&value.as_str()) {
            return Err(format!("goal.{field}: must be one of {}", known.join(", ")));
        }
        if task.asks_for(self) {
            return Err(format!("goal.{field}: is what the task {} itself asks for", task.id()));
        }
        Ok(())
    }
}

impl Attack {
    /// Returns the attacks that are built in.
    ///
    /// ```
    /// let attacks = shared_inbox_redteam::Attack::built_in();
    /// assert!(attacks.len() >= 60);
    /// ```
    pub fn built_in() -> Vec<Self> {
        BUILT_IN.iter().flat_map(|file| Self::parse(file).expect("what is built in is sound")).collect()
    }

    /// Reads attacks in TOML, as `[[attack]]` tables.
    ///
    /// # Errors
    ///
    /// A sentence that names the attack, the field and what is wrong with it.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let mut document = read_toml(text)?;
        if let Some(key) = document.keys().find(|key| *key != "attack") {
            return Err(format!("{key}: is no key of a file of attacks; there is `[[attack]]`"));
        }
        let Some(Value::Array(tables)) = document.remove("attack") else {
            return Err("attack: is required, a table `[[attack]]` for each".to_owned());
        };
        let read = |(number, table): (usize, Value)| {
            let named = table["id"].as_str().map_or_else(String::new, |id| format!(" ({id})"));
            serde_path_to_error::deserialize(table).map_err(|why| format!("attack[{number}]{named}: {why}"))
        };
        let attacks: Vec<Self> = tables.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        check_all(&attacks)?;
        Ok(attacks)
    }

    /// Reads a file of attacks.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the attack, the field and what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Vec<Self>, String> {
        let file = path.as_ref().display().to_string();
        let text = fs::read_to_string(path).map_err(|error| format!("{file}: cannot be read: {error}"))?;
        Self::parse(&text).map_err(|why| format!("{file}: {why}"))
    }

    fn check(&self) -> Result<(), String> {
        for (field, name) in [("id", &self.id), ("family", &self.family)] {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(format!("{field}: must be of small letters, digits, `.`, `_` and `-`"));
            }
        }
        let task = TaskKind::find(&self.task).ok_or_else(|| {
            let known = TaskKind::ALL.map(TaskKind::id).join(", ");
            format!("task: {} is none of {known}", self.task)
        })?;
        for (field, text) in [("text", Some(&self.text)), ("follow_up", self.follow_up.as_ref())] {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.chars().count() > MAX_CHARACTERS {
                return Err(format!("{field}: must have from 1 to {MAX_CHARACTERS} characters"));
            }
        }
        let is_line = matches!(self.place, Place::Subject | Place::Name | Place::Filename | Place::Document);
        if is_line && self.text.contains('\n') {
            return Err(format!("text: must be one line, since its place is `{}`", self.place));
        }
        if self.follow_up.is_some() && self.place != Place::Earlier {
            return Err("follow_up: goes with the place `earlier`".to_owned());
        }
        self.goal.check(task)
    }
}

/// Checks each attack, that no two have one id, and that no id is also the name of a family.
pub(crate) fn check_all(attacks: &[Attack]) -> Result<(), String> {
    let families: HashSet<&str> = attacks.iter().map(|attack| attack.family.as_str()).collect();
    let mut ids = HashSet::new();
    for attack in attacks {
        let id = attack.id.as_str();
        attack.check().map_err(|why| format!("attack ({id}): {why}"))?;
        if !ids.insert(id) {
            return Err(format!("attack ({id}): id: there is another attack of this name"));
        }
        if families.contains(id) {
            return Err(format!("attack ({id}): id: is the name of a family"));
        }
    }
    Ok(())
}
