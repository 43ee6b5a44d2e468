//! A receiver that is down: events are tried for a day, then the webhook pauses; after the mending nothing runs twice.

use std::time::Duration;

use shared_inbox::{AssignTo, event::EventKind};
use shared_inbox_mock::{DeliveryFilter, DeliveryOutcome, MockServer, OutboxKind, WebhookState};

use super::receiver::Listener;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn an_hour_of_trouble_loses_no_event_and_runs_none_twice() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new.events(["conversation.assigned"])).await;
    let id = inbox.conversations().assigned(shared_inbox::Assigned::Unassigned).await.unwrap()[0].id.clone();

    listener.answers(503);
    inbox.conversation(&id).assign(AssignTo::Me).await.unwrap();
    control.advance(HOUR / 2).await.unwrap();
    assert!(listener.kinds().is_empty(), "the handler failed each time");
    let tries = listener.arrivals();
    assert!(tries >= 3, "{tries} tries in half an hour");

    listener.answers(200);
    control.advance(HOUR).await.unwrap();
    let log = control.deliveries(&listener.webhook, DeliveryFilter::default()).await.unwrap();
    assert_eq!(log[0].outcome, DeliveryOutcome::Delivered);
    assert_eq!(log[0].attempts.len(), tries + 1);
    assert_eq!(listener.kinds(), ["conversation.assigned"]);

    // Redelivered by hand: the same id, so the guard answers and the handler does not run.
    control.redeliver(&listener.webhook, &log[0].event_id).await.unwrap();
    control.advance(Duration::ZERO).await.unwrap();
    assert_eq!(listener.arrivals(), tries + 2);
    assert_eq!(
        listener.find(|kind| matches!(kind, EventKind::ConversationAssigned(_)).then_some(())).len(),
        1
    );
}

#[tokio::test]
async fn a_day_without_one_success_pauses_the_webhook_and_tells_its_owner() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new.events(["conversation.assigned"])).await;
    listener.answers(500);
    let id = inbox.conversations().assigned(shared_inbox::Assigned::Unassigned).await.unwrap()[0].id.clone();
    // Something happens every few hours, so that there is a try left to fail when the day is over.
    for turn in 0..10 {
        let to = if turn % 2 == 0 { AssignTo::Me } else { AssignTo::Nobody };
        inbox.conversation(&id).assign(to).await.unwrap();
        control.advance(3 * HOUR).await.unwrap();
    }
    let state = control.webhooks().await.into_iter().find(|hook| hook.id == listener.webhook).unwrap().state;
    assert_eq!(state, WebhookState::Paused);
    let arrivals = listener.arrivals();
    control.advance(48 * HOUR).await.unwrap();
    assert_eq!(listener.arrivals(), arrivals, "nothing is sent until someone resumes it");
    assert_eq!(control.outbox().await.iter().filter(|mail| mail.kind == OutboxKind::Notice).count(), 1);

    listener.answers(200);
    control.resume_webhook(&listener.webhook).await.unwrap();
    inbox.conversation(&id).assign(AssignTo::Me).await.unwrap();
    control.advance(Duration::ZERO).await.unwrap();
    assert_eq!(listener.kinds(), ["conversation.assigned"]);
}
