//! Several bridges of one machine that are asked for the same email.

use super::*;

/// A folder in which bridges of one machine keep their state.
async fn machine() -> (Fixture, tempfile::TempDir) {
    (Fixture::new().await, tempfile::tempdir().unwrap())
}

#[tokio::test]
async fn two_bridges_and_two_yeses_make_one_email_and_the_second_question_says_that_it_is_scheduled() {
    for arguments in [&[][..], &["--send=allow"]] {
        let (fixture, folder) = machine().await;
        let mut questions = Vec::new();
        for number in 0..2 {
            let person = Person::who(Answer::Yes);
            let client = remembering(&fixture, &person, folder.path(), arguments).await;
            // The models of two clients tell the team of it in different words.
            let mut reply = fixture.reply("Once");
            reply["summary"] = format!("By bridge {number}").into();
            let result = client.call("reply", reply).await;
            assert_done(&result);
            assert_eq!(text(&result).contains("repeats a call"), number == 1, "{}", text(&result));
            questions.extend(person.questions());
        }
        let told: Vec<_> = questions.iter().map(|question| question.contains("scheduled already")).collect();
        assert_eq!(told, if arguments.is_empty() { vec![false, true] } else { vec![] }, "{questions:?}");
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
}

#[tokio::test]
async fn two_questions_open_at_once_and_two_yeses_make_one_email_and_no_page_calls_it_unsent() {
    let (fixture, folder) = machine().await;
    let files = [AuditFile::new(), AuditFile::new()];
    let asked = asked_by(&fixture, folder.path(), &files).await;
    for (number, (client, _, state, window)) in asked.iter().enumerate() {
        window.press("send").await;
        let page = window.again().await;
        let result = collect(&fixture, client, state).await;
        assert!(!is_error(&result), "{number}: {}", text(&result));
        assert_eq!(text(&result).contains("repeats a call"), number == 1, "{}", text(&result));
        assert_eq!(page.contains("not sent a second time"), number == 1, "{page}");
        assert!(!page.contains("The email was not sent"), "{page}");
        // The second yes comes after another email of the customer, behind which the first answer is.
        fixture.write_again().await;
    }
    let again = asked[1].0.call_once(params("reply", fixture.reply("Once"))).await;
    assert!(text(&again).contains("repeats a call"), "nobody is asked again: {}", text(&again));
    let outcomes = files.map(|file| {
        let outcome = |line: Value| line["outcome"].as_str().unwrap().to_owned();
        file.lines().into_iter().map(outcome).collect::<Vec<_>>()
    });
    assert_eq!(outcomes[0], ["asked", "intent", "scheduled", "repeat"]);
    assert_eq!(outcomes[1], ["asked", "repeat", "repeat", "repeat"]);
    assert_eq!(fixture.mails().await, Mails::sent("Once"));
}

/// Two bridges of one machine, each with a question about the same email open in a window.
async fn asked_by(
    fixture: &Fixture,
    folder: &Path,
    files: &[AuditFile; 2],
) -> [(Client, Person, String, Window); 2] {
    let ask = async |file: &AuditFile| {
        let person = Person::who_follows_links(Answer::Yes);
        let service = with_store(fixture, folder, LeapingClock::over(&person.clock));
        let client = fixture.start_over(Some(service), &person, Newer, &[&file.option()]).await;
        let (state, window) = ask_on_page(&client, &person, params("reply", fixture.reply("Once"))).await;
        (client, person, state, window)
    };
    [ask(&files[0]).await, ask(&files[1]).await]
}

#[tokio::test]
async fn a_yes_after_which_nothing_can_be_read_is_not_called_unsent_since_another_bridge_may_have_sent_it() {
    let failures = [Effect::status(404), Effect::status(503), Effect::status(401), Effect::drop_before()];
    for failure in failures {
        let (fixture, folder) = machine().await;
        let files = [AuditFile::new(), AuditFile::new()];
        let [(_a, _b, _, first), (client, person, state, second)] =
            asked_by(&fixture, folder.path(), &files).await;
        first.press("send").await;
        assert!(first.again().await.contains("goes out at"));
        let later = async |seconds| {
            fixture.mock.control().advance(Duration::from_secs(seconds)).await.unwrap();
            person.clock.forward(Duration::from_secs(seconds));
        };
        // Longer than the clocks of the service and of this machine may differ.
        later(200).await;
        let failing = reads(failure);
        fixture.fault(failing).await;
        second.press("send").await;
        let page = second.again().await;
        assert_page_does_not_know(&page, "Once");
        assert_says_how_to_look(&collect(&fixture, &client, &state).await);
        assert_eq!(files[1].lines().last().unwrap()["outcome"], "unknown");

        fixture.mock.control().clear_faults().await;
        later(3600).await;
        // It is looked for, and nobody is asked.
        assert_repeats(&client.call_once(params("reply", fixture.reply("Once"))).await);
        let page = second.again().await;
        assert!(page.contains("has left already"), "the window learns it too: {page}");
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
}

#[tokio::test]
async fn a_yes_for_what_changed_is_not_called_unsent_while_another_bridge_is_sending() {
    let (fixture, folder) = machine().await;
    let files = [AuditFile::new(), AuditFile::new()];
    let [(_a, _b, _, first), (client, _, state, second)] = asked_by(&fixture, folder.path(), &files).await;
    // Nothing of it can be seen in the conversation yet.
    fixture.fault(creates(Effect::drop_before().delayed(Duration::from_secs(60)))).await;
    first.press("send").await;
    crate::wire::under_way(&fixture.mock).await;
    fixture.write_again().await;
    second.press("send").await;
    assert_says_how_to_look(&collect(&fixture, &client, &state).await);
    let page = second.again().await;
    assert!(page.contains("not known whether the email was sent"), "{page}");
    assert_eq!(files[1].lines().last().unwrap()["outcome"], "unknown");
}

#[tokio::test]
async fn what_ends_without_a_yes_speaks_of_its_own_question_since_another_bridge_may_have_sent_the_email() {
    for answer in ["refuse", "nothing"] {
        let (fixture, folder) = machine().await;
        let files = [AuditFile::new(), AuditFile::new()];
        let [(_a, _b, _, first), (client, person, state, second)] =
            asked_by(&fixture, folder.path(), &files).await;
        first.press("send").await;
        assert!(first.again().await.contains("goes out at"));
        match answer {
            "refuse" => _ = second.press("refuse").await,
            _ => {
                person.clock.forward(Duration::from_secs(300));
                until(async || second.again().await.contains("closed")).await;
            }
        }
        let page = second.again().await;
        assert!(page.contains("Nothing was sent by this question"), "{answer}: {page}");
        let said = collect(&fixture, &client, &state).await;
        assert!(is_error(&said) && text(&said).contains("by this call"), "{answer}: {}", text(&said));
        assert_eq!(fixture.mails().await, Mails::sent("Once"));
    }
}

#[tokio::test]
async fn another_summary_makes_no_other_email_after_a_restart_either_and_what_it_found_is_resolved() {
    for is_found in [true, false] {
        let (fixture, folder) = machine().await;
        let unresolved = async || {
            let records = with_store(&fixture, folder.path(), LeapingClock::new()).once_records().await;
            records.unwrap().len()
        };
        let person = Person::who(Answer::Yes);
        let client = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
        let lost = if is_found { Effect::drop_after() } else { Effect::drop_before() };
        lose(&fixture, lost, Effect::status(503)).await;
        assert_says_how_to_look(&client.call("reply", fixture.reply("Once")).await);
        assert_eq!(unresolved().await, 1);
        fixture.mock.control().clear_faults().await;
        drop(client);

        let client = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
        let mut again = fixture.reply("Once");
        again["summary"] = "Tell Kim".into();
        let result = client.call("reply", again).await;
        assert_done(&result);
        assert_eq!(text(&result).contains("repeats a call"), is_found, "{}", text(&result));
        assert_eq!((unresolved().await, fixture.mails().await), (0, Mails::sent("Once")));
    }
}

#[tokio::test]
async fn what_another_bridge_is_sending_is_not_called_unsent() {
    let (fixture, folder) = machine().await;
    let person = Person::who(Answer::Yes);
    let at_it = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
    fixture.fault(creates(hanging())).await;
    let _call = at_it.start(params("reply", fixture.reply("Once"))).await;
    crate::wire::under_way(&fixture.mock).await;
    let other = remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
    assert_says_how_to_look(&other.call("reply", fixture.reply("Once")).await);
    assert_eq!(fixture.mails().await, Mails::sent("Once"));
}

#[tokio::test]
async fn a_repeat_of_an_earlier_email_does_not_promise_that_it_can_still_be_stopped() {
    let (fixture, folder) = machine().await;
    let person = Person::who(Answer::Yes);
    let bridge = async || remembering(&fixture, &person, folder.path(), &["--send=allow"]).await;
    let first = bridge().await;
    let made = first.call("reply", fixture.reply("Once")).await;
    assert!(text(&made).contains("goes out at"), "{}", text(&made));
    assert_eq!(fixture.mails().await, Mails::sent("Once"), "it has gone");
    // The bridge that made it, and another one.
    for client in [first, bridge().await] {
        let again = client.call("reply", fixture.reply("Once")).await;
        let note = structured(&again)["note"].as_str().unwrap();
        for said in [text(&again), note] {
            assert!(said.contains("repeats a call"), "{said}");
            let promised = ["goes out", "soon", "until then"].into_iter().find(|word| said.contains(word));
            assert_eq!(promised, None, "{said}");
        }
        assert_says(text(&again), &["was made earlier", "may have gone out", "get_conversation"]);
    }
    assert_eq!(fixture.mails().await, Mails::sent("Once"));
}
