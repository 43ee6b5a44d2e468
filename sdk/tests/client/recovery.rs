//! A lost response is recovered with default settings, at a service that is not ours and behaves: each way to
//! lose one, for each kind of create. `cargo bench -p shared-inbox --bench creates` prints the table.

use std::time::Duration;

use futures_util::future::join_all;

use crate::support::KINDS;
use crate::support::losses::{LOSSES, measure};

#[tokio::test]
async fn every_way_to_lose_a_response_is_recovered_within_a_second() {
    // All at once: one of them waits for real seconds.
    let cases = LOSSES.iter().flat_map(|loss| KINDS.map(|kind| (loss, kind)));
    let measured = cases.map(|(loss, kind)| async move {
        let measured = measure(loss, kind, 2, |builder| builder).await;
        (format!("{}, {kind:?}: {measured:?}", loss.name), measured)
    });
    for (case, measured) in join_all(measured).await {
        assert_eq!((measured.recovered, measured.duplicates, measured.false_words), (2, 0, 0), "{case}");
        // Of an attempt whose time is over, the clock of the client has passed nothing.
        assert!(measured.median() <= Duration::from_secs(1), "{case}");
    }
}
