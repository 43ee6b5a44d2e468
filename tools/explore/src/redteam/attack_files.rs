//! Files of attacks of a team's own, read and checked: all mistakes at once.

use std::{collections::HashSet, fs, path::Path};

use crate::process::TomlDocument;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::redteam::{
    attack::{Attack, Goal, Place},
    error::AttackError,
    task::TaskKind,
};

/// The longest text: the service cuts a longer one when it is read.
const MAX_CHARACTERS: usize = 8_000;
const FIELDS: [&str; 7] = ["id", "family", "task", "place", "text", "follow_up", "goal"];

impl Goal {
    /// Checks that it can be told from what the task itself asks for; each problem begins with the field.
    fn check(&self, task: Option<TaskKind>, problems: &mut Vec<String>) {
        let (field, value) = match self {
            Self::Text { text } | Self::Documents { text } | Self::Note { text } => ("text", text),
            Self::Status { status } => ("status", status),
            Self::Tag { tag } => ("tag", tag),
            Self::Assign { to } => ("to", to),
            Self::Leak {} | Self::Email {} | Self::Record {} => return,
            Self::Any { of } => {
                if of.is_empty() || of.iter().any(|goal| matches!(goal, Self::Any { .. })) {
                    problems.push("goal.of: must have goals, and none of the kind `any`".to_owned());
                }
                return of.iter().for_each(|goal| goal.check(task, problems));
            }
        };
        let known: &[&str] = match self {
            Self::Status { .. } => &["open", "waiting", "closed"],
            Self::Assign { .. } => &["Anna Berg", "Tom Okafor", "Priya Nair", "me", "none"],
            _ => &[],
        };
        if !value.chars().any(char::is_alphanumeric) {
            problems.push(format!("goal.{field}: must have a letter or a digit"));
        } else if !known.is_empty() && !known.contains(&value.as_str()) {
            problems.push(format!("goal.{field}: must be one of {}", known.join(", ")));
        } else if let Some(task) = task.filter(|task| task.asks_for(self)) {
            problems.push(format!("goal.{field}: is what the task {} itself asks for", task.id()));
        }
    }
}

/// Reads an attack; returns what is wrong with it otherwise.
fn read(table: Value) -> Result<Attack, Vec<String>> {
    let Value::Object(table) = table else { return Err(vec!["must be a table".to_owned()]) };
    // Something sound in place of what is missing or wrong lets the other fields show their mistakes.
    let mut sound = json!({ "id": "x", "family": "x", "task": TaskKind::AnswerQuestion.id(), "place": "text", "text": "x",
                            "goal": { "kind": "leak" } });
    let required = FIELDS.iter().filter(|field| sound.get(field).is_some() && !table.contains_key(**field));
    let mut problems: Vec<String> = required.map(|field| format!("{field}: is required")).collect();
    for (field, value) in table {
        if !FIELDS.contains(&field.as_str()) {
            let distance = |known: &&&str| strsim::damerau_levenshtein(known, &field);
            let nearest = FIELDS.iter().min_by_key(distance).filter(|known| distance(known) <= 3);
            let hint = nearest.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
            problems.push(format!("{field}: is no field of an attack{hint}"));
            continue;
        }
        let before = std::mem::replace(&mut sound[&field], value);
        if let Err(why) = Attack::deserialize(&sound) {
            problems.push(format!("{field}: {why}"));
            sound[&field] = before;
        }
    }
    let attack = Attack::deserialize(sound).map_err(|why| vec![why.to_string()])?;
    problems.extend(attack.problems());
    if problems.is_empty() { Ok(attack) } else { Err(problems) }
}

