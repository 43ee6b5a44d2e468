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
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    task::JoinHandle,
};

#[cfg(target_os = "linux")]
use crate::process::process_tree;

/// Lines of its output that are kept, and characters of each.
const MAX_LINES: usize = 10;
const MAX_CHARACTERS: usize = 300;
/// How much of a line is read; the rest of a longer one is left out.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// How long the rest of its output is waited for when the command has ended: something that it started may
/// hold it open.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(200);
/// The names of the variables that are about the service.
const VARIABLE_PREFIX: &[u8] = b"SHARED_INBOX_";

/// Why an app could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The command has no words.
    #[error("a command is required after `--`")]
    NoCommand,
    /// There is no such program.
    #[error("{0} cannot be started: there is no such program")]
    NoSuchProgram(String),
    /// The system did not start it.
    #[error("{program} cannot be started: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system has no thread for a function.
    #[error("the app cannot be started: {0}")]
    NoThread(std::io::Error),
}

/// How a command is started.
pub struct Launch<'a> {
    /// What is put in front of the command.
    pub launcher: &'a [OsString],
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Variables that it gets beside the environment of this process.
    pub variables: Vec<(&'static str, OsString)>,
    /// What is left out of its output.
    pub secrets: Vec<String>,
    /// Where it is an agent.
    pub agent: Option<AgentLaunch>,
}

/// What differs for an agent: it gets no other variables about the service, its stdout is kept too, and on
/// Linux it ends with children that left its group.
pub struct AgentLaunch {
    /// What it reads from stdin.
    pub input: String,
    /// A variable that no other process has, as `NAME=VALUE`. Children inherit it.
    pub marker: OsString,
}

/// A process of the app, with all that it started. None outlives this value.
pub struct Process {
    pub(crate) child: Child,
    output: LastLines,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    #[cfg(target_os = "linux")]
    marker: Option<OsString>,
}

impl std::fmt::Debug for Launch<'_> {
    /// Without the variables, which hold a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("command", &self.command).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AgentLaunch {
    /// Without what it reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentLaunch").finish_non_exhaustive()
    }
}

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    ///
    /// When there is no such program, or it cannot be started.
    pub fn start(launch: Launch<'_>) -> Result<Self, StartError> {
        let Launch { launcher, command, variables, secrets, agent } = launch;
        let program = command.first().ok_or(StartError::NoCommand)?;
        let named = || program.to_string_lossy().into_owned();
        if !launcher.is_empty() && find_program(program).is_none() {
            return Err(StartError::NoSuchProgram(named()));
        }
        let mut words = launcher.iter().chain(command);
        let mut process = Command::new(words.next().unwrap_or(program));
        process
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if agent.is_some() {
            process.stdin(Stdio::piped()).stdout(Stdio::piped());
            for (name, _) in env::vars_os() {
                if name.as_encoded_bytes().starts_with(VARIABLE_PREFIX) {
                    process.env_remove(name);
                }
            }
        }
        process.envs(variables);
        // What it starts belongs to its group, and ends with it.
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn().map_err(|source| StartError::Spawn { program: named(), source })?;
        #[cfg(unix)]
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        let mut output = LastLines::default();
        if let Some(stderr) = child.stderr.take() {
            output.read(stderr, secrets.clone());
        }
        if let Some(stdout) = child.stdout.take() {
            output.read(stdout, secrets);
        }
        if let (Some(mut stdin), Some(agent)) = (child.stdin.take(), &agent) {
            let input = agent.input.clone();
            // It need not read it.
            tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
        }
        Ok(Self {
            output,
            child,
            #[cfg(unix)]
            group,
            #[cfg(target_os = "linux")]
            marker: agent.map(|agent| agent.marker),
        })
    }

    /// Returns the last lines of its output that is kept.
    pub async fn last_lines(&mut self) -> Vec<String> {
        self.output.get().await
    }

    /// Kills it and all that it started, and waits until it is gone.
    pub(crate) async fn end(mut self) {
        self.kill();
        let _ = self.child.kill().await;
    }

    fn kill(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(marker) = self.marker.take() {
            process_tree::kill(self.child.id(), &marker);
        }
        #[cfg(unix)]
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl std::fmt::Debug for Process {
    /// Without what it printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("id", &self.child.id()).finish_non_exhaustive()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads streams to their ends and keeps the last lines.
#[derive(Default)]
struct LastLines {
    kept: Arc<Mutex<VecDeque<String>>>,
    readings: Vec<JoinHandle<()>>,
}

impl LastLines {
    fn read(&mut self, stream: impl AsyncRead + Unpin + Send + 'static, secrets: Vec<String>) {
        let into = Arc::clone(&self.kept);
        self.readings.push(tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
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
        }));
    }

    async fn get(&mut self) -> Vec<String> {
        let all = futures_util::future::join_all(&mut self.readings);
        let _ = tokio::time::timeout(OUTPUT_TIMEOUT, all).await;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

impl Drop for LastLines {
    fn drop(&mut self) {
        self.readings.iter().for_each(JoinHandle::abort);
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
