//! The order of tries, without HTTP: the test plays the receivers, so that it decides which answer comes
//! first.

use std::time::Duration;

use shared_inbox::{EventId, Timestamp};
use shared_inbox_mock::{
    CreateWebhook,
    clock::JobOutcome,
    webhooks::{AttemptOutcome, AttemptRequest, DeliveryFilter, DeliveryOutcome, WebhookState},
    world::{NewBooking, World},
};

const START: i64 = 1_800_000_000_000;

fn start() -> Timestamp {
    Timestamp::from_millis(START)
}

fn world(webhooks: usize) -> (World, Vec<String>) {
    let mut world = World::empty();
    let ids = (0..webhooks)
        .map(|n| {
            let new = CreateWebhook::new(format!("https://hooks.example.com/{n}"));
            world.create_webhook(new).unwrap().id.to_string()
        })
        .collect();
    (world, ids)
}

/// All tries that can be made at `now`.
fn due(world: &mut World, now: Timestamp) -> Vec<AttemptRequest> {
    let mut tries = Vec::new();
    while let Some(fired) = world.run_due(now) {
        if let JobOutcome::Attempt(_, request) = fired {
            tries.push(*request);
        }
    }
    tries
}

fn finish(world: &mut World, request: &AttemptRequest, status: u16) {
    world.finish_attempt(AttemptOutcome::answered(request, request.due, status, 1));
}

fn outcomes(world: &World, id: &str) -> Vec<DeliveryOutcome> {
    world.deliveries(id, &DeliveryFilter::default(), start()).unwrap().iter().map(|it| it.outcome).collect()
}

fn book(world: &mut World, now: Timestamp) {
    let host = world.users()[0].id.clone();
    world.create_booking(NewBooking::new(host, now, now + Duration::from_secs(60)), now).unwrap();
}

#[test]
fn an_endpoint_has_one_try_under_way_and_hears_events_in_order() {
    let (mut world, ids) = world(1);
    let sent: Vec<EventId> = (0..3).map(|_| world.test_webhook(&ids[0], start()).unwrap().event_id).collect();
    let mut received = Vec::new();
    for _ in 0..3 {
        let tries = due(&mut world, start());
        assert_eq!(tries.len(), 1);
        received.push(tries[0].event.clone());
        assert!(world.webhooks_horizon().is_some());
        finish(&mut world, &tries[0], 200);
    }
    assert_eq!(received, sent);
    assert!(due(&mut world, start()).is_empty() && world.webhooks_horizon().is_none());
}

#[test]
fn a_410_cuts_off_exactly_what_was_waiting_behind_it() {
    let (mut world, ids) = world(2);
    for _ in 0..3 {
        book(&mut world, start());
    }
    let tries = due(&mut world, start());
    assert_eq!(tries.len(), 2, "one for each endpoint");
    let (off, on) =
        if tries[0].endpoint.as_str() == ids[0] { (&tries[0], &tries[1]) } else { (&tries[1], &tries[0]) };
    finish(&mut world, off, 410);
    assert_eq!(outcomes(&world, &ids[0]), [DeliveryOutcome::Failed; 3]);
    finish(&mut world, on, 200);
    for _ in 0..2 {
        let tries = due(&mut world, start());
        assert!(tries.len() == 1 && tries[0].endpoint.as_str() == ids[1]);
        finish(&mut world, &tries[0], 200);
    }
    assert_eq!(outcomes(&world, &ids[1]), [DeliveryOutcome::Delivered; 3]);
    assert!(world.jobs().is_empty());
}

