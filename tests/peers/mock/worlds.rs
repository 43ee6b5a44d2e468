//! Needs no peer, but more seconds than the first class of tests has.

use shared_inbox_mock::{MockServer, NewWorld};

#[tokio::test]
async fn there_is_an_end_to_the_number_of_worlds() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let control = mock.control();
    let mut last = None;
    for _ in 0..10_000 {
        last = Some(control.create_world(NewWorld::empty()).await.expect("a world"));
    }
    let refused = control.create_world(NewWorld::empty()).await.expect_err("one too many");
    assert_eq!(refused.status, 409);
    assert!(refused.message.contains("delete"), "{refused}");
    let id = last.and_then(|world| world.ready().id).expect("an id");
    control.delete_world(&id).await.expect("it was there");
    control.create_world(NewWorld::empty()).await.expect("there is room again");
}
