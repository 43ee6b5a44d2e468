//! A small report of each tool, with every part that a page can show.

use serde_json::{Value, json};

use super::page::Tool;

pub(super) const TOOLS: [(Tool, &str); 3] =
    [(Tool::Conform, "conform"), (Tool::Redteam, "redteam"), (Tool::Explore, "explore")];

/// Everything that a page or a renderer of Markdown could take for more than text.
const HOSTILE: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'><svg onload=alert(3)> ``` </code> | \
                       @octocat \\| [a](javascript:alert(4)) ![](//evil.example/x) &amp;\n# head\n\n- #1\u{2028}\u{202e}\u{0}";

pub(super) fn sample(name: &str) -> Value {
    let text = match name {
        "conform" => include_str!("conform.json"),
        "redteam" => include_str!("redteam.json"),
        _ => include_str!("explore.json"),
    };
    serde_json::from_str(text).expect("JSON")
}

/// Replaces every string but those that decide how something is shown.
pub(super) fn hostile(value: &Value, field: &str) -> Value {
    match value {
        Value::String(_) if matches!(field, "result" | "verdict" | "kind" | "cause") => value.clone(),
        Value::String(text) => {
            // A story and a timeline begin with who speaks.
            let who = text.split_once("  ").map(|(who, _)| format!("{who}  ")).unwrap_or_default();
            json!(format!("{who}{HOSTILE}"))
        }
        Value::Array(items) => items.iter().map(|item| hostile(item, field)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), hostile(value, name))).collect())
        }
        other => other.clone(),
    }
}
