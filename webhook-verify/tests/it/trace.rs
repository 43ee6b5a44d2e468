//! What the crate says through `tracing`, on the thread of one test.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// As long as there is but one subscriber, `tracing` asks that of the thread which comes to a line first, for
/// all threads.
static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));

/// The lines said while this value lives: the level, the current span with its fields, the message, the
/// fields.
pub(crate) struct Trace {
    log: Log,
    _default: DefaultGuard,
}

impl Trace {
    pub(crate) fn start() -> Self {
        LazyLock::force(&OTHERS);
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false);
        let ours = filter_fn(|line| line.is_span() || line.target().starts_with("shared_inbox"));
        let _default = subscriber.with_writer(move || writer.clone()).finish().with(ours).set_default();
        Self { log, _default }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let log = String::from_utf8(self.log.0.lock().unwrap().clone()).unwrap();
        log.lines().map(|line| line.trim_start().to_owned()).collect()
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
