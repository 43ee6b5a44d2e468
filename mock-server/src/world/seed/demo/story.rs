//! What happened in the lamp shop, by kind.

use std::time::Duration;

use shared_inbox::{
    DocumentKind, Nullable, Reference, Urgency,
    input::{DocumentItem, RecordSent, Reply, RequestDocuments},
};

use super::{ANNA, BILLING, Demo, HOLDS};
use crate::world::{
    conversation::Snooze,
    documents::{InboundFile, Upload},
    mail::{Approval, Dmarc, InboundMail, IncomingMail},
    people::NewBooking,
};

const HELP: &str = "help@acme.example";

/// Returns an email of a customer: their name and address, its subject and the topic that the sorting helper
/// gives it.
fn from_customer(to: &str, [name, from, subject, topic]: [&str; 4], text: &str) -> InboundMail {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    InboundMail {
        name: given(name),
        topic: given(topic),
        ..InboundMail::new(to, from, text).subject(subject)
    }
}

impl Demo {
    pub(super) fn new_mail(&mut self) {
        let mut mail = from_customer(
            HELP,
            ["Mara Lind", "mara.lind@example.org", "Shade arrived broken", "Damaged goods"],
            "Hello,\n\nthe floor lamp came today and the glass shade is cracked from top to bottom. I have attached two \
             photos. We have guests on Saturday, is there any way to get a new shade before then?\n\nMara Lind",
        );
        mail.urgency = Some(Urgency::High);
        mail.attachments = vec![
            InboundFile::new("shade-1.jpg", "image/jpeg", 1_845_221),
            InboundFile::new("shade-2.jpg", "image/jpeg", 2_010_944),
        ];
        let broken = self.mail(95, mail);
        self.tag(90, broken, &["damaged", "vip"]);
        self.note(88, broken, "Third order this year. @Anna can we send a shade by courier?");
        for at in 0..self.world.documents.len() {
            self.world.documents[at].document.kind = Some(DocumentKind::Photo);
        }

        let mut mail = from_customer(
            BILLING,
            ["Rosa Quint", "accounts@harbour-cafe.example", "Invoice 2231 has our old address", "Invoices"],
            "Good morning,\n\nour invoice 2231 shows our old address. Could you issue it again with the new one? Our \
             accountant needs it by the end of the month.\n\nHarbour Café, Rosa Quint",
        );
        mail.urgency = Some(Urgency::Normal);
        let invoice = self.mail(260, mail);
        let anna = format!("user:{}", self.world.users[0].id);
        self.assign(240, invoice, &anna);
        self.tag(239, invoice, &["invoice"]);
        let at = self.ago(200);
        let mut reply = Reply::new(
            "Hello Rosa,\n\nof course. You will have the corrected invoice in your inbox today; the old one is void \
             and needs no answer.\n\nBest wishes from the lamp shop",
        );
        reply.summary = Some("Promises a corrected invoice today".into());
        self.world.reply(invoice, self.world.agent_of(self.billing), reply, at);

        let mut mail = from_customer(
            HELP,
            [
                "Mail Administrator",
                "security-team@acme-accounts.example",
                "Action needed: mailbox suspended",
                "",
            ],
            "Your mailbox will be closed within 24 hours. Log in at http://acme-accounts.example/keep to keep it.",
        );
        mail.dmarc = Dmarc::Fail;
        mail.risk = Some("phishing".into());
        mail.risk_reasons = vec![
            "The sender's domain fails its check".into(),
            "Presses for haste".into(),
            "Asks to log in behind a link".into(),
        ];
        mail.held = true;
        self.mail(55, mail);

        let mut mail = from_customer(
            HELP,
            ["João Pereira", "j.pereira@example.net", "Brass desk lamp, small", "Before buying"],
            "Hi, do you still have the brass desk lamp in the small size? The page says \"ask us\", so I am asking. \
             Thanks! João",
        );
        mail.urgency = Some(Urgency::Low);
        self.mail(25, mail);
    }

