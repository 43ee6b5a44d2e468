//! The shell steps of `release.yml`, run in their order on a copy of the repository, for each platform of the matrix.
//!
//! What needs a network, another system or minutes is a stand-in (`release/stand-in`), which checks what it is given and leaves
//! behind what the real one would; the programs are small files. The rest is real: scripts, archives, checksums, npm packages, the desktop extension. A variable
//! that is not set, an expression that nobody knows and a file that is not there fail.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use shared_inbox_tests::peers;

use shared_inbox_peer_tests::{cargo, command, found_from_the_root, output, root, text};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const STAND_INS: [&str; 9] = ["cargo", "rustup", "sudo", "pip", "maturin", "docker", "npm", "npx", "gh"];
const TO_JSON: &str = "import { readFileSync } from 'node:fs'; import { parse } from 'yaml'; \
                       console.log(JSON.stringify(parse(readFileSync(process.argv[2], 'utf8'))));";

struct Release {
    workflow: Value,
    home: tempfile::TempDir,
    /// Set for every step.
    variables: HashMap<String, String>,
}

impl Release {
    fn new() -> Option<Self> {
        let (node, modules) = (peers::node22()?, peers::npm(&["yaml@2.9.1"])?);
        let mcpb = peers::npm(&["@anthropic-ai/mcpb@2.1.2"])?.join("@anthropic-ai/mcpb/dist/cli/cli.js");
        let script = modules.with_file_name("to-json.mjs");
        fs::write(&script, TO_JSON).expect("a file");
        let read = output(Command::new(&node).arg(script).arg(root().join(".github/workflows/release.yml")));
        let workflow = serde_json::from_slice(&read.stdout).expect("the workflow is YAML");

        let home = tempfile::tempdir().expect("a directory");
        let bin = home.path().join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        for name in STAND_INS {
            let stand_in = root().join("tests/peers/front_door/release/stand-in");
            std::os::unix::fs::symlink(stand_in, bin.join(name)).expect("a link");
        }
        for name in ["shared-inbox-mock", "shared-inbox-mcp"] {
            assert!(found_from_the_root("bin", name));
            fs::write(home.path().join(name), "a program").expect("a file");
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
        let here = |name: &str| home.path().join(name).display().to_string();
        let real = cargo().get_program().to_string_lossy().into_owned();
        let variables = [
            ("PATH", path),
            ("STAND_IN_LOG", here("log")),
            ("STAND_IN_PROGRAMS", home.path().display().to_string()),
            ("STAND_IN_CARGO", real),
            ("STAND_IN_MCPB", mcpb.display().to_string()),
            ("STAND_IN_VERSION", VERSION.to_owned()),
            ("GITHUB_OUTPUT", here("output")),
            ("GITHUB_ENV", here("env")),
            ("GITHUB_REF_NAME", format!("v{VERSION}")),
            ("GITHUB_REPOSITORY", "shared-inbox/shared-inbox".to_owned()),
            ("GITHUB_ACTOR", "somebody".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
        Some(Self { workflow, home, variables })
    }

    /// Runs a job in a folder of its own, and returns that folder.
    fn run(&self, job: &str, matrix: &Value) -> PathBuf {
        let here = tempfile::tempdir_in(self.home.path()).expect("a directory").keep();
        let job = &self.workflow["jobs"][job];
        let mut variables = self.variables.clone();
        variables.insert("RUNNER_OS".to_owned(), system(matrix).to_owned());
        variables.extend(self.values(&job["env"], matrix));
        for step in job["steps"].as_array().expect("steps") {
            if step["if"].as_str().is_some_and(|condition| !holds(condition, matrix)) {
                continue;
            }
            match (step["uses"].as_str(), step["run"].as_str()) {
                (Some(action), None) => self.act(action, &step["with"], &here),
                (None, Some(".ci/run")) => {}
                (None, Some(script)) => {
                    let mut bash = Command::new("bash");
                    bash.args(["--noprofile", "--norc", "-euo", "pipefail", "-c", script]).current_dir(&here);
                    bash.envs(&variables).envs(self.values(&step["env"], matrix));
                    let ended = output(&mut bash);
                    let said = text(&ended.stdout) + &text(&ended.stderr);
                    assert!(ended.status.success(), "{script}\n{said}");
                    let file = self.home.path().join("env");
                    let set = fs::read_to_string(&file).unwrap_or_default();
                    let set = set.lines().filter_map(|line| line.split_once('='));
                    variables.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
                    _ = fs::remove_file(file);
                }
                _ => panic!("neither an action nor a script: {step}"),
            }
        }
        here
    }

    fn act(&self, action: &str, with: &Value, here: &Path) {
        let kept = self.home.path().join("artifacts");
        match action.split('@').next().unwrap_or_default() {
            "actions/checkout" => {
                let copy =
                    "git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t \"$0\"";
                let ended = output(command("bash").args(["-c", copy]).arg(here));
                assert!(ended.status.success(), "{}", text(&ended.stderr));
            }
            "actions/attest-build-provenance" if with["subject-path"].is_string() => {
                for pattern in with["subject-path"].as_str().into_iter().flat_map(str::lines) {
                    let folder = here.join(pattern.strip_suffix("/*").expect("all files of a folder"));
                    assert!(fs::read_dir(folder).is_ok_and(|files| files.count() > 0), "{pattern}");
                }
            }
            "actions/upload-artifact" => {
                let into = kept.join(here.file_name().expect("a name"));
                fs::create_dir_all(&into).expect("a directory");
                for folder in with["path"].as_str().expect("folders").lines() {
                    fs::rename(here.join(folder), into.join(folder)).expect("it was made");
                }
            }
            "actions/download-artifact" => {
                let into = here.join(with["path"].as_str().expect("a folder"));
                let ended = output(Command::new("cp").arg("-r").arg(&kept).arg(into));
                assert!(ended.status.success(), "{}", text(&ended.stderr));
            }
            _ => {}
        }
    }

    fn values(&self, env: &Value, matrix: &Value) -> Vec<(String, String)> {
        let values = env.as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        values.map(|(name, value)| (name.clone(), evaluate(&text(value), matrix))).collect()
    }

    /// The lines of what stood in, those of one program.
    fn calls(&self, program: &str) -> Vec<String> {
        let log = fs::read_to_string(self.home.path().join("log")).expect("a log");
        let calls = log.lines().filter_map(|line| line.strip_prefix(program)?.strip_prefix(' '));
        calls.map(str::to_owned).collect()
    }
}

fn system(matrix: &Value) -> &'static str {
    match matrix["os"].as_str().unwrap_or("ubuntu").split('-').next() {
        Some("ubuntu") => "Linux",
        Some("macos") => "macOS",
        Some("windows") => "Windows",
        other => panic!("no such system: {other:?}"),
    }
}

/// An expression of the workflow, of those that it uses.
fn value(expression: &str, matrix: &Value) -> String {
    match expression.trim() {
        "github.ref_name" => format!("v{VERSION}"),
        "needs.check.outputs.version" => VERSION.to_owned(),
        "github.token" | "steps.trust.outputs.token" => "token".to_owned(),
        "github.repository_owner" => "shared-inbox".to_owned(),
        "runner.os" => system(matrix).to_owned(),
        other => {
            let field = other.strip_prefix("matrix.").and_then(|field| matrix[field].as_str());
            field.unwrap_or_else(|| panic!("nobody knows {other}")).to_owned()
        }
    }
}

fn evaluate(text: &str, matrix: &Value) -> String {
    let mut parts = text.split("${{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let (expression, rest) = part.split_once("}}").expect("a whole expression");
        done + &value(expression, matrix) + rest
    })
}

