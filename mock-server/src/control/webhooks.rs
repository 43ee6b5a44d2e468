//! Calls for webhooks, and the check of a receiver.

use super::Control;
use crate::{
    receiver_check::{self, CheckReport},
    world::{
        CreateWebhook, CreatedWebhook, DeliveryDetail, DeliveryFilter, DeliveryView, Page, PageRange, Result,
        RotatedSecret, TestEvent, WebhookView,
    },
};

impl Control {
    /// Returns all webhooks.
    pub async fn webhooks(&self) -> Vec<WebhookView> {
        self.read(|world, _| world.webhooks())
    }

    /// Adds a webhook. Its secret is shown this once.
    ///
    /// # Errors
    ///
    /// 400 for an address that may not be sent to, 404 for an unknown owner.
    pub async fn create_webhook(&self, new: CreateWebhook) -> Result<CreatedWebhook> {
        self.runtime.config.settings.deliverer.targets().check_url(&new.url).await?;
        self.act("webhooks", |world, _| world.create_webhook(new))
    }

    /// Removes a webhook.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_webhook(&self, webhook: impl AsRef<str>) -> Result<()> {
        self.act("webhooks", |world, _| world.delete_webhook(webhook.as_ref()))
    }

    /// Gives a webhook a new secret. For 24 hours both sign.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn rotate_webhook(&self, webhook: impl AsRef<str>) -> Result<RotatedSecret> {
        self.act("webhooks", |world, now| world.rotate_webhook(webhook.as_ref(), now))
    }

    /// Sends a test event.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when nothing is sent to it at present.
    pub async fn test_webhook(&self, webhook: impl AsRef<str>) -> Result<TestEvent> {
        self.act("webhooks", |world, now| world.test_webhook(webhook.as_ref(), now))
    }

    /// Pauses a webhook: nothing is sent until it is resumed.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when it is off.
    pub async fn pause_webhook(&self, webhook: impl AsRef<str>) -> Result<()> {
        self.act("webhooks", |world, _| world.pause_webhook(webhook.as_ref()))
    }

    /// Resumes a webhook.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn resume_webhook(&self, webhook: impl AsRef<str>) -> Result<()> {
        self.act("webhooks", |world, _| world.resume_webhook(webhook.as_ref()))
    }

    /// Returns a page of the log of a webhook, newest first.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook, 400 for a section that there is not.
    pub async fn find_deliveries(
        &self,
        webhook: impl AsRef<str>,
        filter: DeliveryFilter,
        section: PageRange,
    ) -> Result<Page<DeliveryView>> {
        section.check()?;
        let found = self.deliveries(webhook, filter).await?;
        Ok(section.or_whole().select(&found, Clone::clone))
    }

    /// Returns one delivery, with the exact body and headers of each attempt. Signatures are there; the
    /// secret is not.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook or event.
    pub async fn delivery(&self, webhook: impl AsRef<str>, event: impl AsRef<str>) -> Result<DeliveryDetail> {
        self.read(|world, now| world.delivery(webhook.as_ref(), event.as_ref(), now))
    }

    /// Sends a receiver a fixed series of good and bad requests, and reports how it responded to each.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook.
    pub async fn check_receiver(&self, webhook: impl AsRef<str>) -> Result<CheckReport> {
        let receiver = self.read(|world, now| world.receiver_under_test(webhook.as_ref(), now))?;
        Ok(receiver_check::run(&self.runtime.config.settings.deliverer, receiver).await)
    }

    /// Sends an event again, with the same id.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook or event, 409 when nothing is sent to it at present.
    pub async fn redeliver(&self, webhook: impl AsRef<str>, event: impl AsRef<str>) -> Result<()> {
        self.act("webhooks", |world, now| world.redeliver(webhook.as_ref(), event.as_ref(), now))
    }

    /// Returns the log of a webhook, newest first.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn deliveries(
        &self,
        webhook: impl AsRef<str>,
        filter: DeliveryFilter,
    ) -> Result<Vec<DeliveryView>> {
        let (world, now) = self.copy();
        world.deliveries(webhook.as_ref(), &filter, now)
    }
}
