//! What the crate says through `tracing`, on the thread of one test.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// As long as there is but one subscriber, `tracing` asks that of the thread which comes to a line first, for all threads.
static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));

/// The lines said while this value lives: `LEVEL field=value …`, the fields of the current span last.
pub(crate) struct Trace {
    lines: Lines,
    _default: DefaultGuard,
}

impl Trace {
    pub(crate) fn start() -> Self {
        LazyLock::force(&OTHERS);
        let lines = Lines::default();
        let _default = set_default(tracing_subscriber::registry().with(lines.clone()));
        Self { lines, _default }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.0.lock().unwrap().clone()
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Line::default();
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !event.metadata().target().starts_with("shared_inbox_webhooks") {
            return;
        }
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        if let Some(fields) =
            context.lookup_current().and_then(|span| Some(span.extensions().get::<Line>()?.0.clone()))
        {
            line.0 += &fields;
        }
        self.0.lock().unwrap().push(line.0);
    }
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}
