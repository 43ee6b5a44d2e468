//! Reports as pages: one HTML file that needs nothing else, and Markdown.
//!
//! What a report quotes is written by strangers. The page gets it as JSON and shows it as text nodes alone; its policy allows its own
//! script and style and nothing else.

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
    let (name, data) = (tool.name(), embedded(report));
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
