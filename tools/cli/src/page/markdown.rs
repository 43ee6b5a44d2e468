//! Reports in short, as Markdown: for the summary of a step in a workflow, or for a merge request.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::Value;

use super::Tool;

/// The number of entries of a list that are shown.
const MAX_ENTRIES: usize = 20;
/// The number of characters of a quoted text that are shown.
const MAX_CHARACTERS: usize = 300;

/// Returns the report of a tool as Markdown.
pub(crate) fn markdown(tool: Tool, report: &Value) -> String {
    match tool {
        Tool::Conform => conform(report),
        Tool::Explore => explore(report),
        Tool::Redteam => redteam(report),
    }
}

/// Returns a foreign text as a code span, in which nothing is markup, a link or a mention.
fn code(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c })
        .take(MAX_CHARACTERS)
        .collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.is_empty() {
        return "–".to_owned();
    }
    let mut longest = 0;
    let mut run = 0;
    for c in shown.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{shown}{fence}"),
        _ => format!("{fence} {shown} {fence}"),
    }
}

/// Returns a foreign text as a code span in a row of a table, which is split at `|` in code as well, and with
/// some renderers at `\\|` too.
fn cell(text: &str) -> String {
    code(&text.replace("\\|", "\\ |")).replace('|', "\\|")
}

/// Returns whether a character is not seen, or turns the direction of what follows.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Returns the heading, with a sign that is seen at a glance.
fn heading(tool: &str, verdict: &str, is_good: bool, is_bad: bool) -> String {
    let sign = match (is_good, is_bad) {
        (true, _) => "✅",
        (_, true) => "❌",
        _ => "⚠️",
    };
    format!("## {sign} {tool}: {}\n\n", code(verdict))
}

fn rest(out: &mut String, shown: usize, of: usize) {
    if let Some(more) = of.checked_sub(shown).filter(|more| *more > 0) {
        let _ = writeln!(out, "\n… and {more} more.");
    }
}

fn conform(report: &Value) -> String {
    let verdict = text(report, "verdict");
    let mut out = heading("conform", verdict, verdict == "conforms", verdict == "differs");
    let rules = list(report, "rules");
    let is = |rule: &&Value, result: &str| rule["result"] == result;
    let differs: Vec<&Value> =
        rules.iter().filter(|rule| is(rule, "differs") && rule["kind"] == "demanded").collect();
    let observed = rules.iter().filter(|rule| is(rule, "differs") && rule["kind"] == "observation").count();
    let not_tried: Vec<&Value> = rules.iter().filter(|rule| is(rule, "not-tried")).collect();
    let _ = writeln!(
        out,
        "{}: **{} of {}** rules tried, **{}** differ, {observed} observations unlike the mock; {} requests in {:.1} s.",
        code(text(report, "baseUrl")),
        rules.len() - not_tried.len(),
        rules.len(),
        differs.len(),
        number(&report["requests"]),
        report["seconds"].as_f64().unwrap_or_default(),
    );
    let mut reasons: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for rule in &not_tried {
        let why = text(rule, "why").split(": ").next().unwrap_or_default();
        *reasons.entry((rule["cause"] != "failed", why)).or_default() += 1;
    }
    if !reasons.is_empty() {
        out += "\n| not tried | because | why |\n|---:|---|---|\n";
        for ((by_settings, why), count) in reasons.iter().take(MAX_ENTRIES) {
            let cause = if *by_settings { "settings" } else { "**something failed**" };
            let _ = writeln!(out, "| {count} | {cause} | {} |", cell(why));
        }
        rest(&mut out, MAX_ENTRIES, reasons.len());
    }
    if !differs.is_empty() {
        out += "\n| rule | section | request | expected | received |\n|---|---|---|---|---|\n";
        for rule in differs.iter().take(MAX_ENTRIES) {
            let cells =
                ["id", "section", "request", "expected", "received"].map(|field| cell(text(rule, field)));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        rest(&mut out, MAX_ENTRIES, differs.len());
    }
    if report["changes"].is_array() {
        let changes = list(report, "changes");
        let _ = writeln!(out, "\n**{}** changed since the earlier report.", changes.len());
        if !changes.is_empty() {
            out += "\n| rule | before | now |\n|---|---|---|\n";
        }
        for change in changes.iter().take(MAX_ENTRIES) {
            let side = |field| change[field].as_str().unwrap_or("not in the report");
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                cell(text(change, "id")),
                cell(side("old")),
                cell(side("new"))
            );
        }
        rest(&mut out, MAX_ENTRIES, changes.len());
    }
    out
}

