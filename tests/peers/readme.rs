//! What the README and the docs show is true: commands run, settings work, links lead somewhere, and the tour in the docs is
//! a real one. (The README's Rust is compiled and run as doc tests of this crate.)

use std::{
    collections::HashMap,
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::Value;
use shared_inbox_mock::MockServer;

use crate::front_door::mcp::Session;
use shared_inbox_peer_tests::{
    cargo, command, example, finish, found_from_the_root, program, python, root, text,
};

fn readme() -> String {
    page("README.md")
}

fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of this language.
pub(crate) fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let after = markdown.split(&start).skip(1);
    after.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_command_in_the_readme_works() {
    let commands = blocks(&readme(), "sh").concat();
    assert!(commands.lines().count() >= 4, "the README has lost its commands");
    for line in commands.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            // It runs this test.
            ["cargo", "test", "--workspace"] => {}
            ["cargo", "build", "--bin", name] => assert!(found_from_the_root("bin", name)),
            ["cargo", "run", "--example", name] => {
                assert!(found_from_the_root("example", name));
                let said = finish(&mut example(name));
                assert!(said.contains("What to try next"), "{said}");
            }
            // It serves until somebody ends it; here not at the port of the README, which may be taken.
            ["cargo", "run", "--bin", name] => {
                assert!(found_from_the_root("bin", name));
                let said = finish(command(program(name)).arg("--help"));
                assert!(said.contains("[default: 127.0.0.1:4010]"), "{said}");
                let mut server = command(program(name));
                server.args(["--listen", "127.0.0.1:0", "--json"]).stdout(Stdio::piped());
                let mut server = server.spawn().expect("it starts");
                let mut ready = String::new();
                BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut ready).expect("a line");
                server.kill().and_then(|()| server.wait()).expect("it ends");
                assert!(ready.contains("\"console_url\":"), "{ready}");
            }
            ["cargo", "run", "--bin", name, "--", ref arguments @ ..] => {
                assert!(found_from_the_root("bin", name));
                finish(command(program(name)).args(arguments));
            }
            ["python3", script] => python(script),
            _ => panic!("no test runs `{line}`"),
        }
    }
}

/// The dependencies of a snippet, as somebody has them whose crate lies beside the clone.
#[test]
fn the_dependencies_of_every_snippet_resolve() {
    let mut snippets = blocks(&readme(), "toml");
    assert_eq!(snippets.len(), 3, "the README has lost its dependencies");
    snippets.extend(blocks(&page("webhook-verify/README.md"), "toml"));
    assert_eq!(snippets.len(), 4, "the README of the receiver has lost its dependencies");
    for dependencies in snippets {
        let here = tempfile::tempdir().expect("a directory");
        let ours = format!("\"{}/", root().display());
        let package = "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n";
        let manifest = package.to_owned() + &dependencies.replace("\"../shared-inbox/", &ours);
        fs::create_dir(here.path().join("src")).expect("a directory");
        fs::write(here.path().join("src/lib.rs"), "").expect("a file");
        fs::write(here.path().join("Cargo.toml"), manifest).expect("a file");
        fs::copy(root().join("Cargo.lock"), here.path().join("Cargo.lock")).expect("a copy");
        let tree = cargo().args(["tree", "--offline", "-e", "all"]).current_dir(here.path()).output();
        let tree = tree.expect("cargo runs");
        assert!(tree.status.success(), "{dependencies}\n{}", text(&tree.stderr));
    }
}

/// A line that installs something of ours from a registry stands where it says that this is for later.
#[test]
fn nothing_is_presented_as_released() {
    let listed =
        text(&command("git").args(["ls-files", "*.md", "llms.txt"]).output().expect("git runs").stdout);
    let later = [
        "after the first release",
        "before the first release",
        "after the release",
        "from its first release on",
    ];
    let names = [
        "shared-inbox",
        "shared-inbox-mock",
        "shared-inbox-mock-cli",
        "shared-inbox-conform",
        "shared-inbox-harness",
        "shared-inbox-explore",
        "shared-inbox-redteam",
        "shared-inbox-mcp",
        "shared-inbox-webhooks",
    ];
    let installers =
        ["pip install", "npm install", "npx", "uvx", "cargo add", "cargo install", "cargo binstall"];
    for file in listed.lines().filter(|file| !file.starts_with("docs/decisions") && *file != "CHANGELOG.md") {
        let page = fs::read_to_string(root().join(file)).expect("it is there");
        let from_registry = |line: &str| {
            let words: Vec<_> = line.split(|c: char| c.is_whitespace() || "`,".contains(c)).collect();
            installers.iter().any(|it| line.contains(it)) && words.iter().any(|word| names.contains(word))
        };
        if page.lines().any(from_registry) {
            let page = page.to_lowercase();
            assert!(
                later.iter().any(|words| page.contains(words)),
                "{file} does not say that it is for later"
            );
        }
    }
}

