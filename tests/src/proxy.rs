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

type Rewrite = Arc<dyn Fn(bool, &[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// A port on this machine that leads to another.
pub struct Proxy {
    port: u16,
    delay: Arc<AtomicU64>,
    /// Whether anything gets through.
    open: watch::Sender<bool>,
}

impl Proxy {
    /// Leads to this port.
    pub async fn to(port: u16) -> Self {
        Self::start(port, None).await
    }

    /// Puts other words into what is said to the store (`true`) and what it answers (`false`). A rewriter
    /// says `None` until it has heard enough.
    pub async fn rewriting(
        port: u16,
        rewrite: impl Fn(bool, &[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self::start(port, Some(Arc::new(rewrite))).await
    }

    async fn start(port: u16, rewrite: Option<Rewrite>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let delay = Arc::new(AtomicU64::new(0));
        let open = watch::Sender::new(true);
        let (slow, state) = (Arc::clone(&delay), open.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (slow, mut state, rewrite) = (Arc::clone(&slow), state.clone(), rewrite.clone());
                tokio::spawn(async move {
                    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
                    let Ok(far) = far else { return };
                    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                    let there = carry(
                        near_in,
                        far_out,
                        state.clone(),
                        Arc::clone(&slow),
                        rewrite.clone().map(|rewrite| (true, rewrite)),
                    );
                    let back =
                        carry(far_in, near_out, state.clone(), slow, rewrite.map(|rewrite| (false, rewrite)));
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

    /// Where clients of a store find it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Holds each piece back for so long, in both directions.
    pub fn slow_down(&self, delay: Duration) {
        self.delay.store(u64::try_from(delay.as_millis()).expect("short"), Ordering::Relaxed);
    }

    /// Nothing gets through, and nobody is told: connections stay as they are.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// What was [cut](Self::cut) gets through again.
    pub fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut open: watch::Receiver<bool>,
    slow: Arc<AtomicU64>,
    rewrite: Option<(bool, Rewrite)>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(got @ 1..) = from.read(&mut buffer).await {
        let mut bytes = buffer[..got].to_vec();
        if let Some((there, rewrite)) = &rewrite {
            bytes = loop {
                if let Some(other) = rewrite(*there, &bytes) {
                    break other;
                }
                let Ok(more @ 1..) = from.read(&mut buffer).await else { return };
                bytes.extend_from_slice(&buffer[..more]);
            };
        }
        tokio::time::sleep(Duration::from_millis(slow.load(Ordering::Relaxed))).await;
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
