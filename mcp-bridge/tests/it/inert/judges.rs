//! The judges: a Markdown parser, which finds what a client would render, an HTML parser, which finds what a
//! browser would, and the Unicode tables of a regular expression library, which know what nobody sees.

use std::sync::LazyLock;

use html5gum::{Token, Tokenizer};
use markdown::{ParseOptions, mdast::Node};
use proptest::{prelude::*, test_runner::TestCaseError};
use regex::Regex;
use serde_json::Value;
use shared_inbox_mcp::render::Rendered;

pub(super) const MARKER: &str = "123412341234";

static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Cc}\u{2028}\u{2029}&&[^\n\t]]")
        .unwrap()
});

/// What is wrong with a text that a model, a person or a client gets to see.
pub(super) fn live(text: &str) -> Option<String> {
    static FENCE: LazyLock<Regex> = LazyLock::new(|| Regex::new("[⟦⟧〚〛⁅⁆⦗⦘⟬⟭〘〙〖〗]").unwrap());
    static LIVE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            // Clients differ in which letters make a longer word; those of ASCII are known to all.
            r"!\[|\]\(|\]\[|\]:|<[A-Za-z/!?|｜]|:[/\\]{2}|//[\p{L}\p{N}\[]|(?:^|[^A-Za-z0-9])(?i:www\.|(?:mailto|xmpp):[^\s\x22])",
        )
        .unwrap()
    });
    for (rule, what) in [(&HIDDEN, "hidden"), (&FENCE, "a fence"), (&LIVE, "live")] {
        if let Some(found) = rule.find(text) {
            return Some(format!("{what}: {:?}", found.as_str()));
        }
    }
    let tree = markdown::to_mdast(text, &ParseOptions::gfm()).expect("Markdown has no errors");
    node(&tree).map(|found| format!("rendered: {found}"))
}

fn node(one: &Node) -> Option<String> {
    match one {
        Node::Image(_)
        | Node::ImageReference(_)
        | Node::LinkReference(_)
        | Node::Definition(_)
        | Node::Html(_) => Some(format!("{one:?}")),
        // The address of a mail is what a reader must see; a client loads nothing for it.
        Node::Link(link) if link.url.starts_with("mailto:") => None,
        Node::Link(_) => Some(format!("{one:?}")),
        _ => one.children().into_iter().flatten().find_map(node),
    }
}

/// The text without our own fences, which have the marker that the first line explains.
fn unfenced(text: &str) -> String {
    let marker = text.split_once("⟦untrusted ").and_then(|(_, rest)| rest.get(..12)).unwrap_or(MARKER);
    text.replace(&format!("⟦untrusted {marker}⟧"), "").replace(&format!("⟦end {marker}⟧"), "")
}

pub(crate) fn judge_text(text: &str) -> Result<(), TestCaseError> {
    match live(&unfenced(text)) {
        Some(what) => Err(TestCaseError::fail(format!("{what} in {text}"))),
        None => Ok(()),
    }
}

/// Every string and every name in a structured result.
pub(crate) fn judge_json(value: &Value) -> Result<(), TestCaseError> {
    static MARKS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)^⟦untrusted(?:: [a-z0-9, -]+)?⟧ (.*)$").unwrap());
    match value {
        Value::String(text) => {
            let inside = MARKS.captures(text).map_or(text.as_str(), |found| found.get(1).unwrap().as_str());
            match live(inside) {
                Some(what) => Err(TestCaseError::fail(format!("{what} in {text}"))),
                None => Ok(()),
            }
        }
        Value::Array(items) => items.iter().try_for_each(judge_json),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            judge_json(&name.as_str().into())?;
            // Our own sentence names the marks.
            if name == "about" { Ok(()) } else { judge_json(value) }
        }),
        _ => Ok(()),
    }
}

pub(super) fn judge(rendered: &Rendered, most: usize) -> Result<(), TestCaseError> {
    judge_text(&rendered.text)?;
    judge_json(&rendered.structured)?;
    let (text, json) = (rendered.text.chars().count(), rendered.structured.to_string().chars().count());
    prop_assert!(text <= most && json <= most, "{} and {} characters, more than {}", text, json, most);
    Ok(())
}

/// What the page consists of; anything else would be a stranger's.
const PAGE: &str = "\
    html lang=en | head | meta charset=utf-8 | title | \
    meta content=width=device-width, initial-scale=1 name=viewport | style | body | main | h1 | p | \
    p class=to | strong | bdi | p class=warning role=alert | p class=size id=size | p class=size | \
    div aria-labelledby=size class=text role=document tabindex=0 | p class=size id=answers | \
    div aria-labelledby=answers class=words role=document tabindex=0 | p dir=auto | dl | dt | dd | \
    form autocomplete=off method=post | button name=answer value=refuse | \
    button class=yes name=answer value=send | p class=left | div class=bar | p class=late | footer";

/// The page that asks for consent to a mail with this text: as a browser reads it, a stranger's words are
/// text in it, all of them, and nothing is hidden.
pub(super) fn judge_page(html: &str, text: &str) -> Result<(), TestCaseError> {
    let mut shown = String::new();
    let own = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for token in Tokenizer::new(html) {
        match token.expect("a text has no errors") {
            Token::String(text) => shown.push_str(&own(&text)),
            Token::StartTag(tag) => {
                let attributes =
                    tag.attributes.iter().map(|(name, value)| format!(" {}={}", own(name), own(value)));
                let tag = own(&tag.name) + &attributes.collect::<String>();
                let token = tag.strip_prefix("input name=token type=hidden value=");
                let fits = token.is_some_and(|token| token.bytes().all(|byte| byte.is_ascii_hexdigit()));
                prop_assert!(fits || PAGE.split(" | ").any(|one| one == tag), "<{}> in {}", tag, html);
            }
            Token::EndTag(_) | Token::Doctype(_) => {}
            other => return Err(TestCaseError::fail(format!("{other:?} in {html}"))),
        }
    }
    if let Some(hidden) = HIDDEN.find(&shown) {
        return Err(TestCaseError::fail(format!("hidden: {:?} in {html}", hidden.as_str())));
    }
    // What the page tells instead of showing it.
    static TOLD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"⟨(?:U\+[0-9A-F]+|[0-9]+ empty lines|[0-9]+ spaces)⟩").unwrap());
    let plain = |text: &str| text.chars().filter(char::is_ascii_graphic).collect::<String>();
    let (shown, text) = (plain(&TOLD.replace_all(&shown, "")), plain(text));
    prop_assert!(shown.contains(&text), "{} is not whole in {}", text, shown);
    Ok(())
}
