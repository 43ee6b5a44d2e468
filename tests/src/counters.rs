//! What a program has counted through the facade `metrics`.

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};

/// Returns each metric by its name and its labels in order, as in `requests_total code=200`, with how often
/// it was counted or measured.
pub fn counted(recorder: &DebuggingRecorder) -> BTreeMap<String, u64> {
    let entry = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let mut labels: Vec<_> =
            key.key().labels().map(|label| format!(" {}={}", label.key(), label.value())).collect();
        labels.sort();
        let count = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Histogram(values) => values.len() as u64,
            DebugValue::Gauge(value) => panic!("{value}"),
        };
        (format!("{}{}", key.key().name(), labels.concat()), count)
    };
    recorder.snapshotter().snapshot().into_vec().into_iter().map(entry).collect()
}
