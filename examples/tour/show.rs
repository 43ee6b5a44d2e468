//! How the tour looks: a title, the line of code, what came back, how long it took.
//!
//! The code that is shown is the code that runs: [`code!`](crate::code) makes both out of the same tokens.

use std::{
    env,
    fmt::Display,
    future::Future,
    io::{self, IsTerminal, Write},
    pin::Pin,
    time::{Duration, Instant},
};

use tokio::time::{interval, sleep};

/// Whatever goes wrong on the tour.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Code as text and as a future, in one.
#[macro_export]
macro_rules! code {
    ($($code:tt)+) => {
        (stringify!($($code)+), async {
            let value = $($code)+;
            Ok::<_, $crate::show::Error>(value)
        })
    };
}

/// No line of the tour is longer, so that it fits in a small window.
const WIDTH: usize = 96;
const INDENT: &str = "     ";
/// How long a call may take before the tour says that it waits.
const PATIENCE: Duration = Duration::from_millis(400);

/// The narrator.
pub(crate) struct Show {
    colour: bool,
    terminal: bool,
    step: u32,
    started: Instant,
}

/// A style of the terminal, by its number.
#[derive(Clone, Copy)]
enum Style {
    Bold = 1,
    Dim = 2,
    Code = 36,
    Result = 32,
}

impl Show {
    /// Colour and movement where the terminal has them, plain text where not.
    pub(crate) fn new() -> Self {
        let terminal = io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colour = terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colour, terminal, step: 0, started: Instant::now() }
    }

    /// How long the tour has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Begins a step.
    pub(crate) fn step(&mut self, title: &str) {
        self.step += 1;
        self.line(format_args!("\n{}", self.paint(Style::Bold, format_args!("{:>3}  {title}", self.step))));
    }

    /// Prints a line. Nobody may be reading any more, as behind `| head`; that is no reason to stop.
    pub(crate) fn line(&self, text: impl Display) {
        _ = writeln!(io::stdout(), "{text}");
    }

    /// Says something in whole sentences.
    pub(crate) fn say(&self, text: &str) {
        for line in fill(text, WIDTH - INDENT.len()) {
            self.line(format_args!("{INDENT}{line}"));
        }
    }

    /// Shows the code, runs it, and shows what `saw` makes of the value that came back.
    pub(crate) async fn run<T, S: Display>(
        &self,
        (code, call): (&str, impl Future<Output = Result<T, Error>>),
        saw: impl FnOnce(&T) -> S,
    ) -> Result<T, Error> {
        for line in wrap(code, WIDTH - INDENT.len()) {
            self.line(format_args!("{INDENT}{}", self.paint(Style::Code, line)));
        }
        let started = Instant::now();
        let value = self.watch(Box::pin(call)).await?;
        self.result(&saw(&value).to_string(), started.elapsed());
        Ok(value)
    }

    /// Shows what came back. The time stands behind the first line, a list goes on below it.
    fn result(&self, saw: &str, took: Duration) {
        let took = self.paint(Style::Dim, format_args!("({})", time(took)));
        let mut results = saw.lines().map(|line| fill(line, WIDTH - INDENT.len() - 4).join("\n"));
        let first = format!("{} {took}", results.next().unwrap_or_default());
        let lines: Vec<_> = std::iter::once(first).chain(results).collect();
        let text = lines.join("\n").replace('\n', &format!("\n{INDENT}    "));
        self.line(format_args!("{INDENT}  {} {text}", self.paint(Style::Result, "→")));
    }

    /// Awaits something, and shows that time passes when it takes long. Boxed, so that the fifty calls of the
    /// tour are compiled by their types and not each by itself.
    async fn watch<T>(&self, mut call: Pin<Box<dyn Future<Output = T> + '_>>) -> T {
        tokio::select! {
            biased;
            value = &mut call => return value,
            () = sleep(PATIENCE) => {}
        }
        if !self.terminal {
            self.line(format_args!("{INDENT}  … waiting"));
            return call.await;
        }
        let waiting = Instant::now();
        let mut tick = interval(Duration::from_millis(100));
        let mut frames = ['⠋', '⠙', '⠸', '⠴', '⠦', '⠇'].into_iter().cycle();
        loop {
            tokio::select! {
                biased;
                value = &mut call => {
                    self.status("");
                    return value;
                }
                _ = tick.tick() => {
                    let frame = frames.next().unwrap_or(' ');
                    let so_far = (waiting.elapsed() + PATIENCE).as_secs_f32();
                    self.status(&self.paint(Style::Dim, format_args!("{frame} {so_far:.1} s")));
                }
            }
        }
    }

    /// Writes over the line that shows how time passes.
    fn status(&self, text: &str) {
        let mut out = io::stdout();
        _ = write!(out, "\r\x1b[K{INDENT}  {text}");
        if text.is_empty() {
            _ = write!(out, "\r");
        }
        _ = out.flush();
    }

    fn paint(&self, style: Style, text: impl Display) -> String {
        if self.colour { format!("\x1b[{}m{text}\x1b[0m", style as u8) } else { text.to_string() }
    }
}

/// A short time in a unit that suits it.
fn time(took: Duration) -> String {
    match took.as_secs_f64() {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

/// Breaks code before the calls of a chain, as a formatter would, when it is too long for one line.
fn wrap(code: &str, width: usize) -> Vec<String> {
    // The compiler puts a line break where the source had one.
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    if code.chars().count() <= width {
        return vec![code];
    }
    let mut lines = vec![String::new()];
    let (mut depth, mut quoted, mut previous) = (0_u32, false, ' ');
    for c in code.chars() {
        match c {
            '"' if previous != '\\' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            // The first call stays with what it is called on.
            '.' if !quoted && depth == 0 && previous == ')' => lines.push("    ".to_owned()),
            _ => {}
        }
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
        previous = c;
    }
    lines
}

/// Breaks a line that is too long between words.
fn fill(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines
            .last()
            .is_some_and(|line| !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
