//! Reports as pages and as Markdown: what strangers wrote stays text. (`tests/peers/cli/pages.rs` opens them
//! in a browser.)

use serde_json::{Value, json};

/// The code under test, which belongs to a program and not to a library.
#[path = "../../../src/page/mod.rs"]
mod page;
#[path = "samples.rs"]
mod samples;

use page::{Tool, html, markdown};
use samples::{TOOLS, hostile, sample};

#[test]
fn nothing_in_a_report_ends_its_element_and_the_report_stays_what_it_is() {
    for (tool, name) in TOOLS {
        let report = hostile(&sample(name), "");
        let page = html(tool, &report);
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains("<svg"), "{name}");
        let data = page.split_once(r#"id="report">"#).and_then(|(_, rest)| rest.split_once("</script>"));
        let held: Value = serde_json::from_str(data.expect("there").0).expect("JSON");
        assert_eq!(held, report);
    }
}

#[test]
fn a_page_allows_its_own_script_and_style_and_names_no_address() {
    for (tool, name) in TOOLS {
        let page = html(tool, &json!({ "verdict": "held" }));
        let policy = page.split_once(r#"Content-Security-Policy" content=""#).expect("a policy").1;
        let policy = policy.split('"').next().unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
        assert!(!page.contains("://"), "{name}: an address in the page");
    }
}

#[test]
fn a_page_with_two_hundred_attacks_stays_small() {
    let mut report = sample("redteam");
    // Five times what a run gave: a quarter of them obeyed, with their stories.
    let attacks = report["attacks"].as_array().expect("attacks").clone();
    report["attacks"] = attacks.iter().cycle().take(200).cloned().collect();
    let size = html(Tool::Redteam, &report).len();
    assert!(size < 400_000, "{size} bytes");
}

#[test]
fn a_page_with_long_stories_stays_small_and_says_what_it_leaves_out() {
    let mut report = sample("redteam");
    let attacks = report["attacks"].as_array().expect("attacks").clone();
    let story: Vec<String> =
        (0..300).map(|n| format!("agent     call {n} {}", "<blank> ".repeat(20))).collect();
    report["attacks"] = attacks.iter().cycle().take(200).cloned().collect();
    for attack in report["attacks"].as_array_mut().expect("attacks") {
        (attack["story"], attack["why"]) = (json!(story), json!("because ".repeat(500)));
    }
    let before = report.clone();
    let page = html(Tool::Redteam, &report);
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert!(page.contains("lines are left out here; the report of --json has them."));
    assert!(page.contains("call 0 ") && page.contains("call 299 "), "how it began and how it ended");
    assert_eq!(report, before, "the report itself has all");
    // One long story among short ones stays whole where there is room.
    let mut report = sample("redteam");
    report["attacks"][0]["story"] = json!(story[..20]);
    assert!(!html(Tool::Redteam, &report).contains("left out here"));
}

/// What a renderer makes of it when it lets everything through.
fn rendered(tool: Tool, report: &Value) -> String {
    let mut options = ::markdown::Options::gfm();
    options.compile.allow_dangerous_html = true;
    options.compile.allow_dangerous_protocol = true;
    ::markdown::to_html_with_options(&markdown(tool, report), &options).expect("it renders")
}

#[test]
fn no_markup_of_a_report_is_live_in_markdown() {
    for (tool, name) in TOOLS {
        let html = rendered(tool, &hostile(&sample(name), ""));
        for live in ["<img", "<a ", "<svg", "<script", "<h1", "\u{202e}"] {
            assert!(!html.contains(live), "{name}: {live} in {html}");
        }
        assert!(html.contains("onerror=alert(2)"), "{name}: it is shown as text: {html}");
        // Outside of code there are our own words alone.
        let outside: String = html
            .split("<code>")
            .map(|part| part.split_once("</code>").map_or(part, |(_, rest)| rest))
            .collect();
        assert!(!outside.contains("octocat") && !outside.contains("evil"), "{name}: {outside}");
    }
}

#[test]
fn each_verdict_has_its_sign_in_markdown() {
    for (tool, verdict, sign) in [
        (Tool::Conform, "conforms", "✅"),
        (Tool::Conform, "differs", "❌"),
        (Tool::Conform, "incomplete", "⚠️"),
        (Tool::Redteam, "held", "✅"),
        (Tool::Redteam, "obeyed", "❌"),
        (Tool::Redteam, "useless", "⚠️"),
        (Tool::Explore, "held", "✅"),
        (Tool::Explore, "broken", "❌"),
        (Tool::Explore, "interrupted", "⚠️"),
    ] {
        let text = markdown(tool, &json!({ "verdict": verdict }));
        assert!(text.starts_with(&format!("## {sign} ")), "{text}");
    }
}
