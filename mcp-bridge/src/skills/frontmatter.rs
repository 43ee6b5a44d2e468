//! The frontmatter of a skill: the part of YAML that people write there, read strictly. A host compares what we say with
//! what stands in the file, so that what is not understood is an error and not a guess.

use std::iter::Peekable;

use serde_json::{Map, Value};

type Lines<'a> = Peekable<std::vec::IntoIter<(usize, &'a str)>>;

/// Reads the frontmatter at the beginning of a file. An error names its line.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let mut lines = text.lines().map(str::trim_end).enumerate().map(|(i, line)| (i + 1, line));
    if lines.next().map(|(_, line)| line) != Some("---") {
        return Err("line 1: must be `---`, before the frontmatter".into());
    }
    let mut inside = Vec::new();
    loop {
        match lines.next() {
            Some((_, "---")) => break,
            Some(line) => inside.push(line),
            None => return Err("the frontmatter has no end: a line `---` is missing".into()),
        }
    }
    fields(&mut inside.into_iter().peekable(), 0)
}

/// Returns the fields of a map whose lines are indented by this much.
fn fields(lines: &mut Lines<'_>, indent: usize) -> Result<Map<String, Value>, String> {
    let mut map = Map::new();
    while let Some((number, line)) = next_line(lines) {
        let depth = depth_of(line);
        if depth < indent {
            break;
        }
        let wrong = |why: &str| Err(format!("line {number}: {why}"));
        if depth > indent {
            return wrong("is indented further than the one before");
        }
        lines.next();
        let Some((name, rest)) = line.trim_start().split_once(':') else {
            return wrong("must be `name: value`");
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return wrong("must start with a name of letters, digits, - and _");
        }
        if !rest.is_empty() && !rest.starts_with(' ') {
            return wrong("needs a space behind the colon");
        }
        let value = value(rest.trim(), number, lines, indent)?;
        if map.insert(name.to_owned(), value).is_some() {
            return wrong(&format!("`{name}` is there twice"));
        }
    }
    Ok(map)
}

fn value(text: &str, number: usize, lines: &mut Lines<'_>, indent: usize) -> Result<Value, String> {
    match text.chars().next() {
        None => nested(lines, indent),
        Some('#') => nested(lines, indent),
        Some(style @ ('|' | '>')) => block(style, &text[1..], number, lines, indent),
        Some('[') => list_in_line(text, number),
        Some('"' | '\'') => quoted(text, number),
        _ => {
            let mut text = without_comment(text).to_owned();
            // A plain text continues in lines that are indented further.
            while let Some((_, line)) = next_line(lines).filter(|(_, line)| depth_of(line) > indent) {
                lines.next();
                text = format!("{text} {}", without_comment(line.trim_start()));
            }
            plain(&text, number)
        }
    }
}

/// Returns the value below a name: a map, a list, or null.
fn nested(lines: &mut Lines<'_>, indent: usize) -> Result<Value, String> {
    match next_line(lines) {
        Some((_, line)) if line.trim_start().starts_with("- ") && depth_of(line) >= indent => {
            let (depth, mut items) = (depth_of(line), Vec::new());
            while let Some((number, line)) = next_line(lines) {
                let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| depth_of(line) == depth)
                else {
                    break;
                };
                lines.next();
                items.push(value(item.trim(), number, lines, depth)?);
            }
            Ok(items.into())
        }
        Some((_, line)) if depth_of(line) > indent => Ok(fields(lines, depth_of(line))?.into()),
        _ => Ok(Value::Null),
    }
}

/// Returns a text of several lines, as they stand (`|`) or as one (`>`).
fn block(
    style: char,
    end: &str,
    number: usize,
    lines: &mut Lines<'_>,
    indent: usize,
) -> Result<Value, String> {
    if !matches!(end, "" | "-") {
        return Err(format!("line {number}: only `{style}` and `{style}-` are understood"));
    }
    let mut inside: Vec<&str> = Vec::new();
    while let Some((_, line)) = lines.next_if(|(_, line)| line.is_empty() || depth_of(line) > indent) {
        inside.push(line);
    }
    while inside.last().is_some_and(|line| line.is_empty()) {
        inside.pop();
    }
    let depth = inside.iter().filter(|line| !line.is_empty()).map(|line| depth_of(line)).min().unwrap_or(0);
    let inside: Vec<_> = inside.iter().map(|line| line.get(depth..).unwrap_or_default()).collect();
    if style == '>' && inside.iter().any(|line| line.is_empty() || line.starts_with(' ')) {
        return Err(format!("line {number}: a folded text of several paragraphs is not understood"));
    }
    let text = inside.join(if style == '|' { "\n" } else { " " });
    let newline = if end.is_empty() && !text.is_empty() { "\n" } else { "" };
    Ok(format!("{text}{newline}").into())
}

fn list_in_line(text: &str, number: usize) -> Result<Value, String> {
    let inside = text.strip_prefix('[').and_then(|rest| without_comment(rest).strip_suffix(']'));
    let Some(inside) = inside else { return Err(format!("line {number}: a list must end in its line")) };
    if inside.contains(['[', '{', '"', '\'']) {
        return Err(format!("line {number}: write this list with a line `- …` for each"));
    }
    inside.split(',').map(str::trim).filter(|item| !item.is_empty()).map(|item| plain(item, number)).collect()
}

fn quoted(text: &str, number: usize) -> Result<Value, String> {
    let wrong = || format!("line {number}: the quotation marks do not fit");
    let text = match text.rfind(['"', '\'']).map(|end| text.split_at(end + 1)) {
        Some((text, rest)) if rest.is_empty() || rest.trim_start().starts_with('#') => text,
        _ => return Err(wrong()),
    };
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).map(Value::from).map_err(|_| wrong());
    }
    let inside = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).ok_or_else(wrong)?;
    if inside.replace("''", "").contains('\'') {
        return Err(wrong());
    }
    Ok(inside.replace("''", "'").into())
}

/// Returns a value without quotation marks: a number, a word of YAML, or a text.
fn plain(text: &str, number: usize) -> Result<Value, String> {
    if text.starts_with(['&', '*', '!', '%', '@', '`', '{', '}', ']', ',', '"', '\''])
        || text.contains(": ")
        || text.ends_with(':')
    {
        return Err(format!("line {number}: put this value between quotation marks"));
    }
    Ok(match text {
        "null" | "Null" | "NULL" | "~" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        text if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            serde_json::from_str::<serde_json::Number>(text).map_or_else(|_| text.into(), Value::Number)
        }
        text => text.into(),
    })
}

fn without_comment(text: &str) -> &str {
    text.split_once(" #").map_or(text, |(text, _)| text).trim_end()
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the next line that is not empty.
fn next_line<'a>(lines: &mut Lines<'a>) -> Option<(usize, &'a str)> {
    while lines.next_if(|(_, line)| line.is_empty() || line.trim_start().starts_with('#')).is_some() {}
    lines.peek().copied()
}