/// Each stop of the walks in CONTRIBUTING is a file, and no walk is longer than a newcomer can follow.
#[test]
fn the_walks_through_the_code_lead_to_files() {
    let page = page("CONTRIBUTING.md");
    let walks = page.split("## Three walks through the code").nth(1).expect("the walks");
    let walks = walks.split("\n## ").next().expect("their end");
    let walks: Vec<_> = walks.split("\n**").skip(1).collect();
    assert_eq!(walks.len(), 3);
    for (walk, most) in walks.into_iter().zip([12, 12, 15]) {
        let folder = walk.split("(`").nth(1).and_then(|rest| rest.split('`').next()).expect("a folder");
        let stops: Vec<_> =
            walk.lines().filter_map(|line| line.split_once(". `")?.1.split_once("`: ")).collect();
        assert!((8..=most).contains(&stops.len()), "{} stops in {folder}", stops.len());
        for (file, what) in stops {
            assert!(root().join(folder).join(file).is_file() && !what.is_empty(), "{folder}/{file}");
        }
    }
}

/// A page that names a file which has moved sends a newcomer to nothing.
#[test]
fn every_path_that_contributing_names_is_there() {
    let page = page("CONTRIBUTING.md");
    let folders: Vec<_> = std::fs::read_dir(root())
        .expect("the workspace")
        .flatten()
        .filter(|entry| entry.path().is_dir() && entry.file_name() != "target")
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let named = page.split(|c: char| c.is_whitespace() || "`(),;:".contains(c)).filter(|word| {
        let first = word.split_once('/').map(|(first, _)| first);
        first.is_some_and(|first| folders.iter().any(|folder| folder == first))
            && !word.contains(['*', '<', '{'])
            // Made by a run; a method of MCP.
            && !["fuzz/artifacts", "tools/call"].contains(word)
    });
    let named: Vec<_> = named.map(|word| word.trim_end_matches('.')).collect();
    assert!(named.len() > 40, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// What takes long to build and what the tour has no use for: a TLS library in C, stores, a second web framework.
#[test]
fn a_newcomer_builds_nothing_that_the_tour_does_not_need() {
    let tree = ["tree", "--offline", "--locked", "-e", "normal,build,dev", "--prefix", "none"];
    let said = text(&cargo().args(tree).output().expect("cargo runs").stdout);
    let has = |name: &str| said.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(has("rustls") && has("shared-inbox-mcp"), "{said}");
    for absent in ["aws-lc-sys", "openssl", "sqlx-core", "redis", "actix-web"] {
        assert!(!has(absent), "{absent} is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mcp_settings_in_the_readme_work() {
    let settings: Value = serde_json::from_str(&blocks(&readme(), "json")[0]).expect("the settings are JSON");
    let server = settings["mcpServers"]["shared-inbox"].clone();
    let mut config = command(program("shared-inbox-mcp"));
    config.args(["config", "claude-desktop"]).env("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1");
    let printed = config.output().expect("the program runs").stdout;
    let mut printed: Value = serde_json::from_slice(&printed).expect("the settings are JSON");
    let own = &mut printed["mcpServers"]["shared-inbox"];
    (own["command"], own["env"]["SHARED_INBOX_API_KEY"]) =
        (server["command"].clone(), server["env"]["SHARED_INBOX_API_KEY"].clone());
    assert_eq!(settings, printed, "the README shows what the program prints");
    let mock = MockServer::builder().manual_clock().start().await;
    let real: HashMap<_, _> = [
        ("SHARED_INBOX_BASE_URL", mock.base_url().to_owned()),
        ("SHARED_INBOX_API_KEY", mock.live_key().to_owned()),
    ]
    .into();
    let tools = tokio::task::spawn_blocking(move || {
        let path = Path::new(server["command"].as_str().expect("a command"));
        let mut bridge = command(program(path.file_name().and_then(OsStr::to_str).expect("a program")));
        bridge.args(server["args"].as_array().expect("arguments").iter().filter_map(Value::as_str));
        for name in server["env"].as_object().expect("an environment").keys() {
            bridge.env(name, real.get(name.as_str()).expect("a variable that the bridge reads"));
        }
        let mut session = Session::start(&mut bridge);
        let tools = session.tools();
        session.end();
        tools
    });
    let tools = tools.await.expect("the bridge answers");
    assert!(tools.iter().any(|tool| tool == "reply"), "{tools:?}");
}

#[test]
fn the_readme_promises_nothing_that_the_page_of_promises_does_not() {
    let (readme, promises) = (readme(), page("docs/promises.md"));
    let list = readme.split("What is promised, with tests behind each sentence:\n\n").nth(1);
    let list = list.and_then(|rest| rest.split("\n\n").next()).expect("the README has lost its promises");
    for promise in list.lines() {
        let promise = promise.strip_prefix("- ").expect("one line for each");
        assert!(promises.contains(promise), "docs/promises.md does not say: {promise}");
    }
}

/// Another test runs what the guide shows.
#[test]
fn the_tests_in_the_readme_stand_in_the_guide() {
    let (readme, guide) = (readme(), page("docs/testing.md"));
    for language in ["python", "ts"] {
        let shown = blocks(&readme, language);
        assert_eq!(shown.len(), 1, "the README has lost its {language}");
        assert!(guide.contains(&shown[0]), "docs/testing.md lacks:\n{}", shown[0]);
    }
}

#[test]
fn every_link_in_the_readme_leads_somewhere() {
    let readme = readme();
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let here: Vec<_> = links.filter(|link| !link.contains("://")).collect();
    assert!(here.len() > 5, "{here:?}");
    for link in here {
        let path = link.split('#').next().unwrap_or_default();
        assert!(root().join(path).exists(), "README.md links to {link}, which is not there");
    }
}

/// `UPDATE_DOCS=1` writes the page anew from the run.
#[test]
fn the_tour_in_the_docs_is_a_real_run() {
    let page = root().join("docs/tour.md");
    let tour = finish(&mut example("tour"));
    assert!(!tour.contains('\x1b'), "colour is for terminals");
    if env::var_os("UPDATE_DOCS").is_some() {
        let head = "# The tour, as text\n\nWhat `cargo run --example tour` prints, from a real run. Ids, ports and times differ \
                    from run to run; a test\ncompares the rest with what the program prints now.\n";
        fs::write(&page, format!("{head}\n```text\n{}```\n", tour.trim_start_matches('\n')))
            .expect("the page can be written");
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    let shown = blocks(&written, "text").concat();
    assert!(shown.lines().count() > 50, "docs/tour.md has lost its tour");
    let hint = "run this test with UPDATE_DOCS=1 to write docs/tour.md anew";
    for (shown, real) in lasting(&shown).iter().zip(lasting(&tour)) {
        assert_eq!(*shown, real, "{hint}");
    }
    assert_eq!(lasting(&shown).len(), lasting(&tour).len(), "{hint}");
}

#[test]
fn the_readme_shows_a_part_of_that_run() {
    let page = page("docs/tour.md");
    let part = lasting(&blocks(&readme(), "text").concat());
    let whole = lasting(&blocks(&page, "text").concat());
    assert!(part.len() > 3, "the README has lost its part of the tour");
    assert!(whole.windows(part.len()).any(|lines| lines == part), "{part:#?}");
}

/// The lines of a tour without what differs from run to run: how long things took, ids, ports, dates.
fn lasting(tour: &str) -> Vec<String> {
    let lines =
        tour.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.ends_with("… waiting"));
    let word = |word: &str| {
        let differs = |part: &str| part.contains(|c: char| c.is_ascii_digit());
        let parts = word.split(|c: char| !c.is_alphanumeric() && c != '_');
        parts.filter(|part| !differs(part)).collect::<Vec<_>>().join(" ")
    };
    let timeless = |line: &str| {
        let timed = ["s)", "ms)", "µs)"].iter().any(|unit| line.ends_with(unit));
        let line = if timed { line.rsplit_once(" (").map_or(line, |(line, _)| line) } else { line };
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    lines.map(timeless).collect()
}
