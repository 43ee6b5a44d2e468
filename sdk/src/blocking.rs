//! How to use the client in a program that has no `async`: a script, a cron job, a plugin, a thread of a GUI.
//!
//! Make one current-thread runtime of tokio, keep it beside the client, and run every call on it, from any
//! thread:
//!
//! ```
//! use shared_inbox::Client;
//!
//! struct Inbox {
//!     runtime: tokio::runtime::Runtime,
//!     client: Client,
//! }
//!
//! impl Inbox {
//!     fn connect(base_url: &str, key: &str) -> Result<Self, Box<dyn std::error::Error>> {
//!         let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!         Ok(Self { runtime, client: Client::builder(base_url, key).build()? })
//!     }
//!
//!     fn open_subjects(&self) -> shared_inbox::Result<Vec<String>> {
//!         let open = self.runtime.block_on(self.client.conversations().into_future())?;
//!         Ok(open.into_iter().map(|summary| summary.subject).collect())
//!     }
//! }
//!
//! # // A service that has one conversation and keeps its connections open: what it takes to run this page.
//! # let service = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let base_url = format!("http://{}/api/v1", service.local_addr()?);
//! # std::thread::spawn(move || {
//! #     use std::io::{Read, Write};
//! #     let list = r#"[{"id":"cnv_1","subject":"Refund","snippet":"","status":"open","contact":{"name":null,"email":null},
//! #         "mailbox":"Help","lastMessageAt":"2026-03-01T09:30:00.000Z","messageCount":1,"assignee":null,"tags":[],"topic":null,
//! #         "urgency":null,"risk":null}]"#;
//! #     let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{list}", list.len());
//! #     for mut caller in service.incoming().flatten() {
//! #         let response = response.clone();
//! #         std::thread::spawn(move || {
//! #             while let Ok(1..) = caller.read(&mut [0; 4096]) {
//! #                 let _ = caller.write_all(response.as_bytes());
//! #             }
//! #         });
//! #     }
//! # });
//! # let key = format!("rk_test_{}", "a1".repeat(24));
//! let inbox = Inbox::connect(&base_url, &key)?;
//! std::thread::scope(|scope| {
//!     let threads = [(); 3].map(|()| scope.spawn(|| inbox.open_subjects()));
//!     threads.into_iter().try_for_each(|thread| {
//!         assert_eq!(thread.join().unwrap()?, ["Refund"]);
//!         Ok::<(), shared_inbox::Error>(())
//!     })
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `tokio` needs its feature `rt`; the rest comes with this crate.
//!
//! # What may be shared
//!
//! | | between threads | between runtimes |
//! |---|---|---|
//! | [`Client`](crate::Client) and its clones | yes | only between runtimes that run all the time, such as those of `#[tokio::main]` |
//! | [`MemoryLimiter`](crate::rate_limit::MemoryLimiter), one in a store | yes, in an `Arc` | yes, between any: make a client for each runtime |
//! | a call or stream that has begun | it can be moved | no: finish or drop it on the runtime that it began on |
//!
//! A client keeps its connections open, and each belongs to the runtime that opened it. A current-thread
//! runtime does nothing between two calls of `block_on`, so on its connections a call from another runtime
//! stands still until the [`timeout`](crate::ClientBuilder::timeout) of its attempt. For the same reason a
//! call that was spawned and is not awaited stands still, and keeps its place in the rate limit and its turn
//! in a conversation meanwhile.
//!
//! `block_on` panics inside a runtime: code that is called from `async` code awaits instead. A stream is read
//! by blocking for each item, `while let Some(change) = runtime.block_on(changes.next()) { … }`; nothing is
//! lost between two of them.
