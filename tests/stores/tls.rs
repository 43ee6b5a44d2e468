//! The way to a store is TLS where the address says so, and a certificate that nobody vouches for is not
//! trusted.

use std::{env, fs, net::Ipv4Addr, path::PathBuf, process::Command, sync::Arc, time::Duration};

use base64::prelude::{BASE64_STANDARD, Engine};
use shared_inbox::rate_limit::{AcquireRequest, Priority, RateLimiter};
use shared_inbox_stores::{Postgres, Redis, StoreError};
use shared_inbox_tests::stores::{self, Store};
use shared_inbox_webhooks::replay::{Claim, Delivery, ReplayGuard};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer},
};

/// TLS computes.
const TIME: Duration = Duration::from_secs(5);
/// What a client of PostgreSQL says before it speaks TLS, and hears.
const POSTGRES: ([u8; 8], &[u8]) = ([0, 0, 0, 8, 4, 210, 22, 47], b"S");

/// TLS in front of a store, with a certificate that nobody knows.
struct Tls {
    port: u16,
    root: String,
}

impl Tls {
    /// `first`: what is said in plain words before, and the answer to it.
    async fn before(store: &Store, first: Option<([u8; 8], &'static [u8])>) -> Self {
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.cert.der().clone()], key.into())
            .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (port, store) = (listener.local_addr().unwrap().port(), store.port());
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Some((question, answer)) = first {
                        let mut request = [0; 8];
                        if near.read_exact(&mut request).await.is_err() || request != question {
                            return;
                        }
                        near.write_all(answer).await.unwrap();
                    }
                    let Ok(mut near) = acceptor.accept(near).await else { return };
                    let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, store)).await.unwrap();
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        let lines = BASE64_STANDARD.encode(certificate.cert.der());
        Self { port, root: format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n") }
    }

    /// The certificate in a file.
    fn file(&self) -> PathBuf {
        let file =
            env::temp_dir().join(format!("shared-inbox-root-{}-{}.pem", std::process::id(), self.port));
        fs::write(&file, &self.root).unwrap();
        file
    }
}

#[tokio::test]
async fn a_limiter_reaches_its_store_through_tls_and_trusts_no_unknown_certificate() {
    let store = stores::valkey();
    let tls = Tls::before(&store, None).await;
    let url = format!("rediss://localhost:{}", tls.port);
    let builder = || Redis::builder(&*url).timeout(TIME);
    let distrustful = builder().open().unwrap().limiter().await.unwrap();
    distrustful.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap_err();
    assert!(distrustful.is_away());
    assert!(!store.command("KEYS *").contains("shared-inbox:"));
    let trusted = builder().root_certificate(&*tls.root).connect().await.unwrap();
    let trusted = trusted.limiter().await.unwrap();
    // It is reached, and counts as full.
    trusted.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap_err();
    assert!(!trusted.is_away());
    assert!(store.command("KEYS *").contains("shared-inbox:"));
    let bad = builder().root_certificate("not a certificate").open();
    assert!(matches!(bad, Err(StoreError::Certificate)), "{bad:?}");
}

#[tokio::test]
async fn redis_is_reached_with_whom_the_system_trusts_and_with_no_unknown_certificate() {
    let store = stores::valkey();
    let tls = Tls::before(&store, None).await;
    let url = format!("rediss://localhost:{}", tls.port);
    Redis::connect(&*url).await.unwrap_err();
    // What the system trusts is read once in a process, so this needs one of its own.
    let file = tls.file();
    let process = Command::new(env!("CARGO_BIN_EXE_connect")).arg(url).env("SSL_CERT_FILE", &file).spawn();
    let connected = tokio::task::spawn_blocking(move || process.unwrap().wait().unwrap());
    assert!(connected.await.unwrap().success());
    fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_guard_on_postgres_trusts_the_certificate_that_its_address_names_and_no_other() {
    let store = stores::postgres();
    let tls = Tls::before(&store, Some(POSTGRES)).await;
    let file = tls.file();
    let url = format!("postgres://postgres@localhost:{}/postgres?sslmode=verify-full", tls.port);
    Postgres::connect(&url).await.unwrap_err();
    let postgres = Postgres::connect(&format!("{url}&sslrootcert={}", file.display())).await.unwrap();
    postgres.create_tables().await.unwrap();
    let claimed = postgres.guard().claim(&Delivery::new("orders", "evt_1")).await;
    // Each connection reads it.
    fs::remove_file(file).unwrap();
    assert!(matches!(claimed, Ok(Claim::Granted(_))), "{claimed:?}");
}
