//! What the ecosystem looks for before it trusts a crate: said once, and true.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use shared_inbox_peer_tests::{cargo, program, root, text};

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The crates that are published, as cargo sees them.
fn crates() -> Vec<Value> {
    let said = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&said.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().filter(|one| one["publish"].is_null()).cloned().collect()
}

#[test]
fn every_crate_says_what_a_registry_shows() {
    let crates = crates();
    assert_eq!(crates.len(), 9);
    for one in crates {
        let name = &one["name"];
        for field in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(one[field].is_string(), "{name} has no {field}");
        }
        assert!(!one["keywords"].as_array().is_none_or(Vec::is_empty), "{name} has no keywords");
        assert!(!one["categories"].as_array().is_none_or(Vec::is_empty), "{name} has no categories");
        let targets = one["targets"].as_array().expect("targets");
        if targets.iter().all(|target| target["kind"] != json!(["lib"])) {
            continue;
        }
        assert_eq!(
            one["metadata"]["docs"]["rs"]["all-features"], true,
            "{name}: docs.rs shows every feature"
        );
        let lib = Path::new(one["manifest_path"].as_str().expect("a path")).with_file_name("src/lib.rs");
        let lib = fs::read_to_string(lib).expect("a library");
        assert!(lib.contains("#![cfg_attr(docsrs, feature(doc_cfg))]"), "{name} shows no badges of features");
    }
}

/// A library or program that is not compiled for tests has none, since nobody would see that they do not run.
#[test]
fn no_test_stands_where_it_would_never_run() {
    let mut looked = 0;
    for one in crates() {
        let targets = one["targets"].as_array().expect("targets").iter();
        let untested =
            |it: &&Value| it["test"] == false && (it["kind"][0] == "lib" || it["kind"][0] == "bin");
        for target in targets.filter(untested) {
            let source = Path::new(target["src_path"].as_str().expect("a path"));
            let found = Command::new("grep")
                .args(["-rlE", r"^\s*#\[((tokio::)?test\b|cfg\(test\))", "--include=*.rs"])
                .arg(source.parent().expect("a folder"))
                .output()
                .expect("grep runs");
            assert_eq!(text(&found.stdout), "", "{} is not compiled for tests", target["name"]);
            looked += 1;
        }
    }
    assert!(looked > 5, "{looked}");
}