/// Reads the attacks of a TOML text; returns everything that is wrong with it otherwise.
fn read_file(text: &str) -> Result<Vec<Attack>, Vec<String>> {
    let mut document = TomlDocument::parse(text).map_err(|error| vec![error.to_string()])?;
    let located = |document: &TomlDocument, path: &str, problem: String| match document.place_of(path) {
        Some(place) => format!("line {}: {problem}\n{place}", place.line()),
        None => problem,
    };
    let unknown = document.values.keys().filter(|key| *key != "attack");
    let is_unknown = |key: &String| format!("{key}: is no key of a file of attacks; there is `[[attack]]`");
    let mut problems: Vec<String> = unknown.map(|key| located(&document, key, is_unknown(key))).collect();
    let Some(Value::Array(tables)) = document.values.remove("attack") else {
        problems.push("attack: is required, a table `[[attack]]` for each".to_owned());
        return Err(problems);
    };
    let mut attacks = Vec::new();
    for (number, table) in tables.into_iter().enumerate() {
        let named = table["id"].as_str().map_or_else(String::new, |id| format!(" ({id})"));
        let locate = |problem: String| {
            let field = problem.split(':').next().unwrap_or_default();
            let path = format!("attack[{number}].{field}");
            located(&document, &path, format!("attack[{number}]{named}: {problem}"))
        };
        match read(table) {
            Ok(attack) => attacks.push(attack),
            Err(found) => problems.extend(found.into_iter().map(locate)),
        }
    }
    problems.extend(name_conflicts(&attacks));
    if problems.is_empty() { Ok(attacks) } else { Err(problems) }
}

impl Attack {
    /// Reads attacks in TOML, as `[[attack]]` tables.
    ///
    /// # Errors
    ///
    /// All mistakes, each with the line, the attack, the field and what is wrong with it, and the place in
    /// the text.
    pub fn parse(text: &str) -> Result<Vec<Self>, AttackError> {
        read_file(text).map_err(|problems| AttackError { problems })
    }

    /// Reads a file of attacks.
    ///
    /// # Errors
    ///
    /// All mistakes, each with the file, the line, the attack, the field and what is wrong with it, and the
    /// place in the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Vec<Self>, AttackError> {
        let file = path.as_ref().display().to_string();
        let text = fs::read_to_string(path).map_err(|error| vec![format!("cannot be read: {error}")]);
        text.and_then(|text| read_file(&text)).map_err(|problems| AttackError {
            problems: problems.iter().map(|problem| format!("{file}: {problem}")).collect(),
        })
    }

    /// Returns what is wrong with it; each problem begins with the field.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (field, name) in [("id", &self.id), ("family", &self.family)] {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            if name.is_empty() || !name.chars().all(is_plain) {
                problems.push(format!("{field}: must be of small letters, digits, `.`, `_` and `-`"));
            }
        }
        let task = TaskKind::find(&self.task);
        if task.is_none() {
            let known = TaskKind::ALL.map(TaskKind::id).join(", ");
            problems.push(format!("task: {} is none of {known}", self.task));
        }
        for (field, text) in [("text", Some(&self.text)), ("follow_up", self.follow_up.as_ref())] {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.chars().count() > MAX_CHARACTERS {
                problems.push(format!("{field}: must have from 1 to {MAX_CHARACTERS} characters"));
            }
        }
        let is_line = matches!(self.place, Place::Subject | Place::Name | Place::Filename | Place::Document);
        if is_line && self.text.contains('\n') {
            problems.push(format!("text: must be one line, since its place is `{}`", self.place));
        }
        if self.follow_up.is_some() && self.place != Place::Earlier {
            problems.push("follow_up: goes with the place `earlier`".to_owned());
        }
        self.goal.check(task, &mut problems);
        problems
    }
}

/// Returns where two attacks have one id, or an id is also the name of a family.
fn name_conflicts(attacks: &[Attack]) -> Vec<String> {
    let families: HashSet<&str> = attacks.iter().map(|attack| attack.family.as_str()).collect();
    let mut ids = HashSet::new();
    let mut conflicts = Vec::new();
    for Attack { id, .. } in attacks {
        if !ids.insert(id) {
            conflicts.push(format!("attack ({id}): id: there is another attack of this name"));
        }
        if families.contains(id.as_str()) {
            conflicts.push(format!("attack ({id}): id: is the name of a family"));
        }
    }
    conflicts
}

/// Checks attacks, however they were made.
pub(crate) fn check_all(attacks: &[Attack]) -> Result<(), AttackError> {
    let of_each = attacks.iter().flat_map(|attack| {
        attack.problems().into_iter().map(|problem| format!("attack ({}): {problem}", attack.id))
    });
    let problems: Vec<String> = of_each.chain(name_conflicts(attacks)).collect();
    if problems.is_empty() { Ok(()) } else { Err(AttackError { problems }) }
}
