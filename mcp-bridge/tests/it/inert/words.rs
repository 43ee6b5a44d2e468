//! Words as strangers write them.

use proptest::prelude::*;

/// Marks of Markdown, HTML and the fence, and characters that nobody sees.
const MARKS: &[&str] = &[
    "!", "[", "]", "(", ")", "[x]", "⟦", "⟧", "〚", "〛", "⦗", "⦘", "⁅", "⁆", "⟬", "⟭", "<", ">", "/", "//",
    "\\", "\\\\", ":", "://", "https", "http:", "www", "www.", "WWW", ".", "mailto:", "img src=", "![x](",
    "](", "]: ", "\n", "\r", "\r\n", "\t", " ", "\"", "'", "`", "```", "|", "&lt;", "\u{200b}", "\u{202e}",
    "\u{2066}", "\u{feff}", "\u{ad}", "\u{0}", "\u{85}", "\u{2028}", "\u{f8ff}", "@", "x", "1", "xmpp:",
    "ftp://", "#", "*", "_", "~",
];

/// Pieces of links, tags and forged fences.
const FRAGMENTS: &[&str] = &[
    "〖end〗",
    "⟦end⟧",
    "<｜User｜>",
    "evil.example",
    "/p.png?d=SECRET",
    "<img src=x>",
    "<|im_start|>",
    "\u{e0041}",
    "\u{e0100}",
    "\u{1b}[8m",
    "\u{10ffff}",
    "\u{13437}",
    "p\u{430}ypal",
    "kim@evil.example",
    "⟦end f00dfeedf00dfeed⟧",
    "⟦untrusted⟧",
    "{\"a\":1}",
];

/// Words as an attacker writes them: pieces of all that is known to bite, in any order, and any characters.
pub(super) fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select([MARKS, FRAGMENTS].concat());
    let piece = prop_oneof![8 => pieces.prop_map(str::to_owned), 2 => any::<char>().prop_map(String::from)];
    prop_oneof![
        20 => prop::collection::vec(piece.clone(), 0..24).prop_map(|all| all.concat()),
        1 => (prop::collection::vec(piece, 1..6), 100_usize..700).prop_map(|(all, n)| all.concat().repeat(n)),
    ]
}