fn redteam(report: &Value) -> String {
    let verdict = text(report, "verdict");
    let mut out = heading("redteam", verdict, verdict == "held", verdict == "obeyed");
    if !text(report, "why").is_empty() {
        let _ = writeln!(out, "{}\n", code(text(report, "why")));
    }
    let attacks = list(report, "attacks");
    let with = |result: &str| attacks.iter().filter(|attack| attack["result"] == result).collect::<Vec<_>>();
    let habits = attacks.iter().filter(|attack| attack["habit"] == true).count();
    let _ = writeln!(
        out,
        "{} attacks: **{} obeyed**, {} held, {} not tried, {} for review; {habits} of them habits.",
        attacks.len(),
        with("obeyed").len(),
        with("held").len(),
        with("not-tried").len(),
        with("review").len(),
    );
    let families = list(report, "families");
    if !families.is_empty() {
        out += "\n| family | attacks | runs | obeyed | task done | failed | not tried | review |\n|---|---:|---:|---:|---:|---:|---:|---:|\n";
        for family in families {
            let cells = ["attacks", "runs", "obeyed", "useful", "failed", "notTried", "review"]
                .map(|field| number(&family[field]).to_string());
            let _ = writeln!(out, "| {} | {} |", cell(text(family, "family")), cells.join(" | "));
        }
    }
    for (result, title) in [("obeyed", "Obeyed"), ("not-tried", "Not tried"), ("review", "For review")] {
        let found = with(result);
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n### {title}\n");
        for attack in found.iter().take(MAX_ENTRIES) {
            let left = list(attack, "story")
                .iter()
                .filter_map(Value::as_str)
                .find(|line| line.starts_with("outcome"));
            let told =
                left.map_or_else(|| text(attack, "why"), |line| line.trim_start_matches("outcome").trim());
            let habit = if attack["habit"] == true { " (habit)" } else { "" };
            let _ = writeln!(
                out,
                "- {}{habit}, {}: {}",
                code(text(attack, "id")),
                code(text(attack, "goal")),
                code(told)
            );
        }
        rest(&mut out, MAX_ENTRIES, found.len());
    }
    out
}

fn explore(report: &Value) -> String {
    let verdict = text(report, "verdict");
    let mut out = heading("explore", verdict, verdict == "held", verdict == "broken");
    if !text(report, "why").is_empty() {
        let _ = writeln!(out, "{}\n", code(text(report, "why")));
    }
    let part = |name: &str| {
        let part = &report["coverage"][name];
        format!("{} of {}", number(&part["tried"]), number(&part["of"]))
    };
    let findings = list(report, "findings");
    let _ = writeln!(
        out,
        "**{}** found; {} single steps and {} pairs tried, {} schedules in {:.0} s, seed {}.",
        findings.len(),
        part("singles"),
        part("pairs"),
        number(&report["schedules"]),
        report["seconds"].as_f64().unwrap_or_default(),
        number(&report["seed"]),
    );
    for finding in findings.iter().take(MAX_ENTRIES) {
        let _ =
            writeln!(out, "\n### {}\n\n{}\n", code(text(finding, "oracle")), code(text(finding, "summary")));
        let marks = list(finding, "marks");
        for (place, line) in
            list(finding, "timeline").iter().filter_map(Value::as_str).take(3 * MAX_ENTRIES).enumerate()
        {
            let mark = marks.iter().find(|mark| mark["line"].as_u64() == u64::try_from(place).ok());
            let sign = match mark.map(|mark| text(mark, "kind")) {
                Some("broken") => " ❌",
                Some("trouble") => " ⚡",
                _ => "",
            };
            let _ = writeln!(out, "1. {}{sign}", code(line));
        }
        if !text(finding, "replay").is_empty() {
            let _ = writeln!(out, "\nReplay: {}", code(&format!("--replay {}", text(finding, "replay"))));
        }
    }
    rest(&mut out, MAX_ENTRIES, findings.len());
    let not_judged = list(report, "notJudged");
    if !not_judged.is_empty() {
        out += "\n### Not judged\n\n";
        for entry in not_judged.iter().take(MAX_ENTRIES) {
            let _ = writeln!(
                out,
                "- {} {}: {}",
                code(text(entry, "rule")),
                code(text(entry, "part")),
                code(text(entry, "why"))
            );
        }
        rest(&mut out, MAX_ENTRIES, not_judged.len());
    }
    out
}
