//! Removes quoted history from an email's text.
//!
//! It removes lines that start with `>`, the line that introduces them ("On … wrote:"), and everything from
//! the point where a mail program pastes the older email ("-----Original Message-----", a block of headers).
//! Text between and below quoted lines stays, and so does an email that is nothing but history.

/// Returns the text without history.
pub(crate) fn strip(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if pastes_the_rest(&lines[at..]) {
            break;
        }
        if let Some(length) = introduction(&lines[at..]) {
            let next = lines[at + length..].iter().find(|line| !line.trim().is_empty());
            if next.is_none_or(|line| is_quoted(line)) {
                at += length;
                continue;
            }
            if names_a_sender(&lines[at..at + length]) {
                break;
            }
        }
        if !is_quoted(lines[at]) {
            kept.push(lines[at]);
        }
        at += 1;
    }
    let stripped = join(&kept);
    if stripped.is_empty() { text.trim_end().to_owned() } else { stripped }
}

/// Joins lines to a text without empty lines at the begin and the end.
fn join(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    let text = text.trim_end();
    text.trim_start_matches(['\n', '\r']).to_owned()
}

fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// How mail programs introduce a quotation: the first word, and the end of the line.
const INTRODUCTIONS: [(&str, &[&str]); 8] = [
    ("On ", &["wrote:"]),
    ("Am ", &["schrieb:"]),
    ("Le ", &["a écrit :", "a écrit:"]),
    ("El ", &["escribió:"]),
    ("Il ", &["ha scritto:"]),
    ("Op ", &["schreef:"]),
    ("Den ", &["skrev:"]),
    ("Em ", &["escreveu:"]),
];

/// Returns how many lines introduce a quotation here: mail programs break long lines.
fn introduction(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?.trim();
    let (_, ends) = INTRODUCTIONS.iter().find(|(start, _)| first.starts_with(start))?;
    let mut whole = String::new();
    for (count, line) in (1..).zip(lines.iter().take(3)) {
        if line.trim().is_empty() {
            return None;
        }
        whole.push_str(line.trim());
        // "schrieb Kim:" and "wrote Kim:" have the name behind the verb.
        let verb = |end: &&str| whole.contains(end.trim_end_matches([':', ' ']));
        if ends.iter().any(|end| whole.ends_with(end)) || (whole.ends_with(':') && ends.iter().any(verb)) {
            return Some(count);
        }
        whole.push(' ');
    }
    None
}

/// Returns whether an introduction has a date and a sender, so that what follows is history even without
/// marks.
fn names_a_sender(lines: &[&str]) -> bool {
    let has = |found: fn(char) -> bool| lines.iter().any(|line| line.contains(found));
    has(|c| c.is_ascii_digit()) && has(|c| c == '@')
}

const SEPARATORS: [&str; 6] = [
    "original message",
    "ursprüngliche nachricht",
    "message d'origine",
    "mensaje original",
    "oorspronkelijk bericht",
    "messaggio originale",
];

/// Returns whether the older email is pasted from here on.
fn pastes_the_rest(lines: &[&str]) -> bool {
    let Some(first) = lines.first().map(|line| line.trim()) else { return false };
    if first.starts_with("--") && first.ends_with("--") {
        let inner = first.trim_matches(['-', ' ']).to_lowercase();
        if SEPARATORS.contains(&inner.as_str()) {
            return true;
        }
    }
    if first.len() >= 10 && first.bytes().all(|b| b == b'_') {
        return lines.get(1..).is_some_and(is_header_block);
    }
    is_header_block(lines)
}

/// Returns whether lines are a block of headers, as some mail programs put above the older email.
fn is_header_block(lines: &[&str]) -> bool {
    let bare = |line: &str| line.trim().trim_start_matches('*').replace("*:", ":").replace(":*", ":");
    let header = |line: &&str, names: &str| {
        let line = bare(line);
        names.split(", ").any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    };
    let Some(first) = lines.first() else { return false };
    let block = &lines[..lines.len().min(6)];
    header(first, "From, Von, De, Da, Van")
        && block
            .iter()
            .any(|line| header(line, "Sent, Date, Gesendet, Datum, Envoyé, Enviado, Inviato, Verzonden"))
        && block.iter().any(|line| {
            header(line, "Subject, Betreff, Objet, Asunto, Oggetto, Onderwerp, To, An, À, Para, A, Aan")
        })
}