#[test]
fn a_redelivery_that_is_asked_for_while_a_try_is_under_way_comes_after_it() {
    let (mut world, ids) = world(1);
    let event = world.test_webhook(&ids[0], start()).unwrap().event_id;
    let first = due(&mut world, start()).remove(0);
    world.redeliver(&ids[0], event.as_str(), start()).unwrap();
    assert!(due(&mut world, start()).is_empty());
    finish(&mut world, &first, 200);
    let second = due(&mut world, start()).remove(0);
    assert_eq!(second.event, event);
    finish(&mut world, &second, 200);
    assert_eq!(outcomes(&world, &ids[0]), [DeliveryOutcome::Delivered]);
    assert!(due(&mut world, start()).is_empty());
}

#[test]
fn pausing_lets_a_try_under_way_end_and_makes_no_other() {
    let (mut world, ids) = world(1);
    world.test_webhook(&ids[0], start()).unwrap();
    world.test_webhook(&ids[0], start()).unwrap();
    let flying = due(&mut world, start()).remove(0);
    world.pause_webhook(&ids[0]).unwrap();
    finish(&mut world, &flying, 500);
    assert_eq!(outcomes(&world, &ids[0]), [DeliveryOutcome::Failed; 2]);
    assert!(world.jobs().is_empty() && world.webhooks_horizon().is_none());
}

#[test]
fn an_answer_counts_once_and_only_for_the_world_that_made_the_try() {
    let (mut world, ids) = world(1);
    world.test_webhook(&ids[0], start()).unwrap();
    let saved = serde_json::to_value(&world).unwrap();
    let flying = due(&mut world, start()).remove(0);
    finish(&mut world, &flying, 200);
    finish(&mut world, &flying, 410);
    assert_eq!(outcomes(&world, &ids[0]), [DeliveryOutcome::Delivered]);

    let mut restored: World = serde_json::from_value(saved).unwrap();
    restored.prepare().unwrap();
    finish(&mut restored, &flying, 410);
    assert_eq!(outcomes(&restored, &ids[0]), [DeliveryOutcome::Pending]);
    let own = due(&mut restored, start()).remove(0);
    finish(&mut restored, &flying, 410);
    finish(&mut restored, &own, 200);
    assert_eq!(outcomes(&restored, &ids[0]), [DeliveryOutcome::Delivered]);
}

#[test]
fn a_world_saved_with_tries_under_way_and_waiting_makes_them_all() {
    let (mut world, ids) = world(1);
    for _ in 0..3 {
        world.test_webhook(&ids[0], start()).unwrap();
    }
    due(&mut world, start());
    assert!(world.jobs().is_empty(), "one is under way and two wait for it");
    let mut restored: World = serde_json::from_value(serde_json::to_value(&world).unwrap()).unwrap();
    restored.prepare().unwrap();
    assert_eq!(restored.jobs().len(), 3);
    for _ in 0..3 {
        let request = due(&mut restored, start()).remove(0);
        finish(&mut restored, &request, 200);
    }
    assert_eq!(outcomes(&restored, &ids[0]), [DeliveryOutcome::Delivered; 3]);
}

/// What lets an advance run on while tries are under way: nothing that comes of them falls before the
/// horizon.
#[test]
fn no_try_under_way_causes_anything_before_the_horizon() {
    let (mut world, _) = world(20);
    let mut now = start();
    for round in 0..200u64 {
        if round % 20 == 0 {
            book(&mut world, now);
        }
        let flying = due(&mut world, now);
        let horizon = world.webhooks_horizon();
        // In an order of its own: the last one out is answered first.
        for (n, request) in flying.iter().enumerate().rev() {
            let before = world.jobs().len();
            finish(&mut world, request, if (n as u64 + round).is_multiple_of(7) { 200 } else { 503 });
            if world.jobs().len() > before {
                let latest =
                    world.deliveries(request.endpoint.as_str(), &DeliveryFilter::default(), now).unwrap();
                let again = latest.iter().find(|it| it.event_id == request.event).unwrap().next_attempt_at;
                if let (Some(again), Some(horizon)) = (again, horizon) {
                    assert!(again >= horizon, "{again} before {horizon}");
                }
            }
        }
        assert!(world.webhooks_horizon().is_none() || world.next_due().is_some_and(|due| due <= now));
        let Some(next) = world.next_due() else { continue };
        now = now.max(next);
    }
}