fn holds(condition: &str, matrix: &Value) -> bool {
    let (left, right) = condition.split_once(" == ").expect("a comparison");
    value(left, matrix) == right.trim_matches('\'')
}

#[test]
fn every_shell_step_of_a_release_runs_in_its_order() {
    let Some(release) = Release::new() else { return };
    release.run("check", &Value::Null);
    let found = fs::read_to_string(release.home.path().join("output")).expect("an output");
    assert_eq!(found.trim(), format!("version={VERSION}"));

    let rows = release.workflow["jobs"]["programs"]["strategy"]["matrix"]["include"].clone();
    for row in rows.as_array().expect("platforms") {
        let here = release.run("programs", row);
        let artifacts = release.home.path().join("artifacts");
        let platform = row["platform"].as_str().expect("a name");
        fs::rename(artifacts.join(here.file_name().expect("a name")), artifacts.join(platform))
            .expect("a name");
        let made = artifacts.join(platform);
        let target = row["target"].as_str().expect("a target");
        for name in ["shared-inbox-mock", "shared-inbox-mcp"] {
            let archive = format!("{name}-{VERSION}-{target}");
            for file in [".tar.gz", ".tar.gz.sha256", ".cdx.json"] {
                assert!(made.join("dist").join(format!("{archive}{file}")).is_file(), "{archive}{file}");
            }
        }
    }
    for job in ["crates", "npm", "container", "release"] {
        release.run(job, &Value::Null);
    }
    let wheels = fs::read_dir(release.run("wheels", &Value::Null).join("dist")).expect("a folder");
    assert_eq!(wheels.count(), 2 * (5 + 1), "two programs for five platforms, and as source");

    let published = release.calls("cargo publish --locked -p");
    let order =
        ["", "-webhooks", "-mock", "-conform", "-harness", "-explore", "-redteam", "-mock-cli", "-mcp"];
    assert_eq!(published, order.map(|name| format!("shared-inbox{name}")));
    let packages = release.calls("npm publish --provenance --access public");
    assert_eq!(packages.len(), 12, "two programs for five platforms, and two that choose: {packages:#?}");
    let chooses =
        |file: &String| !["linux", "darwin", "win32"].iter().any(|it| file.contains(&format!("-{it}-")));
    assert_eq!(packages.iter().position(chooses), Some(10), "those that choose come last: {packages:#?}");
    assert_eq!(release.calls("docker buildx build").len(), 2);
    let released = release.calls("gh release create").concat();
    assert_eq!(released.matches("/dist/").count(), 5 * 7, "{released}");
}
