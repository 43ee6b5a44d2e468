//! TLS and the program around it: the crypto provider that a program has installed for itself is the one that
//! is used.
//!
//! A process has one provider, so this is a process of its own.

use std::sync::Arc;

use shared_inbox::{Certainty, Client, retry::RetryPolicy};
use shared_inbox_mock::{CreateWebhook, Expectation, MockServer, webhooks::DeliveryFilter};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{CipherSuite, ServerConfig, crypto::ring, version::TLS13},
};

/// A receiver behind a certificate that nobody has signed. It answers 200, and tells with which cipher it was
/// asked.
async fn receiver() -> (String, mpsc::UnboundedReceiver<CipherSuite>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], made.signing_key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (send, ciphers) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            // A client that does not like the certificate goes away.
            let Ok(mut connection) = acceptor.accept(connection).await else { continue };
            let mut request = [0; 16 * 1024];
            if connection.read(&mut request).await.is_ok_and(|read| read > 0) {
                let suite = connection.get_ref().1.negotiated_cipher_suite().unwrap().suite();
                _ = send.send(suite);
                _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
            _ = connection.shutdown().await;
        }
    });
    (format!("https://localhost:{}", address.port()), ciphers)
}

#[tokio::test]
async fn the_provider_that_a_program_installed_is_used_and_stays() {
    const CHOSEN: CipherSuite = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
    let mut chosen = ring::default_provider();
    chosen.cipher_suites.retain(|suite| suite.suite() == CHOSEN);
    chosen.install_default().expect("the first in this process");

    let mock = MockServer::builder().empty().manual_clock().start().await;
    let (url, mut ciphers) = receiver().await;
    let webhook = mock.control().create_webhook(CreateWebhook::new(&url)).await.unwrap();
    mock.control().test_webhook(&webhook.id).await.unwrap();
    mock.control().expect(Expectation::deliveries(&webhook.id).field("outcome", "delivered")).await.unwrap();
    assert_eq!(ciphers.recv().await, Some(CHOSEN), "of the three that ring knows");

    // The client goes by the same provider; and unlike the mock it looks at certificates.
    let inbox = Client::builder(format!("{url}/api/v1"), mock.live_key());
    let inbox = inbox.retry(RetryPolicy::never()).build().unwrap();
    let error = inbox.me().await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotSent, "{error}");
    assert!(ciphers.try_recv().is_err(), "no request went to a server without a trusted certificate");
    let log = mock.control().deliveries(webhook.id.as_str(), DeliveryFilter::default()).await.unwrap();
    assert_eq!(log.len(), 1);
}