#[test]
fn the_log_and_the_queue_stay_bounded_however_many_events_nobody_takes() {
    const KEPT: usize = 250_000;
    let (mut world, ids) = world(1_000);
    for _ in 0..255 {
        book(&mut world, start());
    }
    let queued = world.jobs().len();
    assert!(queued <= KEPT && queued > KEPT / 2, "{queued}");
    let kept = |id: &String| world.deliveries(id, &DeliveryFilter::default(), start()).unwrap().len();
    assert_eq!(ids.iter().map(kept).sum::<usize>(), queued);
    // The newest are the ones that stay.
    let newest = world.deliveries(&ids[0], &DeliveryFilter::default(), start()).unwrap();
    assert!(newest.len() < 255);
}

/// The waits of two hundred deliveries that always fail: each before attempt two to nine, as a part of what
/// the API says.
#[test]
fn every_wait_varies_by_a_fifth_over_the_whole_range_and_nothing_follows_the_ninth_attempt() {
    let (mut world, ids) = world(200);
    ids.iter().for_each(|id| _ = world.test_webhook(id, start()).unwrap());
    let mut requests = due(&mut world, start());
    let mut waits = Vec::new();
    for about in shared_inbox::__spec::limits::WEBHOOK_RETRIES {
        let before: Vec<_> = requests.iter().map(|request| (request.endpoint.clone(), request.due)).collect();
        requests.iter().for_each(|request| finish(&mut world, request, 500));
        requests = due(&mut world, requests[0].due + 2 * about);
        assert_eq!(requests.len(), ids.len());
        let parts: Vec<f64> = before
            .iter()
            .map(|(endpoint, at)| {
                let next = requests.iter().find(|request| request.endpoint == *endpoint).unwrap();
                next.due.duration_since(*at).as_secs_f64() / about.as_secs_f64()
            })
            .collect();
        let (least, most) = parts.iter().fold((f64::MAX, f64::MIN), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
        assert!(
            (0.8..0.82).contains(&least) && (1.18..=1.2).contains(&most),
            "{least} to {most} of {about:?}"
        );
        let mean = parts.iter().sum::<f64>() / parts.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean} of {about:?}");
        waits.push(parts);
    }
    assert_ne!(waits[0], waits[1], "the number of the attempt counts");
    requests.iter().for_each(|request| finish(&mut world, request, 500));
    let later = start() + Duration::from_secs(7 * 86_400);
    assert!(due(&mut world, later).is_empty());
}

#[test]
fn the_same_calls_give_the_same_waits() {
    let waits = || {
        let (mut world, ids) = world(5);
        ids.iter().for_each(|id| _ = world.test_webhook(id, start()).unwrap());
        due(&mut world, start()).iter().for_each(|request| finish(&mut world, request, 500));
        world.jobs().into_iter().map(|job| job.due_at).collect::<Vec<_>>()
    };
    assert_eq!(waits(), waits());
}

#[test]
fn the_first_failure_after_a_day_of_them_pauses_and_a_resume_starts_the_day_anew() {
    use WebhookState::{On, Paused};
    let (mut world, ids) = world(1);
    let failing_at = |world: &mut World, hour: u64| {
        let now = start() + Duration::from_secs(hour * 3_600);
        world.test_webhook(&ids[0], now).unwrap();
        while let Some(request) = due(world, now).pop() {
            finish(world, &request, 500);
        }
        world.webhooks()[0].state
    };
    assert_eq!([0, 23, 24].map(|hour| failing_at(&mut world, hour)), [On, On, Paused]);
    world.resume_webhook(&ids[0]).unwrap();
    assert_eq!([25, 48, 49].map(|hour| failing_at(&mut world, hour)), [On, On, Paused]);
}
