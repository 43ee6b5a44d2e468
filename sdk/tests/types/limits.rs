//! Every limit, at its border and one beyond; every problem at once, in the service's form.

use serde_json::{Value, json};
use shared_inbox::__spec::{read_arguments, read_query};
use shared_inbox::{Problems, input::*};

fn problems<T: Input>(value: Value) -> String {
    T::read(value).err().as_ref().map(Problems::to_string).unwrap_or_default()
}

#[test]
fn lengths_are_counted_in_characters_at_the_border_and_beyond() {
    fn at_most<T: Input>(field: &str, limit: usize, with: impl Fn(String) -> Value) {
        assert_eq!(problems::<T>(with("é".repeat(limit))), "", "{field} at the border");
        let expected = format!("{field}: must be at most {limit} characters");
        assert_eq!(problems::<T>(with("é".repeat(limit + 1))), expected, "one beyond");
    }
    at_most::<AddNote>("body", 10_000, |text| json!({ "body": text }));
    at_most::<Reply>("body", 50_000, |text| json!({ "body": text }));
    at_most::<Reply>("summary", 500, |text| json!({ "body": "x", "summary": text }));
    at_most::<Reply>(
        "documents[0].description",
        500,
        |text| json!({ "body": "", "documents": [{ "label": "", "description": text }] }),
    );
    at_most::<RequestDocuments>(
        "message",
        5_000,
        |text| json!({ "documents": [{ "label": "x" }], "message": text }),
    );
    at_most::<RequestDocuments>(
        "documents[0].label",
        120,
        |text| json!({ "documents": [{ "label": text }] }),
    );
    at_most::<TagConversation>("add[1]", 40, |text| json!({ "add": ["x", text] }));
    at_most::<ListConversations>("q", 200, |text| json!({ "q": text }));
    at_most::<SearchDocuments>("q", 200, |text| json!({ "q": text }));
    at_most::<AssignConversation>(
        "to",
        80,
        |text| json!({ "to": format!("user:usr_{}", "x".repeat(text.chars().count() - 9)) }),
    );
    let empty = "must be at least 1 character";
    assert_eq!(problems::<AddNote>(json!({ "body": "" })), format!("body: {empty}"));
    assert_eq!(problems::<TagConversation>(json!({ "add": ["x", ""] })), format!("add[1]: {empty}"));
    assert_eq!(problems::<TagConversation>(json!({ "add": ["x"] })), "");
}

#[test]
fn lists_have_their_most_and_their_fewest() {
    let documents = |n| json!({ "body": "x", "documents": vec![json!({ "label": "x" }); n] });
    assert_eq!(problems::<Reply>(documents(20)), "");
    assert_eq!(problems::<Reply>(documents(0)), "");
    assert_eq!(problems::<Reply>(documents(21)), "documents: must have at most 20 items");
    assert_eq!(problems::<RequestDocuments>(documents(20)), "");
    assert_eq!(problems::<RequestDocuments>(documents(21)), "documents: must have at most 20 items");
    assert_eq!(problems::<RequestDocuments>(documents(0)), "documents: must have at least 1 item");
    let tags = |n| json!({ "add": vec!["x"; n], "remove": vec!["y"; n] });
    assert_eq!(problems::<TagConversation>(tags(10)), "");
    assert_eq!(
        problems::<TagConversation>(tags(11)),
        "add: must have at most 10 items; remove: must have at most 10 items"
    );
}

#[test]
fn a_list_limit_is_a_whole_number_from_1_to_100() {
    for (text, expected) in [
        ("1", ""),
        ("100", ""),
        ("0", "limit: must be at least 1"),
        ("-1", "limit: must be at least 1"),
        ("101", "limit: must be at most 100"),
        ("99999999999999999999999", "limit: must be at most 100"),
        ("-99999999999999999999999", "limit: must be at least 1"),
        ("", "limit: must not be empty"),
        ("1.5", "limit: must be a whole number"),
        ("+5", "limit: must be a whole number"),
        ("ten", "limit: must be a whole number"),
    ] {
        for problems in [
            read_query::<ListConversations>(&[("limit", text)]).err(),
            read_query::<SearchDocuments>(&[("limit", text)]).err(),
        ] {
            assert_eq!(problems.map(|p| p.to_string()).unwrap_or_default(), expected, "limit={text}");
        }
    }
    assert_eq!(
        problems::<ListConversations>(json!({ "limit": 18446744073709551615u64 })),
        "limit: must be at most 100"
    );
    assert_eq!(problems::<ListConversations>(json!({ "limit": "5" })), "limit: must be a whole number");
}

