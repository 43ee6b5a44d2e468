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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let delay = Arc::new(AtomicU64::new(0));
        let open = watch::Sender::new(true);
        let (slow, state) = (Arc::clone(&delay), open.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (slow, mut state) = (Arc::clone(&slow), state.clone());
                tokio::spawn(async move {
                    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
                    let Ok(far) = far else { return };
                    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                    let there = carry(near_in, far_out, state.clone(), Arc::clone(&slow));
                    let back = carry(far_in, near_out, state.clone(), slow);
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
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(got @ 1..) = from.read(&mut bytes).await {
        tokio::time::sleep(Duration::from_millis(slow.load(Ordering::Relaxed))).await;
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&bytes[..got]).await.is_err() {
            return;
        }
    }
}
