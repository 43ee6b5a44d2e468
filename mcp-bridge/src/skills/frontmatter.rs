//! The name and the description of a skill, from the YAML above its text. Only the forms that people write
//! there are understood; anything else is an error and not a guess. Other fields are for whoever reads the
//! file.

use serde_json::{Map, Value};

/// Returns `name` and `description`, each a text on one line. An error names its line.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let mut lines = text.lines().map(str::trim_end).zip(1..).peekable();
    if lines.next().map(|(line, _)| line) != Some("---") {
        return Err("line 1: must be `---`, before the frontmatter".into());
    }
    let mut found = Map::new();
    while let Some((line, number)) = lines.next() {
        if line == "---" {
            return Ok(found);
        }
        let Some((name @ ("name" | "description"), value)) = line.split_once(':') else { continue };
        let wrong = |why: &str| format!("line {number}: `{name}` {why}");
        if lines.peek().is_some_and(|(next, _)| next.starts_with([' ', '\t'])) {
            return Err(wrong("must stand on one line"));
        }
        let value =
            scalar(value).ok_or_else(|| wrong("is not understood: put its text between quotation marks"))?;
        if found.insert(name.to_owned(), value.into()).is_some() {
            return Err(wrong("is there twice"));
        }
    }
    Err("the frontmatter has no end: a line `---` is missing".into())
}

/// Returns a text of YAML on one line: plain, or between quotation marks.
fn scalar(value: &str) -> Option<String> {
    let text = value.strip_prefix(' ')?.trim();
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let inside = quoted.strip_suffix('\'')?.replace("''", "\0");
        return (!inside.contains('\'')).then(|| inside.replace('\0', "'"));
    }
    let marked = text.starts_with(|c: char| "&*!%@`{}[],|>#?".contains(c)) || text.starts_with("- ");
    let is_plain =
        !text.is_empty() && !marked && !text.contains(": ") && !text.contains(" #") && !text.ends_with(':');
    is_plain.then(|| text.to_owned())
}
