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
/// What a customer can be told to do with a link.
const INSTRUCTION_VERB: &str = "(?:sign|log|go|visit|open|click|tap|use|see|call|pay|transfer|confirm|verify|track|follow|register|complete|update|enter|download|scan)";
/// What a customer is to do, at the beginning of a sentence or of a clause: a denial before it is about
/// something else.
static INSTRUCTION: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"(?:(?:please|kindly|just|simply|you (?:can|may|should|must|(?:will )?need to|(?:will )?have to))\s+)";
    let start = r"(?:^|[,;\n]|\s[-–—]+\s)\W*(?:(?:so|but|and|therefore|then|instead)\s+)?";
    let word = r"\s(?:so|but|therefore|then)\s+";
    Regex::new(&format!(
        r"(?i)(?:{start}{address}*|{word}{address}*|\sand\s+{address}+)({INSTRUCTION_VERB})\b"
    ))
    .expect("it is sound")
});
/// A word that denies what stands behind an insertion: "do not, ever, …".
static OPEN_DENIAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:\bnot|n['’]t|\bnever)(?:\s*[,;]|\s+[-–—])").expect("it is sound"));
/// The end of a list of verbs, before any link: a denial before the list governs all of it.
static VERB_LIST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^[^./]*?\bn?or\s+(?:to\s+)?{INSTRUCTION_VERB}\b")).expect("it is sound")
});
/// What excludes that which stands behind it.
static EXCLUSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:instead of|rather than)\b").expect("it is sound"));
/// A condition or a purpose: a denial in it is none of the instruction before it.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[,;]?\s(?:or|otherwise|if|in case|unless|until|before|so (?:that|you|we|your)|to avoid|in order not to|not to|whether|that you)\b")
        .expect("it is sound")
});
/// Where another clause begins.
static CLAUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[,;]|\s[-–—]+\s|\s(?:and|but|because|since|as|when|while|although)\s")
        .expect("it is sound")
});
/// What a clause behind a link has where it speaks of the link.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:it|they|them|there|which|ours|from us|links?|pages?|sites?|suspicious|phish\w*|fraud\w*|scams?|fake|unsafe|malicious|dangerous)\b|\b(?:this|that|so)(?:\s*(?:[^\w\s]|$)|\s+(?:is|was|has|does|looks)\b)")
        .expect("it is sound")
});
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

/// Returns where a text begins to warn of something, to forbid or to deny it.
fn find_denial(text: &str) -> Option<usize> {
    let mut denials = DENIAL.find_iter(text).map(|found| found.start());
    denials.find(|at| !INVITATION.find_iter(text).any(|invitation| invitation.range().contains(at)))
}

/// An email in two parts.
pub(crate) struct Parts {
    /// What it says itself.
    pub(crate) said: String,
    /// What stands in a quoted part below an answer, or in a sentence that warns or denies; a person has to
    /// tell.
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
        match find_denial(clause) {
            Some(_) => parts.doubtful.push(clause.trim().to_owned()),
            None => parts.said.push_str(clause),
        }
    }
    parts
}

/// Splits a sentence where a denial before it no longer governs, and where one begins that governs only what
/// is behind it.
fn clauses(sentence: &str) -> Vec<&str> {
    let starts = INSTRUCTION.captures_iter(sentence).filter_map(|found| found.get(1)).filter_map(|verb| {
        let (before, rest) = sentence.split_at(verb.start());
        // A line that goes on below a break has no capital.
        let goes_on =
            before.trim_end_matches([' ', '\t']).ends_with('\n') && !rest.starts_with(char::is_uppercase);
        (!goes_on && !OPEN_DENIAL.is_match(before) && !VERB_LIST.is_match(rest)).then_some(verb.start())
    });
    let mut clauses = Vec::new();
    let (mut from, mut is_instruction) = (0, false);
    for (to, is_next) in starts.map(|at| (at, true)).chain([(sentence.len(), false)]) {
        let clause = &sentence[from..to];
        let (head, rest) = clause.split_at(find_governed(clause, is_instruction));
        clauses.extend([head, rest]);
        (from, is_instruction) = (to, is_next);
    }
    clauses
}

/// Returns where in a clause that begins is which its first denial governs.
fn find_governed(clause: &str, is_instruction: bool) -> usize {
    let Some(denial) = find_denial(clause) else { return clause.len() };
    let first = |regex: &Regex| regex.find(clause).map(|it| it.start()).filter(|at| *at <= denial);
    let exclusion = first(&EXCLUSION);
    if !is_instruction {
        return exclusion.unwrap_or_default();
    }
    let other_clause = || {
        let at = CLAUSE.find_iter(&clause[..denial]).last()?.start();
        (!REFERENCE.is_match(&clause[at..])).then_some(at)
    };
    first(&CONDITION).or(exclusion).or_else(other_clause).unwrap_or_default()
}

/// Splits a text into its sentences. A point inside a link or behind an abbreviation ends none; an empty line
/// and a mark of a list do.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let to = at + c.len_utf8();
        let (before, rest) = (&text[from..at], &text[to..]);
        let ends = match c {
            '.' | '!' | '?' | '…' => {
                let is_abbreviated = || {
                    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
                    c == '.' && ABBREVIATIONS.contains(&word.as_str())
                };
                let rest = rest.trim_start_matches([')', ']', '"', '\'', '”', '’', '*', '_']);
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
