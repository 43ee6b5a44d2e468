//! Skills: instructions for an agent in a folder with a `SKILL.md`. The bridge brings its own, and takes a
//! team's.

mod frontmatter;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::digest::Digest;

/// The bridge's own skill: how to work in a shared inbox.
const OWN: &str = include_str!("work-in-shared-inbox.md");
const OWN_NAME: &str = "work-in-shared-inbox";

/// What the protocol lets a skill have.
const MAX_FILES: usize = 512;
const MAX_BYTES: usize = 16 << 20;
/// How deep folders of a skill may be in each other.
const MAX_DEPTH: usize = 8;
/// The longest name and description, by the format of skills.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;

/// A skill as a client lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Skill {
    /// The address of its `SKILL.md`.
    pub(crate) uri: String,
    /// The frontmatter of its `SKILL.md`.
    pub(crate) frontmatter: Map<String, Value>,
    /// Every file of it.
    pub(crate) resources: Vec<SkillFile>,
}

/// A file of a skill, and what proves that it is the one that was listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SkillFile {
    pub(crate) uri: String,
    digest: String,
    size: usize,
    #[serde(skip)]
    pub(crate) content: Vec<u8>,
}

impl Skill {
    fn new(name: &str, files: Vec<(String, Vec<u8>)>) -> Result<Self, String> {
        let uri = |path: &str| format!("skill://{name}/{}", encoded(path));
        let head = files.iter().find(|(path, _)| path == "SKILL.md").map(|(_, content)| content);
        let text = head
            .and_then(|content| std::str::from_utf8(content).ok())
            .ok_or("SKILL.md: must be a text in UTF-8")?;
        let frontmatter = frontmatter::parse(text).map_err(|why| format!("SKILL.md: {why}"))?;
        let field = |name: &str, most: usize| {
            let text = frontmatter.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
            match text.chars().count() {
                1.. if text.chars().count() <= most => Ok(text),
                _ => Err(format!("SKILL.md: `{name}` must be a text of 1 to {most} characters")),
            }
        };
        if field("name", MAX_NAME)? != name {
            return Err(format!("SKILL.md: `name` must be the folder's, {name}"));
        }
        field("description", MAX_DESCRIPTION)?;
        let file = |(path, content): (String, Vec<u8>)| SkillFile {
            uri: uri(&path),
            digest: format!("sha256:{}", Digest::new(&content).to_hex()),
            size: content.len(),
            content,
        };
        Ok(Self { uri: uri("SKILL.md"), frontmatter, resources: files.into_iter().map(file).collect() })
    }

    fn own() -> Result<Self, String> {
        Self::new(OWN_NAME, vec![("SKILL.md".into(), OWN.into())])
    }

    pub(crate) fn description(&self) -> &str {
        self.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Returns the bridge's own skill, and those in this folder as they are now.
pub(crate) fn all(dir: Option<&Path>) -> Vec<Skill> {
    let mut all: Vec<_> = Skill::own().into_iter().collect();
    match dir.map(read) {
        Some(Ok(more)) => all.extend(more),
        Some(Err(why)) => tracing::warn!("--skills: {why}"),
        None => {}
    }
    all
}

/// Returns whether all skills in a folder can be read. The error names the file, and says what is wrong with
/// it.
pub fn check_skills(dir: &Path) -> Result<(), String> {
    read(dir).map(drop)
}

/// Returns the skills in a folder, which is one or holds some. The error names the file, and says what is
/// wrong with it.
fn read(dir: &Path) -> Result<Vec<Skill>, String> {
    let unreadable = |error: io::Error| format!("{}: {error}", dir.display());
    let folders: Vec<PathBuf> = if dir.join("SKILL.md").is_file() {
        vec![dir.canonicalize().map_err(unreadable)?]
    } else {
        let entries =
            fs::read_dir(dir).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        let mut folders: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        folders.retain(|folder| folder.join("SKILL.md").is_file());
        folders.sort();
        folders
    };
    if folders.is_empty() {
        return Err(format!("{}: there is no folder with a SKILL.md", dir.display()));
    }
    folders
        .iter()
        .map(|folder| of_folder(folder).map_err(|why| format!("{}: {why}", folder.display())))
        .collect()
}

fn of_folder(folder: &Path) -> Result<Skill, String> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with('-') || name.ends_with('-') {
        return Err("the folder's name must be lower-case letters, digits and hyphens".into());
    }
    if name == OWN_NAME {
        return Err("the bridge has a skill of this name itself".into());
    }
    let mut files = Vec::new();
    collect(folder, "", &mut files, MAX_DEPTH)?;
    Skill::new(name, files)
}

/// Returns the files of a folder by their paths in the skill, in order. Hidden ones and links, which may lead
/// anywhere, are none.
fn collect(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<(String, Vec<u8>)>,
    depth: usize,
) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("{prefix}: {error}");
    let entries =
        fs::read_dir(folder).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let mut entries: Vec<_> =
        entries.into_iter().filter_map(|e| Some((e.file_name().to_str()?.to_owned(), e))).collect();
    entries.retain(|(name, _)| !name.starts_with('.'));
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, entry) in entries {
        let path = format!("{prefix}{name}");
        let failed = |error: io::Error| format!("{path}: {error}");
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), &format!("{path}/"), files, depth - 1)?;
        } else if kind.is_file() {
            let room = MAX_BYTES - files.iter().map(|(_, content)| content.len()).sum::<usize>();
            if entry.metadata().map_err(failed)?.len() > room as u64 || files.len() == MAX_FILES {
                return Err(format!("{path}: a skill has at most {MAX_FILES} files and 16 MiB"));
            }
            files.push((path.clone(), fs::read(entry.path()).map_err(failed)?));
        }
    }
    Ok(())
}

/// Returns a path as a part of an address.
fn encoded(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'/');
    path.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
