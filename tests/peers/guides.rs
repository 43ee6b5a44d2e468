//! The guides and the skills: every file that they show works, and every command runs, in the order in which
//! they stand.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

use crate::{
    fixtures::project::{NEWEST_VITEST, node_packages, python_packages},
    mcp::Session,
    readme::{cargo, ready_line},
    run::{blocks, command, ended, finish, newcomer, node_modules, page, program, root, text, unpack},
};

const TESTING: &str = "docs/testing.md";
const SKILLS: [&str; 2] =
    ["docs/skills/test-with-shared-inbox/SKILL.md", "docs/skills/work-in-shared-inbox/SKILL.md"];

/// The commands of a page, as words. Those of a list are indented.
fn commands(markdown: &str) -> Vec<Vec<String>> {
    let plain: String = markdown.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let lines = blocks(&plain, "sh").concat();
    lines.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// An app whose tests run as a page says. Our packages stand beside it as they are in the repository:
/// `scripts/check-packages` installs those that are packed.
struct App {
    home: tempfile::TempDir,
    python: Option<PathBuf>,
    modules: Option<PathBuf>,
}

impl App {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a directory"), python: None, modules: None }
    }

    fn newcomer(&self, program: &Path) -> Command {
        let mut command = newcomer(program, self.home.path());
        command.env("SHARED_INBOX_MOCK", program_of_the_mock());
        command
    }

    fn pytest(&self) -> Command {
        let mut pytest = self.newcomer(self.python.as_ref().expect("the page installs it"));
        pytest.args([
            "-m",
            "pytest",
            "-q",
            "-p",
            "shared_inbox_mock.pytest_plugin",
            "-p",
            "no:cacheprovider",
        ]);
        pytest.env("PYTHONPATH", root().join("tools/cli/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        pytest
    }

    /// A script of a package for Node.
    fn node(&self, script: &str) -> Command {
        let mut node = self.newcomer(&peers::node22());
        node.arg(self.modules.as_ref().expect("the page installs it").join(script));
        node
    }

    fn install_npm(&mut self) {
        let package = self.home.path().join("package.json");
        fs::write(package, r#"{"private": true, "type": "module"}"#).expect("a file");
        self.modules = Some(node_modules(&node_packages(NEWEST_VITEST), self.home.path()));
    }

    /// Does what a line says, as far as a test can: nothing of ours is in a registry before its release.
    fn follow(&mut self, words: &[&str]) {
        match words {
            // The clone lies beside the app.
            ["pip", "install", "../shared-inbox/tools/cli/python", "pytest"] => {
                self.python = Some(python_packages());
            }
            ["../shared-inbox/scripts/pack-mock", "npm"] => {
                assert!(root().join("scripts/pack-mock").is_file())
            }
            ["npm", "install", "--save-dev", "../shared-inbox/dist/*.tgz", "vitest"] => self.install_npm(),
            ["cargo", "add", options @ .., "--path", path] => {
                assert!(matches!(options, [] | ["--dev"]));
                let folder = path.strip_prefix("../shared-inbox/").expect("the clone");
                assert!(root().join(folder).join("Cargo.toml").is_file(), "{path}");
            }
            ["cargo", "add", "--dev", "tokio", "--features", "macros,rt"] => {}
            // These are for after the release.
            ["pip", "install", "shared-inbox-mock", "pytest"] => {
                assert!(page("tools/cli/python/pyproject.toml").contains("name = \"shared-inbox-mock\""));
                self.python = Some(python_packages());
            }
            ["npm", "install", "--save-dev", "shared-inbox-mock", "vitest"] => self.install_npm(),
            ["cargo", "add", "--dev", package] => {
                let known = cargo().args(["pkgid", "--offline", "-p", package]).output().expect("cargo runs");
                assert!(known.status.success(), "{}", text(&known.stderr));
            }
            // What it builds is made by the tests of a release; the same lines stand in the Dockerfile.
            ["cargo", "build", "--release", ..] | ["docker", "build" | "run", ..] => {
                let line = words.join(" ");
                assert!(page("tools/cli/Dockerfile").contains(&line), "{line} is not in the Dockerfile");
            }
            ["pytest"] => {
                let said = finish(&mut self.pytest());
                assert!(said.contains(" passed"), "{said}");
            }
            // It finds what the page says; another test looks at the words.
            ["pytest", file] => {
                let mut pytest = self.pytest();
                pytest.arg(file);
                let (said, _) = ended(pytest);
                assert!(said.contains("1 failed"), "{said}");
            }
            ["npx", "vitest", "run"] => {
                let said = finish(self.node("vitest/vitest.mjs").arg("run"));
                assert!(said.contains(" passed"), "{said}");
                let tests = fs::read_dir(self.home.path()).expect("a directory").flatten();
                let tests =
                    tests.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".ts"));
                let strict = ["--strict", "--noEmit", "--module", "esnext", "--moduleResolution", "bundler"];
                let also = ["--target", "es2022", "--skipLibCheck", "--preserveSymlinks", "--types", "node"];
                finish(self.node("typescript/bin/tsc").args(strict).args(also).args(tests));
            }
            // Cargo runs `guide.rs` like this test; another test holds it to the page.
            ["cargo", "test"] => assert!(root().join("examples/tests/guide.rs").exists()),
            ["shared-inbox-mock", arguments @ ..] => {
                let line = ready_line(command(program_of_the_mock()).args(arguments));
                let ready: Value = serde_json::from_str(&line).expect("one line of JSON");
                assert!(ready["base_url"].is_string() && ready["control_url"].is_string(), "{ready}");
            }
            other => panic!("no test runs `{}`", other.join(" ")),
        }
    }
}

fn program_of_the_mock() -> PathBuf {
    program("shared-inbox-mock")
}

/// Every command of the page, in an app that consists of these files.
fn follow(app: &mut App, markdown: &str) {
    let commands = commands(markdown);
    assert!(commands.len() >= 6, "the page has lost its commands");
    for words in commands {
        app.follow(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn the_guide_to_testing_can_be_followed_and_a_failure_looks_as_shown() {
    let guide = page(TESTING);
    let mut app = App::new();
    unpack(&guide, app.home.path());
    follow(&mut app, &guide);

    let source = app.home.path().join("app.py");
    let other = fs::read_to_string(&source).expect("the app").replace("Your order", "The order");
    fs::write(source, other).expect("a file");
    let (failed, status) = ended(app.pytest());
    assert_ne!(status, Some(0));
    let mut pytest = app.pytest();
    pytest.arg("bad_day.py");
    let said = failed + &ended(pytest).0;
    let shown = blocks(&guide, "text").concat();
    assert!(shown.lines().count() > 5, "the guide has lost its failure");
    for piece in shown.lines().flat_map(|line| line.split('…')) {
        assert!(said.contains(piece.trim_end_matches('-')), "{piece} is not in {said}");
    }
}

#[test]
fn the_rust_of_the_guide_is_tested() {
    let ours = page("examples/tests/guide.rs");
    let (_, code) = ours.split_once("\n\n").expect("a comment, an empty line, and the code");
    let shown = blocks(&page(TESTING), "rust");
    assert_eq!(shown.join("\n"), code, "docs/testing.md and examples/tests/guide.rs differ");
}

#[test]
fn the_skill_for_tests_can_be_followed_in_the_app_of_the_guide() {
    let skill = page(SKILLS[0]);
    let mut app = App::new();
    unpack(&page(TESTING), app.home.path());
    unpack(&skill, app.home.path());
    follow(&mut app, &skill);
}

/// Whoever follows a page about the bridge: a home, variables, and a service with these inboxes.
struct Person<'a> {
    home: &'a Path,
    mock: &'a MockServer,
    variables: HashMap<String, String>,
}

impl Person<'_> {
    fn bridge(&self) -> Command {
        let mut bridge = newcomer(program("shared-inbox-mcp"), self.home);
        bridge.envs(&self.variables);
        bridge
    }

    fn follow(&mut self, words: &[&str]) {
        match words {
            ["export", set] => {
                let (name, value) = set.split_once('=').expect("a name and a value");
                let real = match (name, value) {
                    ("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1") => self.mock.base_url(),
                    ("SHARED_INBOX_API_KEY", "rk_live_...") => self.mock.live_key(),
                    _ => panic!("no test knows `{set}`"),
                };
                self.variables.insert(name.to_owned(), real.to_owned());
            }
            ["shared-inbox-mcp", arguments @ ..] => {
                let said = finish(self.bridge().args(arguments));
                let has = |word: &str| said.contains(word);
                match arguments {
                    [.., "doctor"] => assert!(has("It works."), "{said}"),
                    [.., "config", client, "--write"] => self.use_settings(client),
                    [.., "config", _] => assert!(has("shared-inbox") && has("--sandbox"), "{said}"),
                    other => panic!("no test looks at what {other:?} does"),
                }
                let tools = said.lines().find(|line| line.contains("tools shown:")).unwrap_or_default();
                let hidden: &[&str] = match arguments[0].split('=').next() {
                    Some("--read-only") => &["add_note", "set_status", "reply", "record_sent"],
                    Some("--exclude-tools") => &["reply", "request_documents"],
                    Some("--mailbox") => &["record_sent"],
                    _ => return,
                };
                assert!(tools.contains("get_conversation"), "{said}");
                assert!(hidden.iter().all(|tool| !tools.contains(tool)), "{said}");
            }
            other => panic!("no test runs `{}`", other.join(" ")),
        }
    }

    /// Starts the bridge as the client would from now on, and has a model try to mail somebody.
    fn use_settings(&self, client: &str) {
        let file = if client == "cursor" { ".cursor/mcp.json" } else { ".mcp.json" };
        let settings = fs::read_to_string(self.home.join(file)).expect("it was written");
        let settings: Value = serde_json::from_str(&settings).expect("JSON");
        let server = &settings["mcpServers"]["shared-inbox"];
        let mut bridge = newcomer(server["command"].as_str().expect("a command"), self.home);
        bridge.args(server["args"].as_array().expect("arguments").iter().filter_map(Value::as_str));
        // Some clients hold the values, some take them from the environment.
        let held = server["env"].as_object().expect("variables").iter();
        let held = held.filter_map(|(name, value)| Some((name, value.as_str()?)));
        bridge.envs(&self.variables).envs(held.filter(|(_, value)| !value.starts_with("${")));
        let mut session = Session::start(&mut bridge);
        let list = session.call("list_conversations", json!({ "limit": 1 }));
        let id = &list["items"][0]["id"];
        let made = session.call("reply", json!({ "id": id, "body": "A word of ours.", "send": true }));
        assert_eq!(made["status"], "draft", "{made}");
        session.end();
        let audit = fs::read_to_string(self.home.join("audit.jsonl")).expect("the audit");
        let lines: Vec<Value> =
            audit.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let outcome = lines.iter().rfind(|line| line["tool"] == "reply").expect("a line for the reply");
        assert!(outcome["outcome"] == "draft" && &outcome["conversation"] == id, "{outcome}");
        assert!(!audit.contains("A word of ours"), "{audit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_safety_and_its_skill_can_be_followed() {
    for path in ["docs/safety.md", SKILLS[1]] {
        let mock = MockServer::builder().start().await;
        let followed = tokio::task::spawn_blocking(move || {
            let home = tempfile::tempdir().expect("a directory");
            let mut person = Person { home: home.path(), mock: &mock, variables: HashMap::new() };
            let commands = commands(&page(path));
            assert!(commands.len() >= 4, "{path} has lost its commands");
            for words in commands {
                person.follow(&words.iter().map(String::as_str).collect::<Vec<_>>());
            }
        });
        followed.await.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

/// What the guide says of `--send`, and of a key without that scope.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_guide_says_of_sending_is_so() {
    for (policy, status) in [("never", "draft"), ("ask", "draft"), ("allow", "scheduled")] {
        assert!(page("docs/safety.md").contains(&format!("`--send={policy}`")));
        let mock = MockServer::builder().start().await;
        let (base, key) = (mock.base_url().to_owned(), mock.live_key().to_owned());
        let made = tokio::task::spawn_blocking(move || {
            let mut bridge = command(program("shared-inbox-mcp"));
            bridge.arg(format!("--send={policy}")).env("SHARED_INBOX_BASE_URL", base);
            let mut session = Session::start(bridge.env("SHARED_INBOX_API_KEY", key));
            let list = session.call("list_conversations", json!({ "limit": 25 }));
            let items = list["items"].as_array().expect("a list");
            let calm = items.iter().find(|it| it["risk"].is_null()).expect("one without a warning");
            let made = session.call("reply", json!({ "id": calm["id"], "body": "Thank you.", "send": true }));
            session.end();
            made
        });
        let made = made.await.expect("an answer");
        assert_eq!(made["status"], status, "--send={policy}: {made}");
        drop(mock);
    }
}

#[test]
fn the_skills_are_well_formed() {
    let skillsaw = peers::python(&["skillsaw==0.22.0"]).with_file_name("skillsaw");
    finish(Command::new(skillsaw).args(["lint", "--strict"]).arg(root().join("docs/skills")));
}
