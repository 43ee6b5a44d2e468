//! Faults of webhooks, live and in the sandbox: twice, out of order, late, cut, to a dead address, and an
//! answer that is lost.

use serde_json::{Value, json};

use super::{
    kit::{minutes, start_with_hook_in, tries},
    receiver::Receiver,
};
use crate::{
    kit::Kit,
    mcp::{Era, Mcp},
};

async fn add_fault(kit: &Kit, effect: Value) {
    kit.act("/faults", json!({ "webhook": "*", "effect": effect })).await;
}

const LIVEMODES: [bool; 2] = [true, false];

#[tokio::test]
async fn a_webhook_comes_twice_and_the_log_knows_of_one_try() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        add_fault(&kit, json!({ "twice": true })).await;
        let event = kit.send_test(&hook).await;
        let received = receiver.received();
        assert_eq!(received.len(), 2);
        assert!(received.iter().all(|it| it.id() == event && it.is_signed_with(&hook.secret)));
        let log = kit.deliveries(&hook).await;
        assert_eq!((&log[0]["outcome"], tries(&log[0])), (&json!("delivered"), 1));
        assert_eq!(log[0]["attempts"][0]["faultId"], "flt_1", "the rule is named");
    }
}

#[tokio::test]
async fn a_webhook_comes_after_the_next_one() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        add_fault(&kit, json!({ "swap": true })).await;
        let first = kit.send_test(&hook).await;
        assert_eq!(receiver.count(), 0, "it waits for the next one");
        let second = kit.send_test(&hook).await;
        assert_eq!(receiver.ids(), [second, first]);
        // Without a next one it comes a minute later.
        add_fault(&kit, json!({ "swap": true })).await;
        let alone = kit.send_test(&hook).await;
        kit.advance(59).await;
        assert_eq!(receiver.count(), 2);
        kit.advance(1).await;
        assert_eq!(receiver.ids()[2], alone);
    }
}

#[tokio::test]
async fn a_webhook_is_late_on_the_worlds_clock_and_only_once() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        let rule = json!({ "webhook": hook.id, "times": null, "effect": { "lateSeconds": 120 } });
        kit.act("/faults", rule).await;
        kit.send_test(&hook).await;
        kit.advance(119).await;
        assert_eq!(receiver.count(), 0);
        kit.advance(1).await;
        assert_eq!(receiver.count(), 1, "a rule for all does not hold it back for ever");
        assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
    }
}

#[tokio::test]
async fn a_webhook_that_is_cut_arrives_whole_at_the_second_try() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        add_fault(&kit, json!({ "truncate": 20 })).await;
        kit.send_test(&hook).await;
        let log = kit.deliveries(&hook).await;
        assert_eq!((&log[0]["outcome"], &log[0]["attempts"][0]["status"]), (&json!("pending"), &Value::Null));
        assert!(log[0]["attempts"][0]["error"].as_str().unwrap().contains("broke"));
        kit.advance(minutes(1)).await;
        assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
        assert!(receiver.received().last().unwrap().is_signed_with(&hook.secret));
    }
}

#[tokio::test]
async fn a_dead_address_and_a_lost_answer_are_tried_again() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        add_fault(&kit, json!({ "drop": "before" })).await;
        kit.send_test(&hook).await;
        assert_eq!(receiver.count(), 0, "nothing was sent");
        let log = kit.deliveries(&hook).await;
        assert!(log[0]["attempts"][0]["error"].as_str().unwrap().contains("refused"));
        kit.advance(minutes(1)).await;
        assert_eq!(receiver.count(), 1);

        add_fault(&kit, json!({ "drop": "after" })).await;
        let event = kit.send_test(&hook).await;
        assert_eq!(receiver.count(), 2, "it arrived");
        assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "pending", "and nobody heard so");
        kit.advance(minutes(1)).await;
        assert_eq!(receiver.ids()[2..], [event]);

        add_fault(&kit, json!({ "status": 503, "when": "after" })).await;
        kit.send_test(&hook).await;
        assert_eq!(kit.deliveries(&hook).await[0]["attempts"][0]["status"], 503);
        add_fault(&kit, json!({ "status": 410 })).await;
        kit.send_test(&hook).await;
        assert_eq!(kit.state_of(&hook).await, "off");
    }
}

#[tokio::test]
async fn a_rule_strikes_one_webhook_and_one_kind_of_event() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        let other = Receiver::start().await;
        kit.hook_in(livemode, &other).await;
        let rule = json!({ "webhook": hook.id, "event": "client.replied", "times": null, "effect": { "drop": "before" } });
        kit.act("/faults", rule).await;
        let id = kit.mail_in(livemode, None).await;
        kit.mail_in(livemode, Some(&id)).await;
        kit.settle().await;
        assert_eq!(receiver.kinds(), ["turn.changed"]);
        assert_eq!(other.kinds(), ["turn.changed", "client.replied"]);
    }
}

#[tokio::test]
async fn what_a_request_or_a_tool_causes_is_struck_alike() {
    for livemode in LIVEMODES {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        let api = if livemode { kit.live() } else { kit.sandbox() };
        let id = kit.mail_in(livemode, None).await;
        kit.settle().await;
        let twice = json!({ "webhook": hook.id, "event": "turn.changed", "effect": { "twice": true } });
        kit.act("/faults", twice.clone()).await;
        api.act(&id, "status", json!({ "status": "closed" })).await;
        kit.settle().await;
        kit.act("/faults", twice).await;
        let set = json!({ "id": id, "status": "open" });
        Mcp::new(&kit, &api).tool(Era::Modern, "set_status", set).await;
        kit.settle().await;
        let ids = receiver.ids();
        assert_eq!(ids.len(), 5, "the first came once, each of these twice");
        assert_eq!((&ids[1], &ids[3]), (&ids[2], &ids[4]));
    }
}
