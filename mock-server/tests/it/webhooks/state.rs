//! Webhooks in the world document: a restored world goes on where the saved one was.

use serde_json::json;

use super::kit::{minutes, start_with_hook};
use crate::kit::Kit;

#[tokio::test]
async fn a_restored_world_has_the_same_webhooks_secrets_log_and_queue() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    kit.act_on(&hook, "rotate").await;
    kit.send_test(&hook).await;
    let saved = kit.look("/state").await;
    let before = kit.deliveries(&hook).await;

    let second = Kit::start().await;
    second.control("PUT", "/state", saved.clone()).await.expect(200);
    assert_eq!(second.look("/state").await, saved, "what was read is what was written");
    assert_eq!(second.deliveries(&hook).await, before);

    receiver.answer(200);
    second.advance(minutes(1)).await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[1].id(), received[0].id());
    assert!(received[1].signatures().len() == 2 && received[1].is_signed_with(&hook.secret));
    assert_eq!(second.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_document_whose_webhooks_do_not_fit_together_is_refused() {
    let (kit, _receiver, hook) = start_with_hook(200).await;
    kit.send_test(&hook).await;
    let mut saved = kit.look("/state").await;
    saved["webhooks"]["endpoints"][&hook.id]["owner"] = json!("usr_nobody");
    assert!(kit.control("PUT", "/state", saved.clone()).await.error(400).contains("owner"));
    saved["webhooks"]["endpoints"] = json!({});
    assert!(kit.control("PUT", "/state", saved).await.error(400).contains("deliveries"));
}
