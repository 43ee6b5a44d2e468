//! Calls for webhooks, and the check of a receiver.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Control, calls::calls};
use crate::{
    receiver_check::{self, ReceiverReport},
    world::{
        CreateWebhook, CreatedWebhook, DeliveryDetail, DeliveryFilter, DeliveryView, Result, RotatedSecret,
        TestSent, WebhookView,
    },
};

calls! {
    list "/webhooks" "list_webhooks" "All webhooks"
    fn webhooks() -> WebhookView as Json { |it| it.read(|world, _| world.webhooks()) }

    post "/webhooks" "create_webhook" "Adds a webhook"
        about "Its secret is shown this once. A forbidden address is a 400."
        errors "400 for an address that may not be sent to, 404 for an unknown owner."
    fn create_webhook(body new: CreateWebhook) -> CreatedWebhook as Created {
        |it| {
            it.runtime.config.settings.deliverer.targets().admit(&new.url).await?;
            it.act("webhooks", |world, _| world.create_webhook(new))
        }
    }

    delete "/webhooks/{id}" "delete_webhook" "Removes a webhook"
        errors "404 when there is none."
    fn delete_webhook(id webhook) -> () as NoContent {
        |it| it.act("webhooks", |world, _| world.delete_webhook(webhook.as_ref()))
    }

    post "/webhooks/{id}/rotate" "rotate_webhook" "Gives a webhook a new secret"
        about "For 24 hours both sign."
        errors "404 when there is none."
    fn rotate_webhook(id webhook) -> RotatedSecret as Json {
        |it| it.act("webhooks", |world, now| world.rotate_webhook(webhook.as_ref(), now))
    }

    post "/webhooks/{id}/test" "test_webhook" "Sends a test event"
        conflict "Nothing is sent to this webhook at present: it is paused or off, or the plan is `free`."
        errors "404 when there is none, 409 when nothing is sent to it at present."
    fn test_webhook(id webhook) -> TestSent as Accepted {
        |it| it.act("webhooks", |world, now| world.test_webhook(webhook.as_ref(), now))
    }

    post "/webhooks/{id}/pause" "pause_webhook" "Sends nothing until it is resumed"
        conflict "The receiver turned this webhook off."
        errors "404 when there is none, 409 when it is off."
    fn pause_webhook(id webhook) -> () as Ack {
        |it| it.act("webhooks", |world, _| world.pause_webhook(webhook.as_ref()))
    }

    post "/webhooks/{id}/resume" "resume_webhook" "Sends to a webhook again"
        errors "404 when there is none."
    fn resume_webhook(id webhook) -> () as Ack {
        |it| it.act("webhooks", |world, _| world.resume_webhook(webhook.as_ref()))
    }

    paged "/webhooks/{id}/deliveries" "list_deliveries" "The log of a webhook, newest first"
        errors "404 when there is no such webhook, 400 for a section that there is not."
    fn find_deliveries(id webhook, query filter: DeliveryFilter) -> DeliveryView as Json {
        |it, section| {
            section.check()?;
            let found = it.deliveries(webhook, filter).await?;
            Ok(section.or_whole().of(&found, Clone::clone))
        }
    }

    get "/webhooks/{id}/deliveries/{event}" "get_delivery" "One delivery, with the exact body and headers of each try"
        about "Signatures are there; the secret is not."
        errors "404 when there is no such webhook or event."
    fn delivery(id webhook, id event) -> DeliveryDetail as Json {
        |it| it.read(|world, now| world.delivery(webhook.as_ref(), event.as_ref(), now))
    }

    post "/webhooks/{id}/exam" "examine_webhook" "Examines a receiver"
        about "Sends it a fixed series of good and bad requests, and reports what it made of them."
        errors "404 when there is no such webhook."
    fn check_receiver(id webhook) -> ReceiverReport as Json {
        |it| {
            let receiver = it.read(|world, now| world.receiver_under_test(webhook.as_ref(), now))?;
            Ok(receiver_check::run(&it.runtime.config.settings.deliverer, receiver).await)
        }
    }

    post "/webhooks/{id}/deliveries/{event}/redeliver" "redeliver" "Sends an event again, with the same id"
        conflict "Nothing is sent to this webhook at present: it is paused or off, or the plan is `free`."
        errors "404 when there is no such webhook or event, 409 when nothing is sent to it at present."
    fn redeliver(id webhook, id event) -> () as Accepted(|()| Nothing {}) {
        |it| it.act("webhooks", |world, now| world.redeliver(webhook.as_ref(), event.as_ref(), now))
    }
}

impl Control {
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

/// An object with nothing in it.
#[derive(Serialize, JsonSchema)]
struct Nothing {}
