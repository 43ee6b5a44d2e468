//! An app that stays up: it is killed at its requests and restarted, and has to come to rest before anything
//! else happens.

use std::{
    future::pending,
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use crate::process::{RunEnd, Running};
use shared_inbox::Timestamp;
use shared_inbox_mock::{CreateWebhook, webhooks::TimestampSource};
use tokio::net::TcpStream;

use crate::explore::{
    error::{ExploreError, Result},
    run::driver::Run,
    run::kill::kill_is_due,
    run::record::Event,
    run::world::POLL_INTERVAL,
    under_test::{app::App, context::AppContext},
};

/// Without a request for so long, the app is at rest.
const IDLE_INTERVAL: Duration = Duration::from_millis(25);
/// Jobs of the world that are run one by one while time passes.
const MAX_JOBS: u32 = 50;

/// Returns a port of 127.0.0.1 that nobody listens on. It is not one of those that are given to clients, so
/// that none takes it while the app is down.
fn free_port() -> Result<u16> {
    const FIRST: u16 = 15_000;
    const COUNT: u16 = 16_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Explorers that are started together have ids near each other.
    let start = std::process::id().wrapping_mul(2_654_435_769) >> 16;
    let start = u16::try_from(start % u32::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + offset) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(ExploreError::Mock("there is no free port for the app".to_owned()))
}

/// Starts a server and waits until it accepts connections; if it does not, how it ended.
async fn start(app: &App, context: &AppContext, timeout: Duration) -> Result<Result<Running, RunEnd>> {
    let mut running = app.start(context)?;
    let address = (Ipv4Addr::LOCALHOST, context.port.unwrap_or_default());
    let accepts = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let end = tokio::select! {
        () = accepts => return Ok(Ok(running)),
        end = running.ended() => end,
        () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
    };
    running.kill().await;
    Ok(Err(end))
}

impl Run<'_> {
    pub(crate) fn is_server(&self) -> bool {
        self.record.server
    }

    /// Returns whether the app is a server that has ended by itself.
    pub(crate) fn has_exited(&self) -> bool {
        self.is_server() && self.running.is_none()
    }

    /// Adds the webhook of the server, and starts it.
    pub(crate) async fn prepare_server(&mut self) -> Result<()> {
        let port = free_port()?;
        let url = format!("http://127.0.0.1:{port}{}", self.scenario.webhook_path);
        let new = CreateWebhook::new(url).timestamps(TimestampSource::Real);
        let added = self.world.control.create_webhook(new).await?;
        self.webhook = added.id.to_string();
        (self.context.port, self.context.webhook_secret) = (Some(port), Some(added.secret));
        self.start_server().await
    }

    async fn start_server(&mut self) -> Result<()> {
        self.starts += 1;
        self.note(Event::RunStarts(self.starts)).await?;
        self.context.time = self.world.now().await;
        match start(&self.driver.app, &self.context, self.driver.app_timeout).await? {
            Ok(running) => self.running = Some(running),
            Err(end) => self.server_ended(end).await?,
        }
        Ok(())
    }

    async fn server_ended(&mut self, end: RunEnd) -> Result<()> {
        self.running = None;
        self.note(Event::RunEnds(self.starts, end)).await
    }

    /// Kills the server and starts it again.
    async fn restart(&mut self) -> Result<()> {
        if let Some(running) = self.running.take() {
            running.kill().await;
        }
        self.all_requests().await;
        self.server_ended(RunEnd::Killed).await?;
        self.start_server().await
    }

    /// Awaits something that happens in the world, and watches the server meanwhile.
    async fn watched<T>(&mut self, happens: impl Future<Output = Result<T>>) -> Result<T> {
        let mut happens = std::pin::pin!(happens);
        loop {
            let ended = async {
                match &mut self.running {
                    Some(running) => running.ended().await,
                    None => pending().await,
                }
            };
            let killed = self.killed.load(Ordering::Relaxed);
            let (world, rules) = (&self.world, &self.rules);
            tokio::select! {
                biased;
                end = ended => self.server_ended(end).await?,
                () = kill_is_due(world, rules, killed) => {
                    self.killed.store(killed + 1, Ordering::Relaxed);
                    self.restart().await?;
                }
                happened = &mut happens => return happened,
            }
        }
    }

    /// Waits until no delivery is under way and the server makes no request any more, within bounds.
    pub(crate) async fn wait_until_idle(&mut self) -> Result<()> {
        if !self.is_server() {
            return Ok(());
        }
        let until = Instant::now() + 2 * self.driver.app_timeout;
        loop {
            let before = self.world.count_requests().await?;
            let control = self.world.control.clone();
            self.watched(async { Ok(control.advance(Duration::ZERO).await?) }).await?;
            let began = Instant::now();
            self.watched(async {
                tokio::time::sleep(IDLE_INTERVAL).await;
                Ok(())
            })
            .await?;
            // On a busy machine the app may not have had its turn.
            let had_its_turn = began.elapsed() < 2 * IDLE_INTERVAL;
            let idle = self.world.count_requests().await? == before && !self.is_waiting().await;
            if (idle && had_its_turn) || Instant::now() > until {
                return Ok(());
            }
        }
    }

    /// Time passes. The server comes to rest after each thing that falls due.
    pub(crate) async fn pass(&mut self, seconds: u64) -> Result<()> {
        self.pass_until(self.world.now().await + Duration::from_secs(seconds)).await
    }

    /// Time passes until then.
    pub(crate) async fn pass_until(&mut self, end: Timestamp) -> Result<()> {
        for _ in 0..MAX_JOBS {
            let jobs = self.world.control.jobs().await;
            if !self.is_server() || jobs.first().is_none_or(|job| job.due_at > end) {
                break;
            }
            self.run_next_job().await?;
        }
        let control = self.world.control.clone();
        self.watched(async { Ok(control.advance_to(end).await.map(drop)?) }).await
    }

    /// Time passes until the next thing falls due.
    pub(crate) async fn run_next_job(&mut self) -> Result<()> {
        let control = self.world.control.clone();
        self.watched(async { Ok(control.run_next_job().await?) }).await?;
        self.wait_until_idle().await
    }
}
