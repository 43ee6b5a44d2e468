//! A command with everything that it starts: its environment, its last words, its end.

use std::{
    collections::VecDeque,
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    task::JoinHandle,
};

/// Lines of stderr that are kept, and characters of each.
const MAX_LINES: usize = 10;
const MAX_CHARACTERS: usize = 300;
/// How much of a line is read; the rest of a longer one is left out.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// How long the rest of stderr is waited for when the command has ended: something that it started may hold it open.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

/// A process of the app, with all that it started. None outlives this value.
pub(crate) struct Process {
    pub(crate) child: Child,
    stderr: Option<LastLines>,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Process {
    /// Starts a command, `launcher` in front of it. What it prints is kept without the `secrets`.
    pub(crate) fn start(
        launcher: &[OsString],
        command: &[OsString],
        variables: Vec<(&str, OsString)>,
        secrets: Vec<String>,
    ) -> Result<Self, String> {
        let program = command.first().ok_or("a command is required after `--`")?;
        let named = program.to_string_lossy();
        if !launcher.is_empty() && find_program(program).is_none() {
            return Err(format!("{named} cannot be started: there is no such program"));
        }
        let mut words = launcher.iter().chain(command);
        let mut process = Command::new(words.next().unwrap_or(program));
        process.args(words).envs(variables);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        // What it starts belongs to its group, and ends with it.
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn().map_err(|error| format!("{named} cannot be started: {error}"))?;
        #[cfg(unix)]
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        Ok(Self {
            stderr: child.stderr.take().map(|stderr| LastLines::read(stderr, secrets)),
            child,
            #[cfg(unix)]
            group,
        })
    }

    /// Returns the last lines that it wrote to stderr.
    pub(crate) async fn last_lines(&mut self) -> Vec<String> {
        match &mut self.stderr {
            Some(stderr) => stderr.get().await,
            None => Vec::new(),
        }
    }

    /// Kills it and all that it started, and waits until it is gone.
    pub(crate) async fn end(mut self) {
        self.kill();
        let _ = self.child.kill().await;
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads a stream to its end and keeps its last lines.
struct LastLines {
    kept: Arc<Mutex<VecDeque<String>>>,
    reading: JoinHandle<()>,
}

impl LastLines {
    fn read(stderr: ChildStderr, secrets: Vec<String>) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let into = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let mut stream = BufReader::new(stderr);
            let mut line = Vec::new();
            let mut continues = false;
            while (&mut stream)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|read| read > 0)
            {
                let is_rest = std::mem::replace(&mut continues, !line.ends_with(b"\n"));
                if is_rest {
                    line.clear();
                    continue;
                }
                let mut text = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
                    text = text.replace(secret.as_str(), "…");
                }
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(text.chars().filter(|c| !c.is_control()).take(MAX_CHARACTERS).collect());
                if kept.len() > MAX_LINES {
                    kept.pop_front();
                }
            }
        });
        Self { kept, reading }
    }

    async fn get(&mut self) -> Vec<String> {
        let _ = tokio::time::timeout(STDERR_TIMEOUT, &mut self.reading).await;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

impl Drop for LastLines {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Returns where a program is: at its path, or on the search path.
fn find_program(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}
