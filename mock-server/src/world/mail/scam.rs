//! The scam check of the sandbox: an email with two signs is a likely scam.

use crate::world::conversation::words;

/// The risk label of a likely scam.
pub(crate) const LABEL: &str = "phishing";

/// Signs of a scam, each with the words that show it.
const SIGNS: [(&str, &str); 3] = [
    (
        "Asks for a password, a code or card details",
        "password, passcode, pin code, card number, security code, credentials, verify your account, \
         confirm your account, log in, login, sign in",
    ),
    (
        "Presses for haste",
        "urgent, urgently, immediately, within 24 hours, suspended, final notice, act now, will be closed",
    ),
    (
        "Asks for money in an unusual way",
        "gift card, gift cards, wire transfer, bitcoin, crypto, new bank details, western union, lottery, inheritance",
    ),
];

const LINK: &str = "Has a link";
/// How many words of a text are looked at; each sign is searched for in all of them, under the world's lock.
const MAX_WORDS: usize = 10_000;

/// Returns the reasons why an email is a likely scam; none with fewer than two signs.
pub(crate) fn check(subject: &str, text: &str) -> Vec<String> {
    // Words between blanks, so that only whole words match.
    let all: String =
        words(subject).chain(words(text).take(MAX_WORDS)).map(|word| format!(" {word}")).collect::<String>()
            + " ";
    let shows = |runs: &str| runs.split(", ").any(|run| all.contains(&format!(" {run} ")));
    let mut found: Vec<String> =
        SIGNS.iter().filter(|(_, runs)| shows(runs)).map(|(reason, _)| (*reason).to_owned()).collect();
    if text.contains("http://") || text.contains("https://") {
        found.push(LINK.to_owned());
    }
    if found.len() < 2 {
        found.clear();
    }
    found.truncate(shared_inbox::__spec::limits::RISK_REASONS);
    found
}
