//! Shows hidden characters of a text instead of removing them, because the email will carry them.

use std::fmt::Write;

use crate::render::{Kind, SanitizeReport, clean, kind};

/// What becomes of links and of marks that a client could take for markup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Broken, for a client that may render what it shows and load an image before anyone has answered.
    Broken,
    /// Whole, for a page that shows text as text.
    Whole,
}

/// Makes what is hidden visible, and breaks links if they are to be broken.
fn visible(text: &str, links: Links, tally: &mut SanitizeReport) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match kind(c) {
            Kind::Plain => shown.push(c),
            Kind::Newline => shown.push('\n'),
            _ => _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c)),
        }
    }
    if links == Links::Broken { clean(&shown, tally) } else { shown }
}

/// Returns at most so many characters of a text on one line, with a note on what is left out.
pub(super) fn one_line(text: &str, links: Links, most: usize) -> String {
    let all = text.chars().count();
    let cut: String = text.chars().take(most).collect();
    let mut line = spaces(&visible(&cut, links, &mut SanitizeReport::default()).replace('\n', " ⏎ "));
    if all > most {
        _ = write!(line, " … (cut here, it has {all} characters)");
    }
    line
}

/// Returns the lines of a text. Long gaps, which push text out of sight, are described instead of shown.
pub(super) fn lines(text: &str, links: Links, tally: &mut SanitizeReport) -> Vec<String> {
    let shown = visible(&text.replace("\r\n", "\n"), links, tally);
    let mut out = Vec::new();
    let mut empty = 0;
    let gap = |empty: usize, out: &mut Vec<String>| match empty {
        0..=2 => out.extend(std::iter::repeat_n(String::new(), empty)),
        _ => out.push(format!("⟨{empty} empty lines⟩")),
    };
    for line in shown.lines().map(str::trim_end) {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        gap(std::mem::take(&mut empty), &mut out);
        out.push(spaces(line));
    }
    gap(empty, &mut out);
    out
}

fn spaces(line: &str) -> String {
    const MAX_GAP: usize = 24;
    let mut out = String::with_capacity(line.len());
    let mut gap = 0;
    for c in line.chars().chain(['\n']) {
        if c.is_whitespace() && c != '\n' {
            gap += 1;
            continue;
        }
        if gap > MAX_GAP {
            _ = write!(out, " ⟨{gap} spaces⟩ ");
        } else {
            out.push_str(&" ".repeat(gap));
        }
        gap = 0;
        out.push(c);
    }
    out.pop();
    out
}
