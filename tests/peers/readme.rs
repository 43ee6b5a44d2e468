//! What the README shows works: its commands, its settings, its dependencies and its links. (Its Rust is
//! compiled and run as doc tests.) The tour in the docs is a real one.

use std::{
    collections::HashMap,
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::generated;

use crate::{
    mcp::Session,
    run::{assert_has, blocks, command, ended, example, finish, page, program, root, text},
};

/// The cargo that runs this test, without what it told this test of its package: the build script of `ring`
/// looks at these variables.
pub(crate) fn cargo() -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        cargo.env_remove(name);
    }
    cargo
}

/// What cargo knows of the workspace.
pub(crate) fn metadata() -> Value {
    let said = cargo().args(["metadata", "--no-deps", "--offline", "--format-version=1"]).output();
    serde_json::from_slice(&said.expect("cargo runs").stdout).expect("cargo writes JSON")
}

/// That `cargo run` and `cargo build` find this example or program from the root, without being told where it
/// is or what to turn on.
fn assert_found_from_the_root(kind: &str, name: &str) {
    let all = metadata();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let default = list(&all["workspace_default_members"]);
    let members = list(&all["packages"]).into_iter().filter(|package| default.contains(&package["id"]));
    let mut targets = members.flat_map(|package| list(&package["targets"]));
    let is_it = |it: &Value| it["name"] == name && it["kind"] == json!([kind]);
    assert!(targets.any(|it| is_it(&it) && it["required-features"].is_null()), "{kind} {name}");
}

#[test]
fn every_command_in_the_readme_works() {
    let commands = blocks(&page("README.md"), "sh").concat();
    assert!(commands.lines().count() >= 2, "the README has lost its commands");
    for line in commands.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            // They run the tests, this one among them.
            ["cargo", "test", "--workspace"] | ["scripts/test-peers" | "scripts/test-stores"] => {}
            ["cargo", "build", "--bin", name] => assert_found_from_the_root("bin", name),
            ["cargo", "run", "--example", name] => {
                assert_found_from_the_root("example", name);
                assert_has(&finish(&mut example(name)), &["What to try next"]);
            }
            // It serves until somebody ends it; here not at the port of the README, which may be taken.
            ["cargo", "run", "--bin", name] => {
                assert_found_from_the_root("bin", name);
                let said = finish(command(program(name)).arg("--help"));
                assert!(said.contains("[default: 127.0.0.1:4010]"), "{said}");
                let ready = ready_line(command(program(name)).args(["--listen", "127.0.0.1:0", "--json"]));
                assert!(ready.contains("\"console_url\":"), "{ready}");
            }
            ["cargo", "run", "--bin", name, "--", ref arguments @ ..] => {
                assert_found_from_the_root("bin", name);
                finish(command(program(name)).args(arguments));
            }
            ["python3", script] => python_tests(script),
            _ => panic!("no test runs `{line}`"),
        }
    }
}

/// The first line of a server, which is ended then.
pub(crate) fn ready_line(server: &mut Command) -> String {
    let mut server = server.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut ready = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut ready).expect("a line");
    server.kill().and_then(|()| server.wait()).expect("it ends");
    ready
}

/// Runs tests in Python that start the mock's program. `-B` leaves no compiled files in the source tree.
fn python_tests(script: &str) {
    let mut python = command("python3");
    python.args(["-B", script]).env("SHARED_INBOX_MOCK", program("shared-inbox-mock"));
    let (said, status) = ended(python);
    assert!(status == Some(0) && said.contains("Ran 4 tests"), "{said}");
}

#[test]
fn the_explorer_and_the_red_team_find_what_is_wrong_with_the_app_and_the_agent_of_the_readme() {
    let readme = page("README.md");
    for (tool, found) in [("explore", "never-twice"), ("redteam", "OBEYED")] {
        let start = format!("cargo run --bin shared-inbox-mock -- {tool} ");
        let rest = readme.split_once(&start).unwrap_or_else(|| panic!("no command for {tool}")).1;
        let arguments = rest.split(['`', '\n']).next().unwrap_or_default().split(' ');
        let mut program = command(program("shared-inbox-mock"));
        program.arg(tool).args(arguments);
        let (said, status) = ended(program);
        assert!(status == Some(1) && said.contains(found), "{said}");
    }
}

