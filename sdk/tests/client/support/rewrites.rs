//! What services do to a text between taking it and showing it.

/// A text in which each of the changes below changes something.
pub const TEXT: &str =
    "Hello @Anna, \"Zoë\" & we are glad... Your refund of 20 EUR goes to DE89 3704 0044 0532 0130 00 🙂";

/// A change and its name.
pub type Change = (&'static str, fn(&str) -> String);

/// All of them.
pub const ALL: [Change; 8] = [
    ("NFC to NFD", decomposed),
    ("HTML", escaped),
    ("smart quotes", curly),
    ("ellipsis", |text| text.replace("...", "…")),
    ("masked IBAN", |text| text.replace("3704 0044 0532 0130", "**** **** **** ****")),
    ("resolved mention", |text| text.replace("@Anna", "@usr_17")),
    ("emoji lost", |text| text.chars().map(|c| if c > '\u{ffff}' { '?' } else { c }).collect()),
    ("other case", str::to_uppercase),
];

fn decomposed(text: &str) -> String {
    [('ë', "e\u{308}"), ('ö', "o\u{308}"), ('é', "e\u{301}")]
        .iter()
        .fold(text.to_owned(), |text, (whole, parts)| text.replace(*whole, parts))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

fn curly(text: &str) -> String {
    let mut open = false;
    let turn = |c| match c {
        '"' => {
            open = !open;
            if open { '“' } else { '”' }
        }
        c => c,
    };
    text.chars().map(turn).collect()
}
