//! Not a test: apps for the tests that start a program. Its argument says which.

use std::env;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

#[allow(dead_code, reason = "the tests use all of it")]
mod apps;

use apps::{Api, AppResult, answer, id, is_for_people, items};

const ASKED: &str = "Did our answer help you?";

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: the explorer starts this program"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> AppResult {
    let [base_url, key, state] =
        ["BASE_URL", "API_KEY", "STATE_DIR"].map(|name| variable(&format!("SHARED_INBOX_{name}")));
    let api = Api::with(base_url, key, state.into());
    match env::args().nth(1).as_deref() {
        Some("job-that-marks") => ask_once(&api, false).await,
        Some("job-that-looks") => ask_once(&api, true).await,
        Some("server") => serve(&api).await,
        other => panic!("{other:?} is no app"),
    }
}

/// A job beside a server: asks each customer who has an answer, once.
async fn ask_once(api: &Api, looks: bool) -> AppResult {
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        let own = |text: &str| items(&conversation["timeline"]).iter().any(|item| item["text"] == text);
        let mark = api.file(&format!("asked-{}", id(&entry)));
        let has_asked = if looks { own(ASKED) } else { mark.exists() };
        if own(&answer("1042")) && !has_asked && !is_for_people(&conversation) {
            api.send(id(&entry), ASKED).await?;
            std::fs::write(mark, "").map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// A server that does not look at what a killed one has written.
async fn serve(api: &Api) -> AppResult {
    let port: u16 = variable("PORT").parse().expect("a port");
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
    loop {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        if stream.read(&mut [0; 65_536]).await.is_ok_and(|read| read > 0) {
            api.answer_what_the_list_shows().await.ok();
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await.ok();
        }
    }
}
