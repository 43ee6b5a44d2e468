//! The files that reports are written to, in the forms that the tools have in common.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::page::{self, Tool};

/// Every form of a report.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReportFiles {
    /// Write the report here, as JSON; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report here, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    pages: PageFiles,
}

/// Forms of a report for people.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PageFiles {
    /// Write the report here, as one page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the report here in short, as Markdown, such as for $GITHUB_STEP_SUMMARY; `-` is stdout
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Returns whether a path means stdout.
pub(crate) fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

impl ReportFiles {
    fn named(&self) -> [(&'static str, Option<&Path>); 4] {
        let [html, markdown] = self.pages.named();
        [("--json", self.json.as_deref()), ("--junit", self.junit.as_deref()), html, markdown]
    }

    /// Makes each file before a run of minutes, so that it does not end with a report that has no place.
    pub(crate) fn reserve(&self) -> Result<ReservedFiles, String> {
        ReservedFiles::reserve(self.named())
    }

    /// Prints for people: to stdout, unless a report goes there.
    pub(crate) fn say(&self, text: &str) {
        say(&self.named(), text);
    }

    /// Writes the report of a tool.
    pub(crate) fn write(&self, tool: Tool, report: &impl Serialize, junit: &str) -> Result<(), String> {
        if let Some(file) = &self.json {
            write_json(file, report)?;
        }
        if let Some(file) = &self.junit {
            write("--junit", file, junit)?;
        }
        self.pages.write(tool, &serde_json::to_value(report).map_err(|error| error.to_string())?)
    }
}

impl PageFiles {
    fn named(&self) -> [(&'static str, Option<&Path>); 2] {
        [("--html", self.html.as_deref()), ("--markdown", self.markdown.as_deref())]
    }

    /// Prints for people: to stdout, unless a report goes there.
    pub(crate) fn say(&self, text: &str) {
        say(&self.named(), text);
    }

    /// Writes the report of a tool, as its `--json` has it, and what changed since an earlier one.
    pub(crate) fn write(&self, tool: Tool, report: &Value) -> Result<(), String> {
        let given = self.named().into_iter().filter_map(|(flag, file)| Some((flag, file?)));
        check_distinct(&given.collect::<Vec<_>>())?;
        if let Some(file) = &self.html {
            write("--html", file, &page::html(tool, report))?;
        }
        if let Some(file) = &self.markdown {
            write("--markdown", file, &page::markdown(tool, report))?;
        }
        Ok(())
    }
}

fn say(reports: &[(&str, Option<&Path>)], text: &str) {
    let _ = match reports.iter().any(|(_, file)| file.is_some_and(is_stdout)) {
        true => io::stderr().write_all(text.as_bytes()),
        false => io::stdout().write_all(text.as_bytes()),
    };
    let _ = io::stdout().flush();
}

/// Writes a report to a file, or to stdout where it is `-`.
fn write(flag: &str, file: &Path, text: &str) -> Result<(), String> {
    let written = match is_stdout(file) {
        true => io::stdout().write_all(text.as_bytes()),
        // What a step of a workflow has in its summary already stays there.
        false if flag == "--markdown" && Some(file) == summary_file().as_deref() => append(file, text),
        false => fs::write(file, text),
    };
    written.map_err(|error| format!("{flag} {}: cannot be written: {error}", file.display()))
}

/// Writes a document as JSON, whole or not at all.
pub(crate) fn write_json(file: &Path, document: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(document).map_err(|error| error.to_string())? + "\n";
    if is_stdout(file) {
        // A closed pipe is no failure.
        let _ = io::stdout().write_all(text.as_bytes());
        return Ok(());
    }
    let cannot = |error: io::Error| format!("--json {}: cannot be written: {error}", file.display());
    let mut name = file.as_os_str().to_owned();
    name.push(".tmp");
    // By rename, so that a reader or a crash never meets half of it.
    if fs::metadata(file).is_ok_and(|it| !it.is_file()) {
        return fs::write(file, text).map_err(cannot);
    }
    let written = fs::write(&name, &text).and_then(|()| fs::rename(&name, file));
    written.inspect_err(|_| drop(fs::remove_file(&name))).map_err(cannot)
}

/// Returns the file of a workflow's step that several programs may add to.
fn summary_file() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from)
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}

/// Refuses two reports to one file, or to stdout: the second would overwrite the first. A device takes
/// several.
fn check_distinct(files: &[(&'static str, &Path)]) -> Result<(), String> {
    // Links to the same file are the same file, whatever they are called.
    let place = |file: &Path| {
        if is_stdout(file) { file.to_owned() } else { file.canonicalize().unwrap_or(file.to_owned()) }
    };
    let is_device = |file: &Path| !is_stdout(file) && fs::metadata(file).is_ok_and(|it| !it.is_file());
    for (n, (flag, file)) in files.iter().enumerate().filter(|(_, (_, file))| !is_device(file)) {
        if let Some((first, _)) = files[..n].iter().find(|(_, other)| place(other) == place(file)) {
            return Err(format!("{flag} {}: {first} writes there already", file.display()));
        }
    }
    Ok(())
}

/// Files for reports, made before a run of minutes so that it does not end with a report that has no place.
/// Those that were not there before are removed again when the run could not be made.
#[derive(Default)]
pub(crate) struct ReservedFiles(Vec<PathBuf>);

impl ReservedFiles {
    /// Makes each file that is named, unless it is stdout.
    fn reserve<'f>(
        files: impl IntoIterator<Item = (&'static str, Option<&'f Path>)>,
    ) -> Result<Self, String> {
        let (mut reserved, mut taken) = (Self::default(), Vec::new());
        for (flag, file) in files.into_iter().filter_map(|(flag, file)| Some((flag, file?))) {
            if !is_stdout(file) {
                let is_new = !file.exists();
                let opened = fs::OpenOptions::new().create(true).append(true).open(file);
                opened.map_err(|error| format!("{flag} {}: cannot be written: {error}", file.display()))?;
                if is_new {
                    reserved.0.push(file.to_owned());
                }
            }
            taken.push((flag, file));
        }
        check_distinct(&taken)?;
        Ok(reserved)
    }

    /// Lets the files stay.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for ReservedFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}
