//! People, inboxes, keys and the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Control,
    call::{Ack, Json, list, put},
    calls::calls,
    input::JsonBody,
};
use crate::world::{CreatedKey, KeyEntry, MailboxEntry, NewKey, NewMailbox, NewUser, Plan, Result, User};

calls! {
    list "/users" "list_users" "Everyone on the team"
    fn users() -> User as Json { |it| it.read(|world, _| world.users().to_vec()) }

    post "/users" "create_user" "A new person on the team"
        errors "400 for a name that is empty."
    fn create_user(body new: NewUser) -> User as Created {
        |it| it.act("users", |world, _| world.create_user(new))
    }

    post "/mailboxes" "create_mailbox" "A new inbox"
        about "With an `owner` it is that person's private inbox."
        conflict "There is an inbox with this address already."
        errors "400 for a bad address, 404 for an unknown owner, 409 for an address that is taken."
    fn create_mailbox(body new: NewMailbox) -> MailboxEntry as Created {
        |it| it.act("mailboxes", |world, _| world.create_mailbox(new))
    }

    list "/keys" "list_keys" "All keys, without what is secret about them"
    fn keys() -> KeyEntry as Json { |it| it.read(|world, _| world.keys()) }

    post "/keys" "create_key" "A new key, shown this once"
        errors "400 for bad input, 404 for an unknown maker."
    fn create_key(body new: NewKey) -> CreatedKey as Created {
        |it| {
            let created = it.act("keys", |world, _| world.create_key(new))?;
            it.registry.index(&it.runtime);
            Ok(created)
        }
    }

    delete "/keys/{id}" "revoke_key" "Revokes the key of an agent"
        errors "404 when there is no such agent."
    fn revoke_key(id agent) -> () as NoContent {
        |it| it.act("keys", |world, _| world.revoke_key(agent.as_ref()))
    }

    ; also [
        list("/mailboxes", "list_mailboxes", "All inboxes", |it: Control, ()| async move {
            it.mailboxes().await.map(Json)
        })
            .about("Private ones and the sandbox included."),
        put("/plan", "set_plan", "Changes the workspace's plan", |it: Control, JsonBody(to): JsonBody<PlanChange>| async move {
            it.set_plan(to.plan).await.map(Ack)
        })
        .about("On `free` the service API returns 403 and webhooks are not sent."),
    ]
}

impl Control {
    /// Returns all inboxes, private ones and the sandbox included.
    pub async fn mailboxes(&self) -> Result<Vec<MailboxEntry>> {
        Ok(self.read(|world, _| world.mailboxes()))
    }

    /// Changes the workspace's plan.
    pub async fn set_plan(&self, plan: Plan) -> Result<()> {
        self.act("plan", |world, _| {
            world.set_plan(plan);
            Ok(())
        })
    }
}

/// What the workspace pays for from now on.
#[derive(Deserialize, JsonSchema)]
struct PlanChange {
    /// The plan.
    plan: Plan,
}
