//! What a program's logs show of a call: enough to follow it, and no key, address or words of a mail.

use crate::support::{Outcome, Service, key};

#[tokio::test]
async fn no_error_in_the_chain_shows_the_words_of_a_search() {
    let service = Service::start().await;
    service.next_gets([Outcome::LostBefore, Outcome::Truncated, Outcome::Hangs]);
    let nobody = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/api/v1", listener.local_addr().unwrap())
    };
    let nobody = shared_inbox::Client::builder(nobody, key()).build().unwrap();
    for client in [service.client(), service.client(), service.client(), nobody] {
        let search =
            client.conversations().search("kim@example.com").retry(shared_inbox::retry::RetryPolicy::never());
        let error = search.timeout(std::time::Duration::from_millis(300)).await.unwrap_err();
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        let mut depth = 0;
        while let Some(error) = next {
            let shown = format!("{error} {error:?} {error:#?}");
            assert!(!shown.contains("kim") && !shown.contains(&key()[8..]), "{shown}");
            (next, depth) = (error.source(), depth + 1);
        }
        assert!(depth > 1, "the cause is there: {error}");
    }
}
