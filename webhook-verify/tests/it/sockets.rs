//! A sender that announces more than it sends, over real sockets: it is answered and cut off, and holds nothing up.

use axum::Router;
use axum::routing::post;
use shared_inbox_webhooks::{Event, Webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{BODY, foreign, receiver, signed_by};

/// Ten bytes of a thousand, under headers that only the body could prove wrong. What comes back before the line is closed.
pub(crate) async fn ten_bytes_of_a_thousand(address: std::net::SocketAddr) -> String {
    let signed = signed_by(foreign(), BODY.as_bytes());
    let mut request = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 1000\r\n");
    for (name, value) in signed.pairs() {
        request += &format!("{name}: {value}\r\n");
    }
    request += "\r\n{\"id\":\"evt";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // No limit of its own: time that is stopped would jump to it before the server has read a word.
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn axum_answers_a_body_that_stops_short_after_ten_seconds_and_hangs_up() {
    async fn handler(_: Webhook<Event>) {}
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/", post(handler)).with_state(receiver());
    tokio::spawn(async { axum::serve(listener, app).await });
    let start = tokio::time::Instant::now();
    let answer = ten_bytes_of_a_thousand(address).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(start.elapsed().as_secs(), 10);
}
