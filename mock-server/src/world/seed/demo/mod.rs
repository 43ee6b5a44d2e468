//! The built-in demo workspace: a small lamp shop with conversations in every state.
//!
//! Customers write, agents reply and people approve through the same methods as anywhere else, each at its
//! time, so the demo obeys every rule. [`story`] is what happened in the shop.

mod story;

use std::time::Duration;

use shared_inbox::{
    Scope, Status, Timestamp,
    input::{AddNote, Reply, TagConversation},
};

use crate::world::{
    World,
    conversation::Assignment,
    mail::{InboundMail, IncomingMail},
    people::{NewKey, NewMailbox, NewUser},
};

const BILLING: &str = "billing@acme.example";
const ANNA: &str = "anna@acme.example";

impl World {
    /// Returns the demo workspace as of `now`.
    ///
    /// ```
    /// use shared_inbox::Timestamp;
    /// use shared_inbox_mock::world::World;
    /// let world = World::demo(Timestamp::from_millis(1_800_000_000_000));
    /// assert_eq!(world.approvals().len(), 1);
    /// ```
    pub fn demo(now: Timestamp) -> World {
        let mut demo = Demo { world: World::minimal(2), now, live: 0, test: 1, billing: 2 };
        demo.people();
        demo.new_mail();
        demo.answered_mail();
        demo.document_requests();
        demo.app_mail();
        demo.private_mail();
        demo.sandbox();
        demo.finish()
    }
}

struct Demo {
    world: World,
    now: Timestamp,
    /// The indexes of the keys.
    live: usize,
    test: usize,
    billing: usize,
}

/// A step that fails is a bug of the demo.
const HOLDS: &str = "the demo keeps the rules";

impl Demo {
    /// Returns the time some minutes before now, after running the jobs that were due until then.
    fn ago(&mut self, minutes: u64) -> Timestamp {
        let at = self.now - Duration::from_secs(60 * minutes);
        while self.world.run_due(at).is_some() {}
        at
    }

    fn people(&mut self) {
        let world = &mut self.world;
        let anna = world.users[0].id.clone();
        world.create_user(NewUser::new("Tom Okafor")).expect(HOLDS);
        world.create_mailbox(NewMailbox::new(BILLING, "Billing")).expect(HOLDS);
        world.create_mailbox(NewMailbox::new(ANNA, "Anna").owner(anna.clone())).expect(HOLDS);
        let scopes = [Scope::Read, Scope::Write, Scope::Draft];
        world.create_key(NewKey::live("Billing agent", scopes).created_by(anna)).expect(HOLDS);
    }

    /// Receives an email; returns the index of its conversation.
    fn mail(&mut self, minutes: u64, mail: InboundMail) -> usize {
        let at = self.ago(minutes);
        let received = self.world.inbound(mail, at).expect(HOLDS);
        self.world.conversation(received.conversation_id.as_str()).expect(HOLDS)
    }

    fn answer(&mut self, minutes: u64, conversation: usize, from: &str, text: &str) {
        let at = self.ago(minutes);
        let mailbox = self.world.index.positions[conversation].mailbox;
        let name = self.world.conversations[conversation].contact.name.clone();
        let content = InboundMail { name, ..InboundMail::new("", from, text) };
        let conversation = Some(conversation);
        self.world.receive(IncomingMail { mailbox, reference: None, conversation, content }, at);
    }

    fn send(&mut self, minutes: u64, conversation: usize, text: &str) {
        let at = self.ago(minutes);
        let mut reply = Reply::new(text);
        reply.send = true;
        self.world.reply(conversation, self.world.agent_of(self.live), reply, at);
    }

    fn tag(&mut self, minutes: u64, conversation: usize, names: &[&str]) {
        let at = self.ago(minutes);
        let mut change = TagConversation::default();
        change.add.extend(names.iter().map(|name| (*name).to_owned()));
        self.world.tag(conversation, self.world.agent_of(self.live).as_ref(), change, at);
    }

    fn note(&mut self, minutes: u64, conversation: usize, text: &str) {
        let at = self.ago(minutes);
        self.world.add_note(conversation, self.world.agent_of(self.live).as_ref(), AddNote::new(text), at);
    }

    fn close(&mut self, minutes: u64, conversation: usize) {
        let at = self.ago(minutes);
        self.world.set_status(conversation, self.world.agent_of(self.live).as_ref(), Status::Closed, at);
    }

    fn assign(&mut self, minutes: u64, conversation: usize, to: &str) {
        let at = self.ago(minutes);
        let id = self.world.conversations[conversation].id.clone();
        let to = to.parse().expect(HOLDS);
        self.world.assign_by_person(id.as_str(), Assignment::new(to), at).expect(HOLDS);
    }

    fn finish(mut self) -> World {
        self.ago(0);
        let mut world = self.world;
        // The conversations were created one after the other, not in the order of time.
        let mut outbox = world.outbox();
        outbox.sort_by_key(|mail| mail.at);
        world.outbox = outbox.into_iter().collect();
        world.prepare().expect(HOLDS);
        world
    }
}
