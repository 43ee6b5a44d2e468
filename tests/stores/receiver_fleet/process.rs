//! A receiver of the fleet (`bins/receiver.rs`), as the tests see it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::roles::Role;

/// How long a process may take to say or to do something: the machine may have much else to do.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(120);

/// What the receivers on each store said through `tracing`.
static TRACED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// The lines that the receivers on this store have said about an event. Whole when they have ended.
pub(crate) fn traced(store: &str, event: &str) -> Vec<String> {
    let traced = TRACED.lock().expect("nobody panicked");
    let about = |line: &&String| line.contains(&format!("event=\"{event}\""));
    traced.iter().filter(|(own, _)| own == store).map(|(_, line)| line).filter(about).cloned().collect()
}

/// A process under way. It ends with this value.
pub(crate) struct Process {
    child: Child,
    reading: Option<JoinHandle<()>>,
    lines: Mutex<mpsc::Receiver<String>>,
    input: Mutex<ChildStdin>,
    pub(crate) url: String,
}

impl Process {
    pub(crate) fn start(role: Role, store: &str, lease: Duration) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_receiver"))
            .env("RECEIVER_ROLE", format!("{role:?}"))
            .env("RECEIVER_STORE", store)
            .env("RECEIVER_LEASE_MS", lease.as_millis().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let (send, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its words"));
        let own_store = store.to_owned();
        let reading = std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if line.contains(" WARN ") || line.contains(" ERROR ") {
                    TRACED.lock().expect("nobody panicked").push((own_store.clone(), line));
                } else if send.send(line).is_err() {
                    return;
                }
            }
        });
        let (lines, input) = (Mutex::new(lines), Mutex::new(child.stdin.take().expect("its ear")));
        let mut process = Self { child, reading: Some(reading), lines, input, url: String::new() };
        process.url = process.hears("listening on ");
        process
    }

    /// What it says after this word.
    pub(crate) fn hears(&self, word: &str) -> String {
        loop {
            let lines = self.lines.lock().expect("nobody panicked");
            let line = lines.recv_timeout(PROCESS_TIMEOUT).expect("it says so in time");
            if let Some(at) = line.find(word) {
                return line[at + word.len()..].to_owned();
            }
        }
    }

    pub(crate) fn go_on(&self) {
        let mut input = self.input.lock().expect("nobody panicked");
        input.write_all(b"go on\n").expect("it listens");
    }

    /// Lets it stand still. The signal is sent when `kill` returns, and has arrived when every thread says
    /// so.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
        let begun = Instant::now();
        while !self.stands_still() {
            assert!(begun.elapsed() < PROCESS_TIMEOUT, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn stands_still(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("its threads");
        // `id (name) state …`, where a name may have anything in it.
        let state = |thread: fs::DirEntry| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        threads.map(|thread| state(thread.expect("a thread"))).all(|state| state == Some('T'))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().expect("kill").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill(); // SIGKILL: it gets no time for a last word
        _ = self.child.wait();
        if let Some(reading) = self.reading.take() {
            _ = reading.join();
        }
    }
}