    pub(super) fn answered_mail(&mut self) {
        let mut mail = from_customer(
            HELP,
            ["Kim Aldana", "kim.aldana@example.com", "Where is order 1038?", "Delivery"],
            "Hello, my order 1038 was due on Monday and the tracking page has not changed for four days. Where is it?",
        );
        mail.urgency = Some(Urgency::Normal);
        let late = self.mail(1_500, mail);
        self.send(
            1_450,
            late,
            "Hello Kim,\n\nthe parcel is held at the depot in Kassel. It goes out again tomorrow.",
        );
        self.tag(1_440, late, &["delivery"]);

        let mail = from_customer(
            HELP,
            ["Priya Nair", "priya.n@example.org", "Humming dimmer", "Technical question"],
            "The dimmer hums when the lamp is at half. Is that normal, or is it broken?",
        );
        let hum = self.mail(8_900, mail);
        let tom = format!("user:{}", self.world.users[1].id);
        self.assign(8_890, hum, &tom);
        self.send(8_800, hum, "Hello Priya, which bulb is in it? Some LEDs hum below 60%.");
        self.answer(
            8_100,
            hum,
            "priya.n@example.org",
            "A 7 W LED from the supermarket.\n\nOn Mon, 2 Nov 2026 at 09:12, Acme Help <help@acme.example> wrote:\n> Which \
             bulb is in it? Some LEDs hum below 60%.",
        );
        self.send(8_000, hum, "That will be it. The one on our list costs 6 € and is silent at any level.");
        self.answer(7_300, hum, "priya.n@example.org", "Changed it, silence. Thank you!");
        self.tag(7_290, hum, &["question"]);
        self.close(7_280, hum);

        let mut mail = from_customer(
            HELP,
            ["Old Mill Events", "events@oldmill.example", "Twelve pendants for the hall", "Large orders"],
            "We would like twelve pendant lamps for the mill's new hall, to be delivered in the second week of next month.",
        );
        mail.urgency = Some(Urgency::Normal);
        let mill = self.mail(4_400, mail);
        self.tag(4_390, mill, &["wholesale"]);
        self.note(4_385, mill, "Stock comes in on Thursday, let us look at it again then.");
        let id = self.world.conversations[mill].id.clone();
        let until = Some(self.now + Duration::from_secs(2 * 86_400));
        let at = self.ago(4_380);
        self.world.snooze(id.as_str(), Snooze::new(until), at).expect(HOLDS);
        let host = self.world.users[1].id.clone();
        let starts = self.now + Duration::from_secs(3 * 86_400);
        let booking = NewBooking::new(host, starts, starts + Duration::from_secs(1_800)).conversation(id);
        self.world.create_booking(booking, at).expect(HOLDS);

        let mail = from_customer(
            HELP,
            ["Sam Whitfield", "s.whitfield@example.com", "Newsletter twice", ""],
            "Please cancel my newsletter, I get it twice every week.",
        );
        let news = self.mail(3_000, mail);
        self.send(2_950, news, "Done, you are off both lists. Sorry for the noise.");
        let at = self.ago(2_900);
        let mut content = InboundMail::new(
            "",
            "s.whitfield@example.com",
            "I am away until Friday and read mail once a day.",
        );
        content.auto_reply = true;
        let mailbox = self.world.index.positions[news].mailbox;
        self.world.receive(IncomingMail { mailbox, reference: None, conversation: Some(news), content }, at);
        self.close(2_890, news);

        let mail = from_customer(
            HELP,
            ["Daniel Osei", "d.osei@example.com", "Two years or five?", "Before buying"],
            "How long is the warranty on the workshop lamps? The leaflet says two years, the web page says five.",
        );
        let warranty = self.mail(6_200, mail);
        let at = self.ago(6_100);
        let draft = Reply::new("Hello Daniel, it is five years for lamps bought after 2024.");
        let draft = self.world.reply(warranty, self.world.agent_of(self.live), draft, at).message_id;
        let at = self.ago(6_000);
        let edited = "Hello Daniel, it is five years for every lamp. The leaflet is out of date, thank you for telling us!";
        self.world.approve(draft.as_str(), Approval::new().body(edited), at).expect(HOLDS);
        self.tag(5_900, warranty, &["question"]);
        self.close(5_890, warranty);

        let mut mail = from_customer(
            HELP,
            ["Lena Hofer", "lena.hofer@example.org", "New address for order 1044", "Delivery"],
            "Can I change the delivery address of order 1044? I am moving this weekend.",
        );
        mail.urgency = Some(Urgency::High);
        let moving = self.mail(30, mail);
        let agent = format!("agent:{}", self.world.keys[self.live].agent_id);
        self.assign(28, moving, &agent);
        self.send(4, moving, "Hello Lena, yes. Reply with the new address today and the parcel goes there.");
    }

