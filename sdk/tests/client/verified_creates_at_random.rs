//! Verified creates against arbitrary failures: however the network behaves, what is in the conversation in the end fits
//! what the callers were told.

use std::time::Duration;

use crate::support::{Fault, Service, cases, conversation_id};
use proptest::prelude::*;
use shared_inbox::input::DocumentItem;
use shared_inbox::{Certainty, ConversationHandle, Error};

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::None),
        3 => Just(Fault::DropAfter),
        3 => Just(Fault::DropBefore),
        1 => Just(Fault::After(500)),
        1 => Just(Fault::Before(500)),
        1 => Just(Fault::After(502)),
        1 => Just(Fault::Before(429)),
        1 => Just(Fault::Before(403)),
        1 => Just(Fault::Truncate(7)),
        1 => Just(Fault::Body("<html>")),
        1 => Just(Fault::Impostor),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Note,
    Draft,
    Send,
    Documents,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Note), Just(Kind::Draft), Just(Kind::Send), Just(Kind::Documents)]
}

async fn create(thread: ConversationHandle, kind: Kind, text: &'static str) -> Result<Option<String>, Error> {
    let id = |id: &shared_inbox::MessageId| Some(id.to_string());
    match kind {
        Kind::Note => thread.add_note(text).await.map(|_| None),
        Kind::Draft => thread.reply(text).await.map(|reply| id(&reply.message_id)),
        Kind::Send => thread.reply(text).and_send().await.map(|reply| id(&reply.message_id)),
        Kind::Documents => {
            let request = thread.request_documents([DocumentItem::new("Passport")]).message(text);
            request.await.map(|request| id(&request.message_id))
        }
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn what_is_there_fits_what_the_callers_were_told(
        kind in kind(),
        texts in proptest::collection::vec(
            prop_oneof![4 => Just("Your refund is on its way."), 1 => Just("Your refund is on its way!"),
                1 => Just("Which order is this about?")], 1..5),
        posts in proptest::collection::vec(fault(), 0..12),
        gets in proptest::collection::vec(prop_oneof![3 => Just(Fault::None), 1 => fault()], 0..12),
        late_ms in prop_oneof![Just(0_u64), 0..9_000_u64],
        older in 0..3_usize,
        // Longer ago than the service's clock can tell.
        ago_secs in prop_oneof![Just(6_u64), 6..100_u64],
        at_once in any::<bool>(),
        // How long a request is under way whose answer is lost.
        slow_ms in prop_oneof![Just(0_u64), 0..5_000_u64],
        is_known in any::<bool>(),
    ) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let service = Service::start().await;
            for _ in 0..older {
                service.add_note(crate::support::NAME, texts[0]);
                service.add_message("outbound", Some("scheduled"), texts[0]);
            }
            service.clock.leap(Duration::from_secs(ago_secs));
            service.world.lock().unwrap().shows_after = Duration::from_millis(late_ms);
            service.world.lock().unwrap().slow = Duration::from_millis(slow_ms);
            let client = service.client();
            if is_known {
                client.mailboxes().await.unwrap();
            }
            let thread = client.conversation(&conversation_id());
            service.fail_posts(posts);
            service.fail_gets(gets);
            let mut results = Vec::new();
            if at_once {
                let tasks: Vec<_> = texts.iter().map(|text| tokio::spawn(create(thread.clone(), kind, text))).collect();
                for task in tasks {
                    results.push(task.await.unwrap());
                }
            } else {
                for text in &texts {
                    results.push(create(thread.clone(), kind, text).await);
                }
            }
            let made = service.items().len() - 2 * older;
            let done = results.iter().filter(|result| result.is_ok()).count();
            let certainty = |error: &Error| error.certainty() == Certainty::Unknown;
            let unknown = results.iter().filter(|result| result.as_ref().is_err_and(certainty)).count();
            assert!(done <= made, "{done} were told that it was done, {made} were made: {results:?}");
            assert!(made <= done + unknown, "{made} were made, {done} done and {unknown} unknown: {results:?}");
            for error in results.iter().filter_map(|result| result.as_ref().err()) {
                assert_eq!(certainty(error), error.unconfirmed().is_some());
            }
            let mut ids: Vec<_> = results.iter().flatten().flatten().collect();
            let all = ids.len();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), all, "no item is given to two callers");
        });
    }
}
