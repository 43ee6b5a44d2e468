//! Texts with a form: ids, points in time, references and reply addresses.

use proptest::prelude::*;
use shared_inbox::*;

#[test]
fn ids_are_checked_by_prefix() {
    assert!(ConversationId::parse("cnv_0az9").is_ok());
    for bad in ["cnv_", "cnv", "", "CNV_1", "cnv_A", "cnv_a-b", "cnv_a/../b", " cnv_1", "cnv_1\n", "msg_1"] {
        assert!(ConversationId::parse(bad).is_err(), "{bad:?}");
    }
    assert!(UserId::parse("agt_1").is_err());
    assert!(serde_json::from_str::<MailboxId>("\"tag_1\"").is_err());
}

#[test]
fn timestamps_of_every_form_are_read_and_written_with_milliseconds_and_z() {
    for (read, written) in [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"),
        ("2026-03-01T09:30:00.5Z", "2026-03-01T09:30:00.500Z"),
        ("2026-03-01T00:30:00.999999+02:00", "2026-02-28T22:30:00.999Z"),
        ("2026-03-01T09:30:00-00:00", "2026-03-01T09:30:00.000Z"),
        ("2026-03-01T09:30:00.123456789-11:30", "2026-03-01T21:00:00.123Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        // What many programs write for "never".
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
    ] {
        let time = Timestamp::parse(read).unwrap_or_else(|error| panic!("{read}: {error}"));
        assert_eq!(time.to_string(), written);
        assert_eq!(Timestamp::from_millis(time.as_millis()), time);
        assert_eq!(Timestamp::from(std::time::SystemTime::from(time)), time);
    }
    for bad in [
        "",
        "2026-03-01",
        "2026-03-01T09:30:00",
        "1772357400",
        "2026-02-30T00:00:00Z",
        "2026-03-01Z",
        "+010000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "2026-03-01T24:00:01Z",
        "2026-03-01T09:30:61Z",
    ] {
        assert!(Timestamp::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_tag_is_a_reference_by_the_exact_rule() {
    for (tag, reference) in [
        ("order-1042", Some("order-1042")),
        ("A_b-9", Some("a_b-9")),
        ("7", Some("7")),
        ("news", None),
        ("", None),
        ("a.1", None),
        ("a+1", None),
        ("é1", None),
        ("1234567890123456789012345678901234567890", Some("1234567890123456789012345678901234567890")),
        ("12345678901234567890123456789012345678901", None),
    ] {
        let address = ReplyAddress::parse(&format!("help+{tag}@example.com")).unwrap();
        assert_eq!(address.reference().map(Reference::as_str), reference, "{tag}");
        let inbox =
            if reference.is_some() { "help@example.com".into() } else { format!("help+{tag}@example.com") };
        assert_eq!(address.inbox(), inbox);
    }
}

#[test]
fn an_inbox_with_a_plus_tag_takes_no_reference_because_it_would_not_be_read_back() {
    for inbox in ["help+news@example.com", "help+order-7@example.com", "help"] {
        let error = ReplyAddress::new(inbox, Reference::parse("a1").unwrap()).unwrap_err();
        assert_eq!(error.to_string().contains('+'), inbox.contains('+'), "{inbox}: {error}");
    }
    assert_eq!(ReplyAddress::parse("help+news+a1@example.com").unwrap().reference(), None);
}

proptest! {
    #[test]
    fn any_reference_survives_the_way_through_an_address(tag in "[A-Za-z0-9_-]{0,20}[0-9][A-Za-z0-9_-]{0,19}") {
        let reference = Reference::parse(&tag).unwrap();
        let address = ReplyAddress::new("help@example.com", reference.clone()).unwrap().to_string();
        let read = ReplyAddress::parse(&address).unwrap();
        prop_assert_eq!(read.reference(), Some(&reference));
        prop_assert_eq!(read.inbox(), "help@example.com");
        prop_assert_eq!(read.to_string(), address);
    }

    #[test]
    fn a_reference_is_accepted_exactly_when_the_rule_holds(tag in "[A-Za-z0-9_.+ é-]{0,45}") {
        let rule = !tag.is_empty()
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && tag.chars().any(|c| c.is_ascii_digit())
            && tag.chars().count() <= 40;
        prop_assert_eq!(Reference::parse(&tag).is_ok(), rule);
    }

    #[test]
    fn an_address_that_parses_is_written_back_equal_but_for_the_references_case(text in "\\PC{0,30}@\\PC{0,20}") {
        if let Ok(address) = ReplyAddress::parse(&text) {
            prop_assert_eq!(address.to_string().to_ascii_lowercase(), text.to_ascii_lowercase());
        }
    }

    #[test]
    fn time_moves_there_and_back(ms in -377_705_116_800_000i64..253_402_300_799_999 - 10_000_000_000, step in 0u64..10_000_000_000) {
        let at = Timestamp::from_millis(ms);
        let step = std::time::Duration::from_millis(step);
        prop_assert_eq!(at + step - step, at);
        prop_assert_eq!((at + step).duration_since(at), step);
        prop_assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
        prop_assert_eq!(serde_json::to_value(at).unwrap(), at.to_string());
        prop_assert_eq!(Timestamp::from(std::time::SystemTime::from(at)), at);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>()) {
        let _ = (ConversationId::parse(&*text), UserId::parse(&*text), Timestamp::parse(&text), Date::parse(&text));
        let _ = (Reference::parse(&text), ReplyAddress::parse(&text), text.parse::<AssignTo>(), Problems::parse(&text));
    }
}

#[test]
fn times_beyond_the_calendar_stop_at_its_border() {
    assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    assert_eq!(Timestamp::from_millis(i64::MIN).to_string(), "-009999-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::from_millis(-62_167_219_200_000).to_string(), "0000-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::from_millis(-62_167_219_200_001).to_string(), "-000001-12-31T23:59:59.999Z");
    assert_eq!(Timestamp::now() + std::time::Duration::MAX, Timestamp::from_millis(i64::MAX));
}
