//! The parts of an email that say something else than what they quote: quoted history, warnings, denials.

use std::sync::LazyLock;

use regex::Regex;

static QUOTE_HEADER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:(?:On|Am|Le|El)\b.{0,200}(?:wrote|schrieb|écrit|escribió).{0,100}:|-{2,}\s*(?:Original|Forwarded) [Mm]essage.*)\s*$")
        .expect("it is sound")
});
/// Words that forbid, deny or warn.
static DENIAL: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"(?:do|does|did|will|would|should|must|can|could|shall|is|are|was|were|has|have|had) ?not|\w+n['’]t",
        r"(?:don|doesn|didn|won|wouldn|shouldn|mustn|couldn|isn|aren|wasn|weren|hasn|haven|hadn)t",
        r"cannot|never|not to|instead of|rather than|nobody|avoid|ignore|disregard|beware|refuse[ds]?|decline[ds]?|unable",
        r"warn(?:s|ed|ing)?|suspicious|phish\w*|fraud\w*|scams?|fake|unsafe|malicious|dangerous",
        r"not (?:from us|ours|our|genuine|legitimate|official|safe|needed|required|necessary|possible|allowed|part|an? )",
        r"nicht|keine?[nrsm]?|niemals|warn(?:en|ung)|verdächtig|jamais|n['’e] ?\w+ pas|nunca|no (?:abra|envíe|haga|use)",
    ];
    Regex::new(&format!(r"(?i)\b(?:{})\b", words.join("|"))).expect("it is sound")
});
/// What looks like a denial and invites.
static INVITATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:do not|don['’]?t|never) (?:hesitate|forget|fail|miss|wait|worry|delay)\b")
        .expect("it is sound")
});
/// What a customer is to do, behind a clause that says when or why: a denial in that clause is about something else.
static INSTRUCTION: LazyLock<Regex> = LazyLock::new(|| {
    let clause = r"(?:if|in case|whether|to|for|since|as|because|when|while|although|though|unless|until|once|after|before|should|we|it|you|your|the|there)";
    let opening = r"(?:(?:so|but|therefore|then|instead)\s+)?(?:(?:please|kindly|just|simply|you (?:can|may|should|must|need to|have to))\s+)*";
    let verb = r"(?:sign|log|go|visit|open|click|tap|use|see|call|pay|transfer|confirm|verify|track|follow|register|complete|update|enter|download|scan)";
    Regex::new(&format!(r"(?i)^\W*{clause}\b[^:]*?[,;]\s*({opening}{verb}\b)")).expect("it is sound")
});
/// A word that denies what stands behind an insertion: "do not, ever, …".
static OPEN_DENIAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:\bnot|n['’]t|\bnever)\s*[,;]").expect("it is sound"));
/// What excludes that which stands behind it.
static EXCLUSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:instead of|rather than)\b").expect("it is sound"));
/// A point of a link in brackets.
static INERT_POINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\s*[\[({]\s*(?:\.|dot)\s*[\])}]\s*").expect("it is sound"));
/// A link whose scheme or colon is none, as far as it goes.
static INERT_LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bh(?:xxps?|ttps?\s*[\[({]\s*:(?://)?\s*[\])}])[^\s()<>\[\]]*").expect("it is sound")
});
/// A letter that no email has, so that nothing is found across it.
const BREAK: &str = "ꙮ";
const ABBREVIATIONS: [&str; 9] = ["e.g", "i.e", "etc", "mr", "mrs", "ms", "dr", "z.b", "vs"];

/// Returns whether a sentence warns of something, forbids or denies it.
fn denies(sentence: &str) -> bool {
    DENIAL.is_match(&INVITATION.replace_all(sentence, " "))
}

/// An email in two parts.
pub(crate) struct Parts {
    /// What it says itself.
    pub(crate) said: String,
    /// What stands in a quoted part below an answer, or in a sentence that warns or denies; a person has to tell.
    pub(crate) doubtful: Vec<String>,
}

/// Separates what an email says from what it quotes, warns of or denies.
pub(crate) fn separate(text: &str) -> Parts {
    let mut parts = Parts { said: String::new(), doubtful: Vec::new() };
    let mut answer = String::new();
    let (mut is_answered, mut is_history) = (false, false);
    for line in text.lines() {
        is_history |= is_answered && QUOTE_HEADER.is_match(line);
        let is_quoted = is_history || (is_answered && line.trim_start().starts_with(['>', '|']));
        match is_quoted {
            true => parts.doubtful.push(line.to_owned()),
            false => answer.push_str(&format!("{line}\n")),
        }
        is_answered |= !is_quoted
            && line.chars().any(char::is_alphanumeric)
            && !line.trim_start().starts_with(['>', '|']);
    }
    for clause in sentences(&answer).into_iter().flat_map(clauses) {
        match denies(clause) {
            true => parts.doubtful.push(clause.trim().to_owned()),
            false => parts.said.push_str(clause),
        }
    }
    parts
}

/// Splits a sentence where a denial before it no longer governs, and where one begins that governs only what is behind it.
fn clauses(sentence: &str) -> Vec<&str> {
    let instruction =
        INSTRUCTION.captures(sentence).and_then(|found| found.get(1)).map(|found| found.start());
    let instruction = instruction.filter(|at| !OPEN_DENIAL.is_match(&sentence[..*at]));
    let mut clauses = Vec::new();
    let mut rest = sentence;
    if let Some(at) = instruction {
        let before;
        (before, rest) = sentence.split_at(at);
        clauses.push(before);
    }
    if let Some(exclusion) = EXCLUSION.find(rest) {
        let before;
        (before, rest) = rest.split_at(exclusion.start());
        clauses.push(before);
    }
    clauses.push(rest);
    clauses
}

/// Splits a text into its sentences. A point inside a link or behind an abbreviation ends none; an empty line and a mark of a list do.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let to = at + c.len_utf8();
        let (before, rest) = (&text[from..at], &text[to..]);
        let ends = match c {
            '.' | '!' | '?' => {
                let is_abbreviated = || {
                    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
                    c == '.' && ABBREVIATIONS.contains(&word.as_str())
                };
                rest.starts_with(char::is_whitespace) && !is_abbreviated()
            }
            '。' | '！' | '？' => true,
            '\n' => {
                let next = rest.trim_start_matches([' ', '\t', '\r']);
                next.is_empty() || next.starts_with(['\n', '-', '*', '•'])
            }
            _ => false,
        };
        if ends {
            sentences.push(&text[from..to]);
            from = to;
        }
    }
    sentences.push(&text[from..]);
    sentences
}

/// Returns a text without links that nobody can open: `hxxps://…`, `example[.]com`.
pub(crate) fn without_inert_links(text: &str) -> String {
    INERT_POINT.replace_all(&INERT_LINK.replace_all(text, BREAK), BREAK).into_owned()
}