    pub(super) fn document_requests(&mut self) {
        let mail = from_customer(
            BILLING,
            ["Tannery Yard Office", "office@tannery-yard.example", "Paying by invoice", "Accounts"],
            "We want to pay by invoice from now on. What do you need from us?",
        );
        let account = self.mail(4_600, mail);
        let at = self.ago(4_500);
        let mut request = RequestDocuments::new([
            DocumentItem::new("Trade licence"),
            DocumentItem::new("Bank statement").description("The last three months"),
            DocumentItem::new("A reference from a supplier").nice_to_have(),
        ]);
        request.message = Some("To open an account for you we need a few papers.".into());
        request.send = true;
        let asked = self.world.request_documents(account, self.world.agent_of(self.live), request, at);
        let id = asked.request_id.expect(HOLDS);
        let at = self.ago(3_900);
        let mut licence = Upload::new(0, "licence-2026.pdf");
        licence.kind = Some(DocumentKind::Contract);
        self.world.upload(id.as_str(), licence, at).expect(HOLDS);
        self.ago(1_000);
        self.tag(990, account, &["account"]);

        let mut mail = from_customer(
            BILLING,
            ["Brightside Electrics", "pay@brightside.example", "Bill for October", "Suppliers"],
            "Please find our bill for the October repairs attached.",
        );
        mail.urgency = Some(Urgency::Normal);
        mail.attachments = vec![InboundFile::new("brightside-1187.pdf", "application/pdf", 88_410)];
        let bill = self.mail(2_100, mail);
        self.tag(2_090, bill, &["invoice"]);
        if let Some(last) = self.world.documents.len().checked_sub(1) {
            let filed = &mut self.world.documents[last];
            filed.document.title = "Brightside Electrics, invoice 1187".into();
            filed.document.kind = Some(DocumentKind::Invoice);
            filed.document.fields.vendor = Nullable::Value("Brightside Electrics".into());
            filed.document.fields.amount = Nullable::Value(412.5);
            filed.document.fields.currency = Nullable::Value("EUR".into());
            filed.document.fields.reference = Nullable::Value("1187".into());
            filed.document.fields.due_date = Nullable::Null;
        }
    }

    pub(super) fn app_mail(&mut self) {
        let at = self.ago(5_000);
        let reference = Reference::parse("order-1042").expect(HOLDS);
        let mut sent = RecordSent::new(
            "<b1f0a6d27c9e4c51@shop.acme.example>",
            reference,
            ["noor.haddad@example.com"],
            "Your order 1042 has shipped",
        );
        sent.text = Some("Your lamps left our workshop today.".into());
        self.world.record_sent(true, sent, at);
        let mut mail = from_customer(
            "help+order-1042@acme.example",
            ["Noor Haddad", "noor.haddad@example.com", "Re: Your order 1042 has shipped", "Delivery"],
            "Great news. Could the courier ring the bell of the shop next door? We are closed on Wednesdays.",
        );
        mail.in_reply_to = Some("<b1f0a6d27c9e4c51@shop.acme.example>".into());
        let order = self.mail(700, mail);
        self.tag(690, order, &["delivery"]);
    }

    pub(super) fn private_mail(&mut self) {
        let mail = from_customer(
            ANNA,
            ["M. Castellan", "landlord@example.net", "Lease of the workshop", ""],
            "Dear Anna, the lease of the workshop ends in June. Shall we talk about the next three years?",
        );
        self.mail(600, mail);
        let mail = from_customer(
            ANNA,
            ["", "yoga@example.net", "Class confirmed", ""],
            "Your class on Thursday is confirmed.",
        );
        let class = self.mail(5_500, mail);
        self.close(5_000, class);
    }

    pub(super) fn sandbox(&mut self) {
        let at = self.ago(500);
        let mailbox = self.world.sandbox().expect(HOLDS);
        let content = InboundMail::new("", "reply+demo@customer.test", "Does my integration work?")
            .name("Test customer")
            .subject("A first test");
        self.world.receive(IncomingMail { mailbox, reference: None, conversation: None, content }, at);
        let conversation = self.world.conversations.len() - 1;
        let mut reply = Reply::new("It does.");
        reply.send = true;
        self.world.reply(conversation, self.world.agent_of(self.test), reply, at);
    }
}
