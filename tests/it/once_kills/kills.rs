//! Creates under keys by processes that are killed with `kill -9` at each point, and what the next process
//! makes of it. Used with each store: `open` makes one of an address.
#![allow(dead_code)] // The process that is killed and the test that starts it use a half each.

use std::{
    env,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use shared_inbox::{
    Client, ClientBuilder, ConversationId, Direction,
    clock::BoxFuture,
    once::{Begun, FileStore, LeaseStatus, OnceRecord, OnceStore, StoreFuture, StoredRecord},
};
use shared_inbox_mock::{InboundMail, MockServer};

pub(crate) type Open = fn(String) -> BoxFuture<'static, Arc<dyn OnceStore>>;

/// The store in this directory.
pub(crate) fn file_store(path: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
    Box::pin(async move { Arc::new(FileStore::open(path).expect("a store")) as Arc<dyn OnceStore> })
}

const POINTS: [&str; 5] = ["before-record", "after-record", "wire-before", "wire-after", "after-response"];
/// How many workers run at the same time.
const AT_ONCE: usize = 8;
/// The time of an attempt. A lease is twice as long and five seconds longer.
const TIMEOUT: Duration = Duration::from_secs(5);

fn builder(base_url: &str, key: &str) -> ClientBuilder {
    let builder =
        Client::builder(base_url, key).timeout(TIMEOUT).visibility_timeout(Duration::from_millis(200));
    builder.rate_limit(100_000).deadline(Duration::from_secs(60))
}

/// Kills this process.
fn die() -> ! {
    _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    loop {
        thread::park();
    }
}

/// A store whose process is killed at a point.
struct Deadly {
    inner: Arc<dyn OnceStore>,
    point: String,
}

impl OnceStore for Deadly {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            if self.point == "before-record" {
                die();
            }
            let begun = self.inner.begin(record, lease).await;
            if self.point == "after-record" {
                die();
            }
            begun
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        if record.is_some_and(OnceRecord::is_finished) {
            die();
        }
        self.inner.update(key, fence, record, time)
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        self.inner.list()
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        self.inner.remove(key, fence)
    }
}

/// A way to the service that kills this process when a create passes: before the service has it, or after its
/// response.
fn deadly_way(service: String, point: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for inbound in listener.incoming().flatten() {
            let (service, point) = (service.clone(), point.clone());
            thread::spawn(move || pass(inbound, &service, &point));
        }
    });
    address.to_string()
}

fn pass(mut inbound: TcpStream, service: &str, point: &str) {
    let mut outbound = TcpStream::connect(service).expect("the service");
    let (mut responses, mut client) =
        (outbound.try_clone().expect("cloned"), inbound.try_clone().expect("cloned"));
    let is_create = Arc::new(AtomicBool::new(false));
    let (was_create, dies_after) = (Arc::clone(&is_create), point == "wire-after");
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(read @ 1..) = responses.read(&mut buffer) {
            if dies_after && was_create.load(Ordering::SeqCst) {
                die();
            }
            _ = client.write_all(&buffer[..read]);
        }
    });
    let own = inbound.local_addr().expect("an address").to_string();
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = inbound.read(&mut buffer) {
        is_create.fetch_or(buffer.starts_with(b"POST"), Ordering::SeqCst);
        if point == "wire-before" && is_create.load(Ordering::SeqCst) {
            die();
        }
        // The service wants to be called by its own name.
        let request = String::from_utf8_lossy(&buffer[..read]).replace(&own, service);
        _ = outbound.write_all(request.as_bytes());
    }
}

fn text(key: &str) -> String {
    format!("It is on its way ({key}).")
}

/// The process that is killed: it makes one create.
pub(crate) fn worker(open: Open) {
    let [point, url, api_key, store, conversation, key] =
        ["POINT", "URL", "API_KEY", "STORE", "CONVERSATION", "KEY"]
            .map(|name| env::var(format!("ONCE_{name}")).expect("set by the test that starts it"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let host = url.split('/').nth(2).expect("a host").to_owned();
        let url = url.replace(&host, &deadly_way(host.clone(), point.clone()));
        let store = Deadly { inner: open(store).await, point };
        let client = builder(&url, &api_key).once_store(store).build().expect("a client");
        let id: ConversationId = conversation.parse().expect("an id");
        let reply = client.conversation(&id).reply(text(&key)).and_send().once(key).await;
        panic!("it was not killed: {reply:?}");
    });
}

/// Makes `count` creates at each point, each by a process that is killed there, then each again by one
/// process. `program` is one that calls [`worker`].
pub(crate) async fn one_item_each(open: Open, store: &str, program: &Path, count: usize) {
    let mock = MockServer::builder().empty().no_rate_limit().start().await;
    let control = mock.control();
    let address = &mock.client().mailboxes().await.expect("inboxes")[0].address;
    let mut keys = Vec::new();
    for point in POINTS {
        // Both ways to be on the wire count as one point.
        let count = if point.starts_with("wire") { count.div_ceil(2) } else { count };
        for n in 0..count {
            let mail = InboundMail::new(address, format!("kim{n}@example.com"), "Where is it?");
            let conversation = control.inbound(mail).await.expect("an email").conversation_id;
            keys.push((point, format!("{point}/{n}"), conversation));
        }
    }
    for some in keys.chunks(AT_ONCE) {
        let killed = some.iter().map(|(point, key, conversation)| {
            let mut command = Command::new(program);
            command.env("ONCE_POINT", point).env("ONCE_KEY", key).env("ONCE_STORE", store);
            command.env("ONCE_URL", mock.base_url()).env("ONCE_API_KEY", mock.live_key());
            command.env("ONCE_CONVERSATION", conversation.as_str());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process")
        });
        for mut process in killed.collect::<Vec<_>>() {
            let status = process.wait().expect("it ends");
            assert_eq!(status.code(), None, "killed, not ended: {some:?}");
        }
    }
    let client = builder(mock.base_url(), mock.live_key()).once_store(open(store.to_owned()).await).build();
    let client = client.expect("a client");
    let mut recovered = 0;
    for (point, key, conversation) in &keys {
        let thread = client.conversation(conversation);
        let reply = thread.reply(text(key)).and_send().once(key).await;
        let reply = reply.unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(!reply.replayed(), "{key}");
        assert_eq!(reply.recovered(), ["wire-after", "after-response"].contains(point), "{key}");
        recovered += usize::from(reply.recovered());
        let timeline = thread.get().await.expect("a conversation").timeline;
        let items = timeline.iter().filter_map(|item| item.as_message());
        assert_eq!(items.filter(|item| item.direction == Direction::Outbound).count(), 1, "{key}");
    }
    assert!(client.once_records().await.expect("a store").is_empty());
    println!("{} creates killed, {recovered} recovered, 0 duplicates, 0 lost", keys.len());
}

/// How many creates at each point: a few, unless `ONCE_KILLS` asks for more.
pub(crate) fn count() -> usize {
    env::var("ONCE_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}
