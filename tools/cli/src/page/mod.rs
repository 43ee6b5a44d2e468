//! Reports as pages: one HTML file that needs nothing else, and Markdown.
//!
//! What a report quotes is written by strangers. The page gets it as JSON and shows it as text nodes alone;
//! its policy allows its own script and style and nothing else.

mod markdown;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub(crate) use self::markdown::markdown;

/// The tools that have a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Conform,
    Explore,
    Redteam,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Conform => "conform",
            Self::Explore => "explore",
            Self::Redteam => "redteam",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Conform => include_str!("conform.js"),
            Self::Explore => include_str!("explore.js"),
            Self::Redteam => include_str!("redteam.js"),
        }
    }
}

const STYLE: &str = include_str!("style.css");
const COMMON: &str = include_str!("common.js");

/// Returns the report of a tool as a page.
pub(crate) fn html(tool: Tool, report: &Value) -> String {
    let script = format!("{COMMON}\n{}", tool.script());
    let (script_hash, style_hash) = (hash(&script), hash(STYLE));
    let policy = format!(
        "default-src 'none'; script-src '{script_hash}'; style-src '{style_hash}'; base-uri 'none'; form-action 'none'"
    );
    let data = match tool {
        Tool::Redteam => embedded_with_short_stories(report),
        _ => embedded(report),
    };
    let name = tool.name();
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{name}: report</title>
<style>{STYLE}</style>
</head>
<body>
<noscript>This page shows its report with a script of its own. The same report is written by --json and --markdown.</noscript>
<div id="page"></div>
<script type="application/json" id="report">{data}</script>
<script>{script}</script>
</body>
</html>
"#
    )
}

/// The size of the embedded report of the red team, in bytes, from which on its stories are shortened.
const MAX_STORIES: usize = 360_000;

/// How many lines of a story are kept, and how many characters of a text, from the longest to the shortest.
const STORY_LENGTHS: [(usize, usize); 6] = [(60, 800), (30, 400), (16, 240), (8, 160), (4, 100), (0, 60)];

/// Returns the embedded report, its stories shortened as far as it takes to keep the page small. Each says
/// what is left out.
fn embedded_with_short_stories(report: &Value) -> String {
    let mut data = embedded(report);
    for (lines, characters) in STORY_LENGTHS {
        if data.len() <= MAX_STORIES {
            break;
        }
        let mut short = report.clone();
        for attack in short["attacks"].as_array_mut().into_iter().flatten() {
            if let Some(story) = attack.get_mut("story").and_then(Value::as_array_mut) {
                shorten_story(story, lines, characters);
            }
            attack.get_mut("why").into_iter().for_each(|why| shorten_text(why, characters));
        }
        data = embedded(&short);
    }
    data
}

/// Keeps the first and the last lines of a story: the attack, and what became of it.
fn shorten_story(story: &mut Vec<Value>, lines: usize, characters: usize) {
    if story.len() > lines {
        let left_out = story.len() - lines;
        let note = format!("story     {left_out} lines are left out here; the report of --json has them.");
        story.splice(lines / 2..lines / 2 + left_out, [Value::from(note)]);
    }
    story.iter_mut().for_each(|line| shorten_text(line, characters));
}

fn shorten_text(text: &mut Value, characters: usize) {
    if let Value::String(text) = text
        && let Some((end, _)) = text.char_indices().nth(characters)
    {
        text.truncate(end);
        text.push('…');
    }
}

/// Returns JSON in which nothing ends the element around it or begins another.
fn embedded(report: &Value) -> String {
    let mut text = report.to_string();
    for (mark, escaped) in [
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        text = text.replace(mark, escaped);
    }
    text
}

/// Returns the source expression of a policy that allows exactly this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