#[test]
fn where_the_project_lives_is_said_once_and_followed() {
    let crates = crates();
    let repository = crates[0]["repository"].as_str().expect("a repository").to_owned();
    for one in &crates {
        assert_eq!(one["repository"], repository.as_str(), "{} inherits the workspace's", one["name"]);
    }
    let (host, path) = repository.trim_start_matches("https://").split_once('/').expect("a path");
    let owner = path.split('/').next().expect("an owner");
    let host: Vec<_> = host.rsplit('.').collect();
    let name = format!(
        "{}.{owner}/shared-inbox-mcp",
        if host == ["com", "github"] { "io.github".into() } else { host.join(".") }
    );

    let entry: Value = serde_json::from_str(&read("mcp-bridge/server.json")).expect("JSON");
    let package: Value = serde_json::from_str(&read("mcp-bridge/npm/package.json")).expect("JSON");
    assert_eq!(entry["repository"]["url"], repository.as_str(), "mcp-bridge/server.json");
    assert_eq!(entry["name"], name.as_str(), "mcp-bridge/server.json");
    assert_eq!(package["mcpName"], name.as_str(), "mcp-bridge/npm/package.json");
    let line = format!("mcp-name: {name}");
    assert!(
        read("mcp-bridge/README.md").lines().any(|one| one == line),
        "mcp-bridge/README.md lacks: {line}"
    );
    for wheel in ["mcp-bridge/pyproject.toml", "mock-server/python/pyproject.toml"] {
        assert!(read(wheel).contains(r#""urls""#), "{wheel} takes it from the crate");
    }
}

/// A registry shows the page without the files beside it.
#[test]
fn the_readme_of_a_package_has_absolute_links_and_they_lead_into_the_repository() {
    let repository = crates()[0]["repository"].as_str().expect("a repository").to_owned();
    let raw = repository.replace("github.com", "raw.githubusercontent.com");
    let folders = [
        "sdk",
        "webhook-verify",
        "mock-server",
        "conform",
        "harness",
        "explore",
        "redteam",
        "mcp-bridge",
        "mock-server/python",
        "mock-server/node",
    ];
    for folder in folders {
        let readme = read(&format!("{folder}/README.md"));
        for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(link.starts_with("https://") || link.starts_with('#'), "{folder}/README.md: {link}");
            let pages = link.strip_prefix(&format!("{repository}/blob/main/"));
            let files = link.strip_prefix(&format!("{raw}/main/"));
            let here = pages.or(files).is_none_or(|path| root().join(path).exists());
            assert!(here, "{folder}/README.md: {link} is not there");
        }
    }
}

/// The links of a Markdown text, with their titles.
fn links(markdown: &str) -> impl Iterator<Item = (&str, &str)> {
    markdown.lines().filter_map(|line| {
        let (title, rest) = line.strip_prefix("- [")?.split_once("](")?;
        Some((title, rest.split(')').next()?))
    })
}

#[test]
fn llms_txt_names_every_page_by_its_title() {
    let repository = crates()[0]["repository"].as_str().expect("a repository").to_owned();
    let index = read("llms.txt");
    let mut listed = Vec::new();
    for (title, link) in links(&index) {
        let path = link.strip_prefix(&format!("{repository}/blob/main/")).expect("a page of this repository");
        let page = read(path);
        let heading = page.lines().find_map(|line| line.strip_prefix("# "));
        assert_eq!(heading, Some(title), "llms.txt names {path} otherwise");
        listed.push(path);
    }
    for page in fs::read_dir(root().join("docs")).expect("a folder").flatten() {
        let path = format!("docs/{}", page.file_name().to_string_lossy());
        assert!(!path.ends_with(".md") || listed.contains(&path.as_str()), "llms.txt does not name {path}");
    }
}

#[test]
fn what_agents_are_told_is_so() {
    let page = read("AGENTS.md");
    let (before, rest) = page.split_once("```sh\n").expect("commands");
    let (commands, after) = rest.split_once("```").expect("their end");
    let elsewhere = [read("README.md"), read("CONTRIBUTING.md"), read(".ci/run")].concat();
    for command in commands.lines() {
        let command = command.split(" -- ").next().unwrap_or_default();
        assert!(elsewhere.contains(command), "no other page and no check runs `{command}`");
    }
    for text in [before, after] {
        for path in text.split('`').skip(1).step_by(2).filter(|it| it.contains('/') || it.ends_with(".md")) {
            assert!(root().join(path).exists(), "AGENTS.md names {path}, which is not there");
        }
    }
    assert!(page.lines().count() < 60, "short enough to be read at every start");
}

/// The text of a template with what stands for a crate and a target.
fn filled(template: &Value, of: &Value, target: &str) -> String {
    let text = template.as_str().expect("a template");
    let [name, version, repository] =
        ["name", "version", "repository"].map(|it| of[it].as_str().expect("a text"));
    let targets = of["targets"].as_array().expect("targets");
    let program = targets.iter().find(|target| target["kind"] == json!(["bin"]));
    let program = program.and_then(|target| target["name"].as_str()).expect("a program");
    let known =
        [("name", name), ("bin", program), ("version", version), ("repo", repository), ("target", target)];
    let text =
        known.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{ {key} }}"), value));
    text.replace("{ binary-ext }", std::env::consts::EXE_SUFFIX)
}

#[test]
#[cfg(unix)]
fn the_archives_of_a_release_are_where_binstall_looks_for_them() {
    let here = tempfile::tempdir().expect("a directory");
    let target = "x86_64-unknown-linux-musl"; // Only a name here.
    let packed = Command::new(root().join(".ci/archive"))
        .arg(target)
        .arg(here.path())
        .args([program("shared-inbox-mock"), program("shared-inbox-mcp")])
        .output()
        .expect("it runs");
    assert!(packed.status.success(), "{}", text(&packed.stderr));

    let release = read(".github/workflows/release.yml");
    assert!(release.contains(r#".ci/archive "$TARGET" dist "$MOCK" "$BRIDGE""#), "a release makes them so");
    assert!(release.contains(r#"gh release create "$GITHUB_REF_NAME""#), "a release is named as its tag");
    assert!(release.contains(r#"[ "v$version" = "$TAG" ]"#), "and the tag as the version");
    let programs: Vec<_> =
        crates().into_iter().filter(|one| !one["metadata"]["binstall"].is_null()).collect();
    assert_eq!(programs.len(), 2);
    for one in programs {
        let binstall = &one["metadata"]["binstall"];
        let (version, repository) =
            (one["version"].as_str().expect("a version"), one["repository"].as_str().expect("a repository"));
        let url = filled(&binstall["pkg-url"], &one, target);
        let file = url
            .strip_prefix(&format!("{repository}/releases/download/v{version}/"))
            .expect("a file of the release");
        let run = |program: &str, arguments: &[&str]| {
            let ended =
                Command::new(program).args(arguments).current_dir(here.path()).output().expect("it runs");
            assert!(ended.status.success(), "{program} {arguments:?}: {}", text(&ended.stderr));
            text(&ended.stdout)
        };
        run("shasum", &["-a", "256", "-c", &format!("{file}.sha256")]);
        run("tar", &["-xzf", file]);
        let inside = here.path().join(filled(&binstall["bin-dir"], &one, target));
        assert!(run(inside.to_str().expect("a path"), &["--version"]).contains(version));
        assert!(
            inside.with_file_name("LICENSE-MIT").is_file() && inside.with_file_name("README.md").is_file()
        );
    }
}
