//! What a create leaves behind for another process to look it up by.

use std::time::Duration;

use shared_inbox::create::{Lookup, UnconfirmedCreate, Verification};

use crate::support::{Outcome, Service, conversation_id};

const TEXT: &str = "Your refund is on its way.";

/// The record as another process reads it.
fn stored(unconfirmed: &UnconfirmedCreate) -> UnconfirmedCreate {
    serde_json::from_str(&serde_json::to_string(unconfirmed).unwrap()).unwrap()
}

#[tokio::test]
async fn the_record_of_a_process_that_has_just_started_is_found_later() {
    for older in [None, Some(0), Some(3_600)] {
        let service = Service::start().await;
        if let Some(age) = older {
            service.teammate_notes("Robin", TEXT, Duration::ZERO);
            service.clock.leap(Duration::from_secs(age));
        }
        let thread = service.thread();
        let record = thread.add_note(TEXT).unconfirmed().await.unwrap();
        assert_eq!(
            service.client().find_unconfirmed(&stored(&record)).await.unwrap(),
            Lookup::NotFound,
            "nothing was sent, and an older one is {older:?} s old"
        );
        service.next_posts([Outcome::LostAfter]);
        thread.add_note(TEXT).verification(Verification::Never).await.unwrap_err();
        let lookup = service.client().find_unconfirmed(&stored(&record)).await.unwrap();
        assert!(matches!(lookup, Lookup::Found(_)), "beside one that is {older:?} s old: {lookup:?}");
    }
}

#[tokio::test]
async fn a_create_of_which_nothing_came_back_at_all_can_be_found_later_too() {
    let service = Service::start().await;
    service.next_posts([Outcome::LostAfter]);
    service.next_gets([Outcome::LostBefore; 100]);
    // Neither `Date` nor item has reached this process.
    let error = service.thread().add_note(TEXT).deadline(Duration::from_secs(2)).await.unwrap_err();
    service.clear_faults();
    let lookup = service.client().find_unconfirmed(&stored(error.unconfirmed().unwrap())).await.unwrap();
    assert!(matches!(lookup, Lookup::Found(_)), "{lookup:?}");
}

#[tokio::test]
async fn a_client_that_has_heard_the_time_but_read_no_item_tells_an_older_one_apart() {
    let service = Service::start().await;
    service.teammate_notes("Robin", TEXT, Duration::ZERO);
    service.clock.leap(Duration::from_secs(3_600));
    let client = service.known_client().await;
    let thread = client.conversation(&conversation_id());
    let record = thread.add_note(TEXT).unconfirmed().await.unwrap();
    service.next_posts([Outcome::LostAfter]);
    thread.add_note(TEXT).verification(Verification::Never).await.unwrap_err();
    let lookup = service.client().find_unconfirmed(&stored(&record)).await.unwrap();
    assert!(matches!(lookup, Lookup::Found(_)), "{lookup:?}");
}
