//! An exploration that is interrupted ends at once in every phase, with what was found so far.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use shared_inbox_explore::explore::{AppContext, Explore, Progress, Report, Scenario, Verdict};
use tokio::sync::Notify;

use crate::explore::apps::{Api, AppResult};

/// How long an interrupted exploration may take to end.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Longer than any test: an app that hangs is not given up.
const APP_TIMEOUT: Duration = Duration::from_secs(600);

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?"])
}

/// An app that drafts an answer to whatever the list shows, so that a lost response makes it write twice; and
/// hangs when it is told to.
#[derive(Clone, Default)]
struct App {
    hangs: Arc<AtomicBool>,
    /// Told when a run hangs.
    hung: Arc<Notify>,
}

impl App {
    fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    async fn run(self, context: AppContext) -> AppResult {
        if self.hangs.load(Ordering::Relaxed) {
            self.hung.notify_one();
            pending::<()>().await;
        }
        Api::new(context).answer_what_the_list_shows().await
    }

    /// Explores it, and interrupts that when a run hangs.
    async fn interrupted(&self, scenario: Scenario, progress: impl FnMut(Progress)) -> Report {
        let app = self.clone();
        let explore = Explore::function(scenario, move |context| app.clone().run(context));
        let hung = Arc::clone(&self.hung);
        interrupted(explore, async move { hung.notified().await }, progress).await
    }
}

/// Explores, and checks that it ends soon after `stop`.
async fn interrupted(
    explore: Explore,
    stop: impl Future<Output = ()>,
    progress: impl FnMut(Progress),
) -> Report {
    let stopped = Mutex::new(None);
    let stop = async {
        stop.await;
        *stopped.lock().unwrap() = Some(Instant::now());
    };
    let report = explore.app_timeout(APP_TIMEOUT).run_until(stop, progress).await.expect("it ran");
    let stopped = stopped.lock().unwrap().unwrap_or_else(|| panic!("it ended by itself: {report}"));
    assert!(stopped.elapsed() < MAX_WAIT, "it took {:?}", stopped.elapsed());
    assert_eq!(report.verdict, Verdict::Interrupted, "{report}");
    report
}

#[tokio::test]
async fn an_interrupt_during_the_undisturbed_runs_ends_them() {
    let app = App::default();
    app.hang();
    let report = app.interrupted(scenario(), |_| {}).await;
    assert_eq!(report.schedules, 0, "{report}");
}

#[tokio::test]
async fn an_interrupt_during_the_schedules_tells_how_many_were_run() {
    let app = App::default();
    // The first schedule breaks a rule; `all` goes on.
    let hangs = app.clone();
    let harmless = scenario().without_rules([shared_inbox_explore::explore::Oracle::NeverTwice]);
    let report = app.interrupted(harmless, move |_| hangs.hang()).await;
    assert!(report.schedules > 0 && report.coverage.singles.tried > 0, "{report}");
}

#[tokio::test]
async fn an_interrupt_while_a_finding_is_shrunk_keeps_the_finding() {
    let app = App::default();
    let hangs = app.clone();
    let shrinks = move |progress: Progress| {
        if progress.is_shrinking {
            hangs.hang();
        }
    };
    let report = app.interrupted(scenario(), shrinks).await;
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert_eq!(finding.reproduced, "0 of 0", "{report}");
    assert!(report.to_string().contains("it was not run again"), "{report}");
}

#[tokio::test]
async fn an_interrupt_while_a_server_starts_ends_it() {
    let app = App::default();
    app.hang();
    app.interrupted(scenario().server(), |_| {}).await;
}

#[tokio::test]
#[cfg(unix)]
async fn an_interrupt_while_a_program_starts_as_a_server_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let started = folder.path().join("started");
    let script = format!("touch '{}'; exec sleep 600", started.display());
    let explore = Explore::command(scenario().server(), ["sh", "-c", &script]);
    let has_started = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    interrupted(explore, has_started, |_| {}).await;
}

#[tokio::test]
async fn an_interrupt_does_not_wait_for_a_function_that_blocks_its_thread() {
    let blocked = Arc::new(Notify::new());
    let told = Arc::clone(&blocked);
    let app = move |_: AppContext| {
        let told = Arc::clone(&told);
        async move {
            told.notify_one();
            std::thread::sleep(3 * MAX_WAIT);
            Ok(())
        }
    };
    interrupted(Explore::function(scenario(), app), async move { blocked.notified().await }, |_| {}).await;
}
