//! What an owner does with a webhook, and the check of its receiver.

use super::{Control, Controlled};
use crate::{
    receiver_check::{self, ReceiverReport},
    world::{
        CreateWebhook, CreatedWebhook, DeliveryFilter, DeliveryView, RotatedSecret, TestSent, WebhookView,
    },
};

impl Control {
    /// Adds a webhook endpoint.
    ///
    /// # Errors
    ///
    /// 400 for an address that may not be sent to, 404 for an unknown owner.
    pub async fn create_webhook(&self, new: CreateWebhook) -> Controlled<CreatedWebhook> {
        self.runtime.deliverer().targets().admit(&new.url).await?;
        self.act("webhooks", |world, _| world.create_webhook(new))
    }

    /// All webhook endpoints.
    pub async fn webhooks(&self) -> Vec<WebhookView> {
        self.read(|world, _| world.webhooks())
    }

    /// Removes a webhook endpoint; what is queued for it is not sent.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.delete_webhook(webhook.as_ref()))
    }

    /// Gives a webhook a new secret; for 24 hours both sign.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn rotate_webhook(&self, webhook: impl AsRef<str>) -> Controlled<RotatedSecret> {
        self.act("webhooks", |world, now| world.rotate_webhook(webhook.as_ref(), now))
    }

    /// Sends a test event.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when nothing is sent to it at present.
    pub async fn test_webhook(&self, webhook: impl AsRef<str>) -> Controlled<TestSent> {
        self.act("webhooks", |world, now| world.test_webhook(webhook.as_ref(), now))
    }

    /// Sends nothing to a webhook until it is resumed.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when it is off.
    pub async fn pause_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.pause_webhook(webhook.as_ref()))
    }

    /// Sends to a webhook again.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn resume_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.resume_webhook(webhook.as_ref()))
    }

    /// The log of a webhook, newest first.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn deliveries(
        &self,
        webhook: impl AsRef<str>,
        filter: DeliveryFilter,
    ) -> Controlled<Vec<DeliveryView>> {
        let (world, now) = self.copy();
        world.deliveries(webhook.as_ref(), &filter, now)
    }

    /// Sends an event again, with the same id.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook or event, 409 when nothing is sent to it at present.
    pub async fn redeliver(&self, webhook: impl AsRef<str>, event: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, now| world.redeliver(webhook.as_ref(), event.as_ref(), now))
    }

    /// Sends a receiver a fixed series of good and bad requests, and reports what it made of them.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook.
    pub async fn check_receiver(&self, webhook: impl AsRef<str>) -> Controlled<ReceiverReport> {
        let receiver = self.read(|world, now| world.receiver_under_test(webhook.as_ref(), now))?;
        Ok(receiver_check::run(self.runtime.deliverer(), receiver).await)
    }
}