#[test]
fn all_problems_are_named_at_once_in_the_order_of_the_fields() {
    assert_eq!(
        problems::<Reply>(json!({ "send": "yes", "summary": 1, "documents": [{ "required": 0 }, 7] })),
        "body: is required; send: must be true or false; summary: must be a string; documents[0].label: is required; \
         documents[0].required: must be true or false; documents[1]: must be an object"
    );
    assert_eq!(
        problems::<RecordSent>(json!({ "to": [], "reference": "nodigit" })),
        "messageId: is required; reference: must be letters, digits, _ and -, with at least one digit; \
         to: must have at least 1 item; subject: is required"
    );
    let query = [("view", "mine"), ("mailbox", "7"), ("assigned", "you"), ("q", "")];
    assert_eq!(read_query::<ListConversations>(&query).unwrap_err().len(), 4);
}

#[test]
fn view_all_goes_only_together_with_a_reference() {
    assert_eq!(
        problems::<ListConversations>(json!({ "view": "all" })),
        "view: all goes only together with reference"
    );
    assert_eq!(problems::<ListConversations>(json!({ "view": "all", "reference": "order-1" })), "");
}

#[test]
fn a_due_date_must_exist() {
    let due = |date: &str| {
        problems::<RequestDocuments>(json!({ "documents": [{ "label": "x" }], "dueDate": date }))
    };
    assert_eq!(due("2028-02-29"), "");
    for bad in ["2026-02-29", "2026-13-01", "2026-1-1", "20260101", "2026-01-01T00:00", "-026-01-01", ""] {
        assert_eq!(due(bad), "dueDate: must be a date that exists, such as 2026-03-01", "{bad}");
    }
}

#[test]
fn sandbox_mail_comes_from_a_test_domain() {
    for good in ["kim@customer.test", "reply+7@a.b.test", "K@X.TEST"] {
        assert_eq!(problems::<SandboxInbound>(json!({ "from": good, "text": "" })), "", "{good}");
    }
    for bad in
        ["kim@example.com", "kim@test", "kim@.test", "kim.test", "@x.test", "a@b@x.test", "k im@x.test", ""]
    {
        assert_eq!(
            problems::<SandboxInbound>(json!({ "from": bad, "text": "" })),
            "from: must be an email address on a .test domain",
            "{bad}"
        );
    }
}

#[test]
fn unknown_fields_and_parameters_are_passed_over() {
    assert_eq!(problems::<AddNote>(json!({ "body": "x", "pinned": true })), "");
    assert!(read_query::<SearchDocuments>(&[("page", "2"), ("page", "3")]).is_ok());
}

#[test]
fn a_parameter_given_twice_is_refused() {
    let problems = read_query::<ListConversations>(&[("view", "open"), ("view", "closed")]).unwrap_err();
    assert_eq!(problems.to_string(), "view: must be given only once");
}

#[test]
fn null_is_not_the_same_as_leaving_a_field_out() {
    assert_eq!(problems::<Reply>(json!({ "body": "x", "summary": null })), "summary: must be a string");
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for value in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(problems::<AddNote>(value), "body: must be a JSON object");
    }
}

#[test]
fn arguments_of_a_tool_are_read_as_they_are_meant() {
    let reply = read_arguments::<Reply>(json!({
        "body": "", "send": null, "summary": "",
        "documents": [{ "label": "", "description": "", "required": null }],
    }))
    .unwrap();
    let [item] = &reply.documents.unwrap()[..] else { panic!("one document") };
    assert!(
        (reply.body.as_str(), reply.send, reply.summary) == ("", false, None),
        "a required text may be empty"
    );
    assert!(item.label.is_empty() && item.description.is_none() && item.required);
    for (limit, read) in [(json!(10.0), Some(10)), (json!(1e1), Some(10)), (json!(null), None)] {
        assert_eq!(read_arguments::<ListConversations>(json!({ "limit": limit })).unwrap().limit, read);
    }
    for limit in [json!(10.5), json!(1e300), json!(-0.5), json!("10"), json!(1e19)] {
        let problems = read_arguments::<ListConversations>(json!({ "limit": limit })).unwrap_err();
        assert!(problems.to_string().starts_with("limit: must be"), "{limit}: {problems}");
    }
    assert!(ListConversations::read(json!({ "limit": 10.0 })).is_err(), "a body is read as it is written");
}
