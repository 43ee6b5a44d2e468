//! The transport over a pipe in memory, by paused time.

use std::time::Duration;

use rmcp::{
    model::{GetExtensions as _, JsonRpcMessage, RequestId},
    transport::Transport as _,
};
use serde_json::{Value, json};
use shared_inbox_mcp::program::{QueueWait, Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    time::timeout,
};

/// How many requests are worked on at once, are queued, and run without a place in the queue.
const MAX_RUNNING: usize = 32;
const MAX_QUEUED: usize = 256;
const MAX_UNQUEUED: usize = 16;

type Pipe = Stdio<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Client {
    async fn says(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn asks(&mut self, ids: std::ops::Range<usize>) {
        for id in ids {
            self.says(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })).await;
        }
    }

    async fn hears(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// A client and the transport, which works on as many requests as it can.
async fn busy_pair() -> (Client, Pipe) {
    let (ours, theirs) = duplex(1 << 16);
    let ((reader, writer), (read, write)) = (split(ours), split(theirs));
    let (mut stdio, _) = Stdio::from_pipes(read, write);
    let mut client = Client { reader: BufReader::new(reader), writer };
    client.asks(0..MAX_RUNNING).await;
    for id in 0..MAX_RUNNING {
        assert_eq!(begun(&mut stdio).await, (RequestId::Number(id as i64), Duration::ZERO));
    }
    (client, stdio)
}

/// Returns the id of the next request that is to be worked on, and how long it waited.
async fn begun(stdio: &mut Pipe) -> (RequestId, Duration) {
    match stdio.receive().await.expect("a message") {
        JsonRpcMessage::Request(request) => {
            (request.id, request.request.extensions().get::<QueueWait>().expect("how long").0)
        }
        other => panic!("a request, not {other:?}"),
    }
}

async fn answer(stdio: &mut Pipe, id: usize) {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    stdio.send(serde_json::from_value(answer).unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_question_passes_the_requests_that_wait() {
    let (mut client, mut stdio) = busy_pair().await;
    client.asks(100..110).await;
    client.says(json!({ "jsonrpc": "2.0", "id": 7, "result": { "action": "decline" } })).await;
    assert!(matches!(stdio.receive().await, Some(JsonRpcMessage::Response(_))));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_passes_the_requests_that_wait_and_takes_out_its_own() {
    let (mut client, mut stdio) = busy_pair().await;
    client.asks(100..102).await;
    let cancelled = json!({ "requestId": 100 });
    client.says(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    assert!(matches!(stdio.receive().await, Some(JsonRpcMessage::Notification(_))));
    answer(&mut stdio, 3).await;
    assert_eq!(begun(&mut stdio).await.0, RequestId::Number(101));
}

#[tokio::test(start_paused = true)]
async fn a_request_begins_when_there_is_a_place_and_tells_how_long_it_waited() {
    let (mut client, mut stdio) = busy_pair().await;
    client.asks(100..101).await;
    assert!(timeout(Duration::from_secs(20), stdio.receive()).await.is_err(), "there is no place");
    answer(&mut stdio, 0).await;
    let (id, waited) = begun(&mut stdio).await;
    assert!(id == RequestId::Number(100) && waited.as_secs() == 20, "{id} {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_place_is_answered_before_its_client_gives_up() {
    let (mut client, mut stdio) = busy_pair().await;
    client.asks(100..101).await;
    assert!(timeout(Duration::from_secs(49), stdio.receive()).await.is_err());
    let (heard, _) = tokio::join!(client.hears(), timeout(Duration::from_secs(2), stdio.receive()));
    assert_eq!(heard["id"], 100);
    assert!(heard["error"]["message"].as_str().unwrap().contains("send it again"), "{heard}");
    client.asks(100..101).await;
    answer(&mut stdio, 0).await;
    assert_eq!(begun(&mut stdio).await.0, RequestId::Number(100), "its id can be used again");
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_than_can_wait() {
    let (mut client, mut stdio) = busy_pair().await;
    // More than the pipe holds.
    let flood = async { client.asks(100..10_000).await };
    let reads = async { while stdio.receive().await.is_some() {} };
    let both = async { tokio::join!(flood, reads) };
    assert!(timeout(Duration::from_secs(1), both).await.is_err());
    // What was read is given up when it has waited for too long, and no more than that.
    let (mut given_up, began) = (0, tokio::time::Instant::now());
    while began.elapsed() < Duration::from_secs(50) {
        tokio::select! {
            refused = client.hears() => given_up += usize::from(refused["error"].is_object()),
            _ = stdio.receive() => panic!("there is no place"),
            () = tokio::time::sleep_until(began + Duration::from_secs(50)) => {}
        }
    }
    assert_eq!(given_up, MAX_QUEUED);
}

#[tokio::test(start_paused = true)]
async fn pings_and_subscriptions_need_no_place_as_far_as_there_are_few() {
    let (mut client, mut stdio) = busy_pair().await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    for id in 0..MAX_UNQUEUED + 2 {
        let (method, params) =
            if id % 2 == 0 { ("ping", json!({})) } else { ("subscriptions/listen", listen.clone()) };
        client.says(json!({ "jsonrpc": "2.0", "id": 100 + id, "method": method, "params": params })).await;
    }
    for _ in 0..MAX_UNQUEUED {
        let begun = timeout(Duration::from_secs(1), stdio.receive()).await.expect("it needs no place");
        assert!(matches!(begun, Some(JsonRpcMessage::Request(_))));
    }
    assert!(timeout(Duration::from_secs(1), stdio.receive()).await.is_err(), "the others wait");
}
