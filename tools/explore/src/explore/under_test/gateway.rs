//! The way of one run to the service, which can be cut. That is how a run ends that cannot be killed.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// A port that leads to the service until this value is dropped. Then every connection is closed, and none is
/// taken.
pub(crate) struct Gateway {
    /// Its address, such as `http://127.0.0.1:4010`.
    pub(crate) origin: String,
    accepting: JoinHandle<()>,
}

impl Gateway {
    pub(crate) async fn open(service: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let accepting = tokio::spawn(async move {
            // Ends all of them with this task.
            let mut connections = JoinSet::new();
            while let Ok((app, _)) = listener.accept().await {
                connections.spawn(pass(app, service));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { origin, accepting })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes everything on in both directions.
async fn pass(mut app: TcpStream, service: SocketAddr) -> io::Result<()> {
    let mut service = TcpStream::connect(service).await?;
    app.set_nodelay(true)?;
    service.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut app, &mut service).await.map(drop)
}
