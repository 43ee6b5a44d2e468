//! A receiver that is down for a while: no event is lost, and after it is mended none is handled twice.

use std::time::Duration;

use shared_inbox::{AssignTo, Assigned};
use shared_inbox_mock::{
    MockServer,
    webhooks::{DeliveryFilter, DeliveryOutcome},
};

use super::receiver::Listener;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn an_hour_of_trouble_loses_no_event_and_runs_none_twice() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new.events(["conversation.assigned"])).await;
    let id = inbox.conversations().assigned(Assigned::Unassigned).await.unwrap()[0].id.clone();

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
    assert_eq!(listener.kinds(), ["conversation.assigned"]);
}
