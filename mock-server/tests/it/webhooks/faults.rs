//! Bad luck of webhooks, live and in the sandbox: twice, out of order, late, cut, to a dead address, and an answer that is
//! lost.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    kit::{Hook, Mock, minutes},
    receiver::Receiver,
};
use crate::mcp::{Era, Mcp};

async fn strike(mock: &Mock, effect: Value) {
    mock.post("/faults", json!({ "webhook": "*", "effect": effect })).await;
}

const WORLDS: [bool; 2] = [true, false];

async fn started(livemode: bool) -> (Mock, Receiver, Hook) {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook_in(livemode, &receiver).await;
    (mock, receiver, hook)
}

#[tokio::test]
async fn a_webhook_comes_twice_and_the_log_knows_of_one_try() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        strike(&mock, json!({ "twice": true })).await;
        let event = mock.send_test(&hook).await;
        let got = receiver.got();
        assert_eq!(got.len(), 2);
        assert!(got.iter().all(|it| it.id() == event && it.is_signed_with(&hook.secret)));
        let log = mock.deliveries(&hook).await;
        assert_eq!(
            (&log[0]["outcome"], log[0]["attempts"].as_array().unwrap().len()),
            (&json!("delivered"), 1)
        );
        assert_eq!(log[0]["attempts"][0]["faultId"], "flt_1", "the rule is named");
    }
}

#[tokio::test]
async fn a_webhook_comes_after_the_next_one() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        strike(&mock, json!({ "swap": true })).await;
        let first = mock.send_test(&hook).await;
        assert_eq!(receiver.count(), 0, "it waits for the next one");
        let second = mock.send_test(&hook).await;
        let got = receiver.got();
        let ids: Vec<&str> = got.iter().map(|it| it.id()).collect();
        assert_eq!(ids, [second.as_str(), first.as_str()]);
        // Without a next one it comes a minute later.
        strike(&mock, json!({ "swap": true })).await;
        let alone = mock.send_test(&hook).await;
        mock.advance(Duration::from_secs(59)).await;
        assert_eq!(receiver.count(), 2);
        mock.advance(Duration::from_secs(1)).await;
        assert_eq!(receiver.got()[2].id(), alone);
    }
}

#[tokio::test]
async fn a_webhook_is_late_on_the_worlds_clock_and_only_once() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        let rule = json!({ "webhook": hook.id, "times": null, "effect": { "lateSeconds": 120 } });
        mock.post("/faults", rule).await;
        mock.send_test(&hook).await;
        mock.advance(Duration::from_secs(119)).await;
        assert_eq!(receiver.count(), 0);
        mock.advance(Duration::from_secs(1)).await;
        assert_eq!(receiver.count(), 1, "a rule for all does not hold it back for ever");
        assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered");
    }
}

#[tokio::test]
async fn a_webhook_that_is_cut_arrives_whole_at_the_second_try() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        strike(&mock, json!({ "truncate": 20 })).await;
        mock.send_test(&hook).await;
        let log = mock.deliveries(&hook).await;
        assert_eq!((&log[0]["outcome"], &log[0]["attempts"][0]["status"]), (&json!("pending"), &Value::Null));
        assert!(log[0]["attempts"][0]["error"].as_str().unwrap().contains("broke"));
        mock.advance(minutes(1)).await;
        assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered");
        assert!(receiver.got().last().unwrap().is_signed_with(&hook.secret));
    }
}

#[tokio::test]
async fn a_dead_address_and_a_lost_answer_are_tried_again() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        strike(&mock, json!({ "drop": "before" })).await;
        mock.send_test(&hook).await;
        assert_eq!(receiver.count(), 0, "nothing was sent");
        assert!(
            mock.deliveries(&hook).await[0]["attempts"][0]["error"].as_str().unwrap().contains("refused")
        );
        mock.advance(minutes(1)).await;
        assert_eq!(receiver.count(), 1);

        strike(&mock, json!({ "drop": "after" })).await;
        let event = mock.send_test(&hook).await;
        assert_eq!(receiver.count(), 2, "it arrived");
        assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "pending", "and nobody heard so");
        mock.advance(minutes(1)).await;
        assert_eq!((receiver.count(), receiver.got()[2].id()), (3, event.as_str()));

        strike(&mock, json!({ "status": 503, "when": "after" })).await;
        mock.send_test(&hook).await;
        assert_eq!(mock.deliveries(&hook).await[0]["attempts"][0]["status"], 503);
        strike(&mock, json!({ "status": 410 })).await;
        mock.send_test(&hook).await;
        assert_eq!(mock.state_of(&hook).await, "off");
    }
}

#[tokio::test]
async fn a_rule_strikes_one_webhook_and_one_kind_of_event() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        let other = Receiver::start().await;
        mock.hook_in(livemode, &other).await;
        let rule = json!({ "webhook": hook.id, "event": "client.replied", "times": null, "effect": { "drop": "before" } });
        mock.post("/faults", rule).await;
        let id = mock.mail_in(livemode, None).await;
        mock.mail_in(livemode, Some(&id)).await;
        mock.settle().await;
        let kinds = |receiver: &Receiver| receiver.got().iter().map(|it| it.kind()).collect::<Vec<_>>();
        assert_eq!(kinds(&receiver), ["turn.changed"]);
        assert_eq!(kinds(&other), ["turn.changed", "client.replied"]);
    }
}

#[tokio::test]
async fn what_a_request_or_a_tool_causes_is_struck_alike() {
    for livemode in WORLDS {
        let (mock, receiver, hook) = started(livemode).await;
        let api = if livemode { mock.kit.live() } else { mock.kit.sandbox() };
        let id = mock.mail_in(livemode, None).await;
        mock.settle().await;
        for (times, status) in [(1, "closed"), (2, "open")] {
            mock.post(
                "/faults",
                json!({ "webhook": hook.id, "event": "turn.changed", "effect": { "twice": true } }),
            )
            .await;
            if status == "closed" {
                api.post(&format!("/conversations/{id}/status"), json!({ "status": status }))
                    .await
                    .expect(200);
            } else {
                let set = json!({ "id": id, "status": status });
                Mcp::new(&mock.kit, &api).tool(Era::Modern, "set_status", set).await;
            }
            mock.settle().await;
            let turns = receiver.got();
            assert_eq!(turns.len(), 1 + 2 * times, "the first came once, each of these twice");
            assert_eq!(turns[2 * times - 1].id(), turns[2 * times].id());
        }
    }
}
