//! A way to the store that can be made slow, or lead nowhere.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

pub(crate) struct Proxy {
    port: u16,
    delay: Arc<AtomicU64>,
    /// Whether anything gets through.
    open: watch::Sender<bool>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        Self::start(port, None).await
    }

    /// To a store whose clock, for the limiter's script, is off by the milliseconds in the store's key `clock`.
    pub(crate) async fn with_clock(port: u16) -> Self {
        Self::start(port, Some(Arc::new(SteppingClock::new()))).await
    }

    async fn start(port: u16, clock: Option<Arc<SteppingClock>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let delay = Arc::new(AtomicU64::new(0));
        let open = watch::Sender::new(true);
        let (slow, state) = (Arc::clone(&delay), open.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (slow, mut state, clock) = (Arc::clone(&slow), state.clone(), clock.clone());
                tokio::spawn(async move {
                    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
                    let Ok(far) = far else { return };
                    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                    let there = carry(near_in, far_out, state.clone(), Arc::clone(&slow), clock);
                    let back = carry(far_in, near_out, state.clone(), slow, None);
                    tokio::select! {
                        () = there => {}
                        () = back => {}
                        // Nobody needs it any more.
                        _ = async { while state.changed().await.is_ok() {} } => {}
                    }
                });
            }
        });
        Self { port: own, delay, open }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Holds each piece back for so long, in both directions.
    pub(crate) fn slow_down(&self, delay: Duration) {
        self.delay.store(u64::try_from(delay.as_millis()).expect("short"), Ordering::Relaxed);
    }

    /// Nothing gets through, and nobody is told: connections stay as they are.
    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut open: watch::Receiver<bool>,
    slow: Arc<AtomicU64>,
    clock: Option<Arc<SteppingClock>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(got @ 1..) = from.read(&mut buffer).await {
        let mut bytes = buffer[..got].to_vec();
        if let Some(clock) = &clock {
            // A long command comes in parts.
            while bytes.windows(6).any(|word| word == b"SCRIPT") && !bytes.ends_with(b"answer\n\r\n") {
                let Ok(more @ 1..) = from.read(&mut buffer).await else { return };
                bytes.extend_from_slice(&buffer[..more]);
            }
            bytes = clock.rewrite(bytes);
        }
        tokio::time::sleep(Duration::from_millis(slow.load(Ordering::Relaxed))).await;
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Puts another clock into the limiter's script on its way to the store.
struct SteppingClock {
    /// What is said, and what is said instead.
    words: [(Vec<u8>, Vec<u8>); 2],
}

impl SteppingClock {
    fn new() -> Self {
        let script = include_str!("../../../../sdk/src/client/policy/limiter/redis/reserve.lua");
        let stepped = script.replace(
            "local clock, size = ",
            "time[1] = time[1] + (redis.call('GET', 'clock') or 0) / 1000 local clock, size = ",
        );
        assert_ne!(script, stepped);
        let name = |script: &str| redis::Script::new(script).get_hash().as_bytes().to_vec();
        let text = |script: &str| format!("${}\r\n{script}\r\n", script.len()).into_bytes();
        Self { words: [(text(script), text(&stepped)), (name(script), name(&stepped))] }
    }

    fn rewrite(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (said, instead) in &self.words {
            if let Some(at) = bytes.windows(said.len()).position(|some| some == said) {
                bytes.splice(at..at + said.len(), instead.iter().copied());
            }
        }
        bytes
    }
}
