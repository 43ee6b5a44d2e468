//! Secrets: shown once, rotated, both signing for 24 hours.

use std::time::Duration;

use serde_json::json;

use super::{
    kit::{Mock, hours},
    receiver::Receiver,
};

#[tokio::test]
async fn the_secret_is_shown_once_and_in_no_list() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    assert!(hook.id.starts_with("whk_"));
    let secret = hook.secret.strip_prefix("whsec_").unwrap();
    assert!(secret.len() >= 32, "at least 24 bytes");
    mock.send_test(&hook).await;
    for path in ["/webhooks".to_owned(), format!("/webhooks/{}/deliveries", hook.id), "/jobs".to_owned()] {
        assert!(!mock.get(&path).await.to_string().contains(secret), "{path}");
    }
    let other = mock.hook(&receiver).await;
    assert_ne!(other.secret, hook.secret);
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_24_hours_and_then_the_new_one_alone() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let rotated = mock.act(&hook, "rotate").await;
    let new = rotated["secret"].as_str().unwrap();
    assert_ne!(new, hook.secret);

    mock.send_test(&hook).await;
    let got = receiver.got().pop().unwrap();
    assert_eq!(got.signatures().len(), 2);
    got.verifies_with(new).unwrap();
    got.verifies_with(&hook.secret).unwrap();

    mock.advance(hours(24) - Duration::from_millis(1)).await;
    mock.send_test(&hook).await;
    let got = receiver.got().pop().unwrap();
    assert!(got.signatures().len() == 2 && got.is_signed_with(new) && got.is_signed_with(&hook.secret));

    mock.advance(Duration::from_millis(1)).await;
    mock.send_test(&hook).await;
    let got = receiver.got().pop().unwrap();
    assert!(got.signatures().len() == 1 && got.is_signed_with(new) && !got.is_signed_with(&hook.secret));
}

#[tokio::test]
async fn a_retry_is_signed_with_the_secrets_of_its_own_time() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    let new = mock.act(&hook, "rotate").await["secret"].as_str().unwrap().to_owned();
    mock.advance(Duration::from_secs(60)).await;
    let got = receiver.got();
    assert_eq!(got.len(), 2);
    assert!(got[0].is_signed_with(&hook.secret) && !got[0].is_signed_with(&new));
    assert!(got[1].is_signed_with(&hook.secret) && got[1].is_signed_with(&new));
    assert_eq!(got[0].id(), got[1].id());
}

#[tokio::test]
async fn a_second_rotation_ends_the_first_secret() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let second = mock.act(&hook, "rotate").await["secret"].as_str().unwrap().to_owned();
    let third = mock.act(&hook, "rotate").await["secret"].as_str().unwrap().to_owned();
    mock.send_test(&hook).await;
    let got = receiver.got().pop().unwrap();
    assert_eq!(got.signatures().len(), 2);
    assert!(got.is_signed_with(&third) && got.is_signed_with(&second) && !got.is_signed_with(&hook.secret));
}

/// For a receiver that looks at its own clock, wherever the mock's stands.
#[tokio::test]
async fn timestamps_of_this_machine_can_be_had_when_the_clock_was_moved() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let mocks = mock.hook(&receiver).await;
    let reals = mock.hook_with(&receiver, json!({ "timestamps": "real" })).await;
    mock.advance(hours(5)).await;
    mock.send_test(&mocks).await;
    mock.send_test(&reals).await;
    let got = receiver.got();
    assert_eq!(got[0].timestamp(), mock.now().await as i64);
    assert!(got[0].verifies_with(&mocks.secret).is_err(), "five hours ahead of this machine");
    got[1].verifies_with(&reals.secret).unwrap();
}
