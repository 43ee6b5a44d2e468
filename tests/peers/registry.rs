//! What the ecosystem looks for before it trusts a crate: said once, and true.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    readme::metadata,
    run::{blocks, command, page, root, text},
};

/// The crates that are published, as cargo sees them.
fn crates() -> Vec<Value> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().filter(|one| one["publish"].is_null()).cloned().collect()
}

#[test]
fn every_crate_says_what_a_registry_shows() {
    let crates = crates();
    assert!(crates.len() > 5, "{}", crates.len());
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

    let entry: Value = serde_json::from_str(&page("mcp-bridge/server.json")).expect("JSON");
    let package: Value = serde_json::from_str(&page("mcp-bridge/npm/package.json")).expect("JSON");
    assert_eq!(entry["repository"]["url"], repository.as_str(), "mcp-bridge/server.json");
    assert_eq!(entry["name"], name.as_str(), "mcp-bridge/server.json");
    assert_eq!(package["mcpName"], name.as_str(), "mcp-bridge/npm/package.json");
    let line = format!("mcp-name: {name}");
    assert!(
        page("mcp-bridge/README.md").lines().any(|one| one == line),
        "mcp-bridge/README.md lacks: {line}"
    );
    for wheel in ["mcp-bridge/pyproject.toml", "tools/cli/python/pyproject.toml"] {
        assert!(page(wheel).contains(r#""urls""#), "{wheel} takes it from the crate");
    }
}

/// A registry shows the page without the files beside it.
#[test]
fn the_readme_of_a_package_has_absolute_links_and_they_lead_into_the_repository() {
    let repository = crates()[0]["repository"].as_str().expect("a repository").to_owned();
    let raw = repository.replace("github.com", "raw.githubusercontent.com");
    let pages = crates().into_iter().map(|one| {
        let manifest = one["manifest_path"].as_str().expect("a path").to_owned();
        Path::new(&manifest).with_file_name(one["readme"].as_str().expect("a page"))
    });
    let packages = ["tools/cli/python", "tools/cli/node"].map(|folder| root().join(folder).join("README.md"));
    for file in pages.chain(packages) {
        let (file, readme) = (file.display(), fs::read_to_string(&file).expect("it is there"));
        for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(link.starts_with("https://") || link.starts_with('#'), "{file}: {link}");
            let pages = link.strip_prefix(&format!("{repository}/blob/main/"));
            let files = link.strip_prefix(&format!("{raw}/main/"));
            let here = pages.or(files).is_none_or(|path| root().join(path).exists());
            assert!(here, "{file}: {link} is not there");
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
    let index = page("llms.txt");
    let mut listed = Vec::new();
    for (title, link) in links(&index) {
        let path = link.strip_prefix(&format!("{repository}/blob/main/")).expect("a page of this repository");
        let page = page(path);
        let heading = page.lines().find_map(|line| line.strip_prefix("# "));
        assert_eq!(heading, Some(title), "llms.txt names {path} otherwise");
        listed.push(path);
    }
    for page in fs::read_dir(root().join("docs")).expect("a folder").flatten() {
        let path = format!("docs/{}", page.file_name().to_string_lossy());
        assert!(!path.ends_with(".md") || listed.contains(&path.as_str()), "llms.txt does not name {path}");
    }
}

/// A page that names a file which has moved sends people and agents to nothing.
#[test]
fn every_path_that_a_page_for_contributors_names_is_there() {
    for file in ["AGENTS.md", "CONTRIBUTING.md"] {
        let page = page(file);
        let quoted = page.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        let is_path = |it: &&str| {
            let folder = it.split_once('/').map(|(folder, _)| folder);
            folder.is_some_and(|folder| !folder.is_empty() && root().join(folder).is_dir())
                && !it.contains(['*', '<', '{', '…'])
                && !it.starts_with("target/")
                && !it.starts_with("..")
                // Made by a run; a method of MCP.
                && !["tests/fuzz/artifacts", "tools/call"].contains(it)
        };
        let named: Vec<_> = quoted.filter(is_path).collect();
        assert!(named.len() > 5, "{file}: {named:?}");
        let missing: Vec<_> = named.iter().filter(|path| !root().join(path).exists()).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
    let elsewhere = ["README.md", "CONTRIBUTING.md", ".ci/run", "scripts/lint"].map(page).concat();
    for line in blocks(&page("AGENTS.md"), "sh").concat().lines() {
        let command = line.split(" -- ").next().unwrap_or_default();
        assert!(elsewhere.contains(command), "nothing else runs `{command}`");
    }
}

#[test]
fn the_walks_through_the_code_lead_to_files() {
    let page = page("CONTRIBUTING.md");
    let walks = page.split("## Three walks through the code").nth(1).expect("the walks");
    let mut stops = 0;
    for walk in walks.split("\n## ").next().expect("their end").split("\n**").skip(1) {
        let folder = walk.split("(`").nth(1).and_then(|rest| rest.split('`').next()).expect("a folder");
        for (file, _) in walk.lines().filter_map(|line| line.split_once(". `")?.1.split_once("`: ")) {
            assert!(root().join(folder).join(file).is_file(), "{folder}/{file}");
            stops += 1;
        }
    }
    assert!(stops > 20, "{stops}");
}

/// Before the first release nobody owns these names: a line that installs one stands where it says so.
#[test]
fn nothing_is_presented_as_released() {
    let crates = crates();
    let names: Vec<_> = crates.iter().filter_map(|one| one["name"].as_str()).collect();
    let installers =
        ["pip install", "npm install", "npx", "uvx", "cargo add", "cargo install", "cargo binstall"];
    let later = [
        "after the first release",
        "before the first release",
        "after the release",
        "from its first release on",
    ];
    let listed = command("git").args(["ls-files", "*.md", "llms.txt"]).output().expect("git runs").stdout;
    for file in text(&listed).lines().filter(|it| !it.starts_with("docs/decisions") && *it != "CHANGELOG.md")
    {
        let page = page(file);
        let from_registry = |line: &str| {
            let mut words = line.split(|c: char| c.is_whitespace() || "`,".contains(c));
            installers.iter().any(|it| line.contains(it)) && words.any(|word| names.contains(&word))
        };
        let says_so = later.iter().any(|words| page.to_lowercase().contains(words));
        assert!(says_so || !page.lines().any(from_registry), "{file} does not say that it is for later");
    }
}

#[test]
fn a_release_publishes_each_crate_after_those_that_it_needs_and_calls_scripts_that_are_there() {
    let (release, crates) = (page(".github/workflows/release.yml"), crates());
    let order = release.split("for crate in ").nth(1).and_then(|it| it.split("; do cargo publish").next());
    let order: Vec<_> = order.expect("the crates").split(' ').collect();
    let place = |name: &Value| order.iter().position(|it| name == *it);
    assert_eq!(order.len(), crates.len(), "{order:?}");
    for one in &crates {
        let own = place(&one["name"]).unwrap_or_else(|| panic!("{} is not published", one["name"]));
        for need in one["dependencies"].as_array().into_iter().flatten().filter(|it| it["kind"] != "dev") {
            assert!(
                place(&need["name"]).is_none_or(|it| it < own),
                "{} before {}",
                one["name"],
                need["name"]
            );
        }
    }
    for word in release.split(|c: char| c.is_whitespace() || "\"()".contains(c)) {
        assert!(!word.starts_with("scripts/") || root().join(word).is_file(), "{word}");
    }
}
