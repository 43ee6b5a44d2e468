//! Search and lists: words and beginnings of words, newest first, each world for itself.

use super::kit::Kit;

/// The same word is written in several ways: composed or not, with `ß` or `ss`, in capitals, as a ligature.
#[test]
fn words_are_compared_without_regard_to_case_accents_and_unicode_forms() {
    let ways: [&[&str]; 5] = [
        &["Straße", "STRASSE", "strasse", "STRAẞE", "straße"],
        &["café", "cafe\u{301}", "CAFÉ", "cafe", "CAFE\u{301}"],
        &["ﬁnal", "final", "FINAL", "ｆｉｎａｌ"],
        &["ΟΔΟΣ", "οδος", "οδοσ", "ὁδός"],
        &["naïvetés", "NAI\u{308}VETE\u{301}S", "naivetes"],
    ];
    for same in ways {
        for written in same {
            let mut kit = Kit::new();
            let (live, test) = (kit.live.clone(), kit.test.clone());
            let id = kit.mail(&format!("about {written} and more"));
            let simulated = kit.sandbox_mail("kim@customer.test", &format!("about {written} and more"));
            for query in same {
                assert_eq!(kit.ids(&live, &[("q", query)]), [id.as_str()], "{written} by {query}");
                assert_eq!(kit.ids(&test, &[("q", query)]), [simulated.as_str()], "{written} by {query}");
            }
            assert!(
                kit.ids(&live, &[("q", "e\u{301}")]).is_empty(),
                "a mark is no word's beginning by itself"
            );
        }
    }
}

/// A text of 4 MiB, the most that a request may have, of words that are all different. Looking up each among
/// those before it takes more than a minute; the time must grow with the text alone.
#[test]
fn an_email_of_megabytes_is_filed_at_once_and_every_word_of_it_is_found() {
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut kit = Kit::new();
        let live = kit.live.clone();
        let text: String = (0..480_000).map(|n| format!("w{n:x} ")).collect();
        let id = kit.mail(&text[..text.len().min((4 << 20) - 1_024)]);
        kit.mail("another");
        for hit in ["w0", "w7", "w6fff0 w1", "W1D4C"] {
            assert_eq!(kit.ids(&live, &[("q", hit)]), std::slice::from_ref(&id), "{hit}");
        }
        for miss in ["w0 nowhere", "another w0"] {
            assert!(kit.ids(&live, &[("q", miss)]).is_empty(), "{miss}");
        }
        _ = done.send(());
    });
    finished.recv_timeout(std::time::Duration::from_secs(20)).expect("the time grows with the text alone");
}

#[test]
fn words_are_runs_of_letters_and_digits_and_a_query_without_any_finds_nothing() {
    let mut kit = Kit::new();
    let live = kit.live.clone();
    let id = kit.mail("Your order-1042 waits.");
    for (query, is_hit) in
        [("1042", true), ("order-1042", true), ("order, 10", true), ("!!!", false), ("104 2", false)]
    {
        let expected = if is_hit { vec![id.clone()] } else { vec![] };
        assert_eq!(kit.ids(&live, &[("q", query)]), expected, "{query}");
    }
}
