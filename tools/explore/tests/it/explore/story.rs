//! The story of a schedule: what happened, in that order.

use shared_inbox_explore::explore::{AppContext, Explore, Scenario};

use crate::explore::{
    apps::{Api, id},
    assert_replay,
    planted::first::answers_for_people,
    server_apps::run,
    servers::scenario as server_scenario,
};

async fn story(explore: Explore, token: &str) -> Vec<String> {
    let report = explore.replay(token).await.expect("it ran");
    report.findings.first().map_or(report.timeline.clone(), |finding| finding.timeline.clone())
}

fn server(name: &'static str) -> Explore {
    Explore::function(server_scenario(), move |context| run(name, context.into()))
}

/// Asserts that lines which contain these words stand in this order.
fn assert_order(story: &[String], words: &[&str]) {
    let mut rest = story.iter();
    for word in words {
        assert!(rest.any(|line| line.contains(word)), "{word} does not follow: {}", story.join("\n"));
    }
}

const TURN: &str = "webhook   turn.changed about customer2@customer.example is delivered";

#[tokio::test]
async fn a_delivery_stands_before_the_requests_that_it_caused_and_after_what_brought_it_about() {
    let (read, drafted) = ("GET /conversations/<customer2", "\"Your order 1043 is on its way.\" → 201");
    let (takes_over, assigned) = ("takes over", "webhook   conversation.assigned");
    let at_a_request = story(server("correct"), "1_1_assign:1@get_conversation.0").await;
    assert_order(&at_a_request, &["writes \"Order", TURN, takes_over, assigned, read]);
    let late = story(server("correct"), "1_1_answer:1@reply.0").await;
    assert_order(&late, &["writes \"Order", TURN, read, "answers customer2", drafted]);
    let quiet = story(server("correct"), "1_1_assign:1@run.0").await;
    assert_order(
        &quiet,
        &[TURN, drafted, takes_over, assigned, read, "person    approves", "webhook   draft.approved", read],
    );
}

#[tokio::test]
async fn what_falls_due_while_the_clock_moves_before_a_request_is_told_before_it() {
    let app = |context: AppContext| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            api.send(id(&entry), "It is on its way.").await?;
            api.set_status(id(&entry), "waiting").await?;
        }
        Ok(())
    };
    let explore = Explore::function(Scenario::new(["Where is my order 1042?"]), app);
    let lines = story(explore, "1_0_advance:0@set_status.0").await;
    assert_order(&lines, &["/replies", "11 minutes pass", "service   mails customer1", "/status → 200"]);
}

#[tokio::test]
async fn a_kill_after_a_request_took_effect_is_told_as_such() {
    // In memory alone it forgets what it has answered: this is a finding.
    let before = story(server("in_memory"), "1_1_kill@set_status.0").await;
    let killed = ["/status → was under way when the app was killed", "app       is killed"];
    assert_order(&before, &["app       starts", TURN, killed[0], killed[1], "app       is started again"]);
    let after = story(server("correct"), "1_1_kill@set_status.0.after").await;
    assert_order(&after, &["/status → was taken, then the app was killed", "app       is killed"]);
}

#[tokio::test]
async fn the_guide_shows_the_finding_of_a_server_as_it_is_written() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explore.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let (_, shown) = guide.split_once("A finding:\n\n```text\n").expect("a finding");
    let (shown, _) = shown.split_once("  …\n```").expect("an end");
    let report = server("in_memory").replay("1_1_kill@set_status.0").await.expect("it ran");
    assert!(report.to_string().starts_with(shown), "{report}");
}

#[tokio::test]
async fn a_replay_without_a_finding_tells_its_story_with_the_words_of_a_second_email() {
    let app = |context| async { Api::new(context).answer_what_the_list_shows().await };
    let explore = Explore::function(Scenario::new(["Where is my order 1042?"]), app);
    let report = assert_replay(explore.clone(), "1_0_mail:0@run.1_nudge:0@run.2", None).await;
    let with_words = "customer1@customer.example writes again: \"Me again. Where is my order 1042?\"";
    assert_order(&report.timeline, &["run 1 ends", with_words, "writes again: \"Is there any news?\""]);
    assert!(report.to_string().starts_with("  customer  customer1"), "{report}");
    assert!(report.summary().starts_with("the schedule was run and held, in "), "{report}");
    // What comes after the last request is told too.
    let after = story(explore, "1_0_mail:0@set_status.0.after").await;
    assert_order(&after, &["/status → 200", with_words, "run 1 ends"]);
}

#[tokio::test]
#[cfg(unix)]
async fn of_a_line_that_is_very_long_only_the_beginning_is_kept() {
    let script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; exit 3";
    let explore = Explore::command(Scenario::new(["Hi"]), ["sh", "-c", script]);
    let why = explore.run().await.expect_err("it fails");
    let why = why.to_string();
    let kept: Vec<&str> = why.lines().filter_map(|line| line.trim().strip_prefix("| ")).collect();
    assert!(kept.iter().step_by(2).all(|line| line.len() == 300 && line.bytes().all(|b| b == b'x')), "{why}");
    assert!(kept.iter().skip(1).step_by(2).all(|line| *line == "the end") && kept.len() >= 2, "{why}");
}

#[test]
fn a_token_is_one_of_the_scenario_or_refused() {
    let app = |_: AppContext| async { Ok(()) };
    let explore = Explore::function(Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]), app);
    let all = "1_0.1_lost-after@reply.1_new-mail:1@get_conversation.0.after_stop:0@people.2_kill@mcp-add_note.0.after_lost@turn-changed.1_nudge:0@run.1_upload:0@reply.0_reminder:0@end.0";
    assert!(explore.check_token(all).is_ok());
    for bad in
        ["", "1_", "1_2", "2_0", "1_0_lost-after@nothing.0", "1_0_stop@people.0", "1_0_lost@reply.0", "1_0_x"]
    {
        assert!(explore.check_token(bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_token_is_written_as_it_was_read() {
    let app = |context: AppContext| async { answers_for_people(Api::new(context)).await };
    let explore = Explore::function(Scenario::new(["Where is my order 1042?"]), app);
    let token =
        "1_0_lost-before@reply.0_assign:0@run.0_new-mail:0@list_conversations.0.after_kill@reply.1.after";
    let report = explore.replay(token).await.expect("it ran");
    assert_eq!(report.findings.first().map(|finding| finding.replay.as_str()), Some(token), "{report}");
}