/// The dependencies of a snippet, as somebody has them whose crate lies beside the clone.
#[test]
fn the_dependencies_of_every_snippet_resolve() {
    let snippets = ["README.md", "webhook-verify/README.md"].map(|file| blocks(&page(file), "toml")).concat();
    assert!(!snippets.is_empty(), "the READMEs have lost their dependencies");
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

/// What takes long to build and what the tour has no use for: a TLS library in C, stores, a second web
/// framework.
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
async fn the_mcp_settings_in_the_readme_are_those_that_the_program_prints_and_work() {
    let shown = blocks(&page("README.md"), "json");
    let settings: Value = serde_json::from_str(&shown[0]).expect("the settings are JSON");
    let server = settings["mcpServers"]["shared-inbox"].clone();
    let mut config = command(program("shared-inbox-mcp"));
    config.args(["config", "claude-desktop"]).env("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1");
    let printed = config.output().expect("the program runs").stdout;
    let mut printed: Value = serde_json::from_slice(&printed).expect("the settings are JSON");
    let own = &mut printed["mcpServers"]["shared-inbox"];
    (own["command"], own["env"]["SHARED_INBOX_API_KEY"]) =
        (server["command"].clone(), server["env"]["SHARED_INBOX_API_KEY"].clone());
    assert_eq!(settings, printed);
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

/// Another test runs what the guide shows.
#[test]
fn the_tests_in_the_readme_stand_in_the_guide() {
    let (readme, guide) = (page("README.md"), page("docs/testing.md"));
    for shown in ["python", "ts"].map(|language| blocks(&readme, language)).concat() {
        assert!(guide.contains(&shown), "docs/testing.md lacks:\n{shown}");
    }
}

#[test]
fn the_readme_promises_nothing_that_the_page_of_promises_does_not() {
    let (readme, promises) = (page("README.md"), page("docs/promises.md"));
    let list = readme.split("with tests behind each sentence:\n\n").nth(1);
    let list = list.and_then(|rest| rest.split("\n\n").next()).expect("the README has lost its promises");
    for promise in list.lines().map(|line| line.trim_start_matches("- ")) {
        assert!(promises.contains(promise), "docs/promises.md does not say: {promise}");
    }
}

#[test]
fn every_folder_that_a_page_installs_from_is_there() {
    let listed = text(&command("git").args(["ls-files", "*.md"]).output().expect("git runs").stdout);
    let mut looked = 0;
    for file in listed.lines() {
        for rest in page(file).split("cargo install --path ").skip(1) {
            let folder = rest.split(|c: char| c.is_whitespace() || c == '`').next().unwrap_or_default();
            assert!(root().join(folder).join("Cargo.toml").is_file(), "{file}: {folder}");
            looked += 1;
        }
    }
    assert!(looked > 2, "{looked}");
}

#[test]
fn every_relative_link_leads_to_a_file() {
    let listed = text(&command("git").args(["ls-files", "*.md"]).output().expect("git runs").stdout);
    let mut followed = 0;
    for file in listed.lines() {
        let text = page(file);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("//") && !link.contains([' ', '\n'])) {
            let path = link.split('#').next().unwrap_or_default();
            let here = root().join(file).parent().expect("a folder").join(path);
            assert!(here.exists(), "{file} links to {link}, which is not there");
            followed += 1;
        }
    }
    assert!(followed > 50, "{followed}");
}

/// `scripts/regenerate` writes the page anew from the run, where more has changed than what differs from run
/// to run.
#[test]
fn the_tour_in_the_docs_and_its_part_in_the_readme_are_a_real_run() {
    let file = root().join("docs/tour.md");
    let tour = finish(&mut example("tour"));
    assert!(!tour.contains('\x1b'), "colour is for terminals");
    let shown = |file: &str| lasting(&blocks(&page(file), "text").concat());
    if generated::updates() && shown("docs/tour.md") != lasting(&tour) {
        let head = "# The tour, as text\n\nWhat `cargo run --example tour` prints, from a real run. Ids, ports and times differ \
                    from run to run; a test\ncompares the rest with what the program prints now.\n";
        fs::write(file, format!("{head}\n```text\n{}```\n", tour.trim_start_matches('\n'))).expect("written");
    }
    let whole = shown("docs/tour.md");
    assert!(whole.len() > 50, "docs/tour.md has lost its tour");
    assert_eq!(whole, lasting(&tour), "`scripts/regenerate` writes docs/tour.md anew");
    let part = shown("README.md");
    assert!(part.is_empty() || whole.windows(part.len()).any(|lines| lines == part), "{part:#?}");
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
