//! Many worlds in one server: test workers side by side that never meet.

use std::time::Duration;

use shared_inbox::Client;
use shared_inbox_mock::{ClockMode, MockServer, NewMailbox, NewWorld};

#[tokio::test]
async fn two_workers_on_one_server_do_not_meet() {
    let mock = MockServer::builder().manual_clock().start().await;
    let before = mock.control().state().await.unwrap();
    let workers = (0..8).map(|n| {
        let control = mock.control().clone();
        tokio::spawn(async move {
            let world = control.create_world(NewWorld::empty().clock(ClockMode::Manual)).await.unwrap();
            world.create_mailbox(NewMailbox::new("help@own.example", "Own")).await.unwrap();
            let ready = world.ready();
            let inbox = Client::builder(&ready.base_url, ready.keys.live.as_str()).build().unwrap();
            for i in 0..=n {
                let mail = shared_inbox_mock::InboundMail::new(
                    "help@own.example",
                    "kim@example.com",
                    format!("Mail {i}"),
                );
                let id = world.inbound(mail).await.unwrap().conversation_id;
                inbox.conversation(&id).edit_tags().add(format!("worker-{n}")).await.unwrap();
            }
            world.advance(Duration::from_secs(60 * n)).await.unwrap();
            let tags: Vec<_> =
                inbox.tags().await.unwrap().into_iter().map(|tag| (tag.name, tag.count)).collect();
            assert_eq!(tags, [(format!("worker-{n}"), n + 1)]);
            assert_eq!(inbox.conversations().await.unwrap().len() as u64, n + 1);
            (ready, inbox)
        })
    });
    let mut made = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        made.push(worker.await.unwrap());
    }
    assert_eq!(mock.control().state().await.unwrap(), before, "the first world saw nothing");
    let (ready, inbox) = made.pop().unwrap();
    let id = ready.control_url.rsplit('/').next().unwrap().to_owned();
    mock.control().delete_world(&id).await.unwrap();
    assert!(inbox.me().await.unwrap_err().is_unauthorized(), "its keys are gone with it");
    assert!(made[0].1.me().await.is_ok());
}
