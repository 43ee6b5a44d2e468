//! Where a store may be: in a cluster, behind TLS.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use base64::prelude::{BASE64_STANDARD, Engine};
use shared_inbox::{ApiKey, Ask, Lane, RateLimiter, RedisLimiter, StoreError};
use shared_inbox_tests::stores;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivatePkcs8KeyDer},
};

use crate::stores::ask as command;

#[tokio::test]
async fn a_cluster_keeps_the_count_of_each_key_where_its_slot_is() {
    let (Some(one), Some(other)) = (stores::valkey_node(), stores::valkey_node()) else { return };
    let bus = |store: &stores::Store| {
        let said = command(store, "CONFIG GET cluster-port");
        said.lines().find_map(|line| line.parse::<u16>().ok()).expect("a port")
    };
    assert!(command(&one, "CLUSTER ADDSLOTSRANGE 0 8191").starts_with("+OK"));
    assert!(command(&other, "CLUSTER ADDSLOTSRANGE 8192 16383").starts_with("+OK"));
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", other.port(), bus(&other));
    assert!(command(&one, &meet).starts_with("+OK"));
    let is_ready = |store| command(store, "CLUSTER INFO").contains("cluster_state:ok");
    for _ in 0..1_000 {
        if is_ready(&one) && is_ready(&other) {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let limiter = RedisLimiter::cluster([one.url()]).limit(1).new_store().connect().await.unwrap();
    for number in 0..8 {
        let key = ApiKey::parse(format!("rk_test_{number:048}")).unwrap().fingerprint();
        limiter.acquire(Ask::new(Lane::ReadBack).key(key)).await.unwrap().finished();
        limiter.acquire(Ask::new(Lane::ReadBack).key(key)).await.unwrap_err();
    }
    let keys = |store| command(store, "KEYS *").lines().filter(|line| line.contains("shared-inbox:")).count();
    assert_eq!(keys(&one) + keys(&other), 8);
    assert!(keys(&one) > 0 && keys(&other) > 0, "both have some");
    // A single node is not enough, and one of the two notices at once.
    let alone = [RedisLimiter::connect(one.url()).await, RedisLimiter::connect(other.url()).await];
    assert!(alone.iter().any(|tried| matches!(tried, Err(StoreError::Cluster))), "{alone:?}");
}

/// TLS in front of the store, with this certificate; gives its port.
async fn tls(store: u16, certificate: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key.into())
        .unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(near).await else { return };
                let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, store)).await.unwrap();
                _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    port
}

fn pem(certificate: &[u8]) -> String {
    let lines = BASE64_STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
}

#[tokio::test]
async fn the_way_to_the_store_can_be_tls_and_a_stranger_is_not_trusted() {
    let Some(store) = stores::valkey() else { return };
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let url = format!("rediss://localhost:{}", tls(store.port(), &certificate).await);
    let short = Duration::from_secs(3);
    let stranger = RedisLimiter::builder(&*url).timeout(short).new_store().connect().await.unwrap();
    stranger.acquire(Ask::new(Lane::ReadBack)).await.unwrap_err();
    assert!(stranger.is_away());
    assert!(!command(&store, "KEYS *").contains("shared-inbox:"));
    let trusted = RedisLimiter::builder(&*url).root_certificate(pem(certificate.cert.der())).timeout(short);
    let trusted = trusted.new_store().connect().await.unwrap();
    trusted.acquire(Ask::new(Lane::ReadBack)).await.unwrap().finished();
    assert!(command(&store, "KEYS *").contains("shared-inbox:"));
    let bad = RedisLimiter::builder(&*url).root_certificate("not a certificate").connect().await;
    assert!(matches!(bad, Err(StoreError::Certificate)), "{bad:?}");
}
