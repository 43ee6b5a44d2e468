//! The settings for each client: what is printed, and what becomes of a file that is there.

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};

use crate::program::{out, program};

const CLIENTS: [&str; 6] = ["claude-desktop", "claude-code", "cursor", "vscode", "zed", "codex"];

fn key() -> String {
    format!("rk_test_{}", "k".repeat(48))
}

/// The program with a home of its own.
fn at(home: &Path, arguments: &[&str]) -> Output {
    let mut command = program();
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("CODEX_HOME").current_dir(home);
    command.env("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1").env("SHARED_INBOX_API_KEY", key());
    command.args(arguments).output().unwrap()
}

#[test]
fn settings_are_printed_with_the_programs_own_path_and_without_the_key() {
    let home = tempfile::tempdir().unwrap();
    for client in CLIENTS {
        let output = at(home.path(), &["config", client]);
        assert!(output.status.success(), "{client}");
        let (said, hints) = out(&output);
        assert!(!said.contains(&key()) && !hints.contains(&key()), "{client} printed the key");
        let (said, hints) = [said, hints]
            .map(|text| {
                text.replace(env!("CARGO_BIN_EXE_shared-inbox-mcp"), "/path/to/shared-inbox-mcp")
                    .replace(&home.path().display().to_string(), "~")
            })
            .into();
        insta::assert_snapshot!(client, format!("{hints}---\n{said}"));
    }
}

#[test]
fn what_is_printed_is_what_the_client_reads() {
    let home = tempfile::tempdir().unwrap();
    let printed = |client: &str| {
        let (settings, hints) = out(&at(home.path(), &["config", client, "--sandbox"]));
        assert!(!hints.contains("key") && !hints.contains("KEY"), "the sandbox needs no key: {hints}");
        settings
    };
    let command = env!("CARGO_BIN_EXE_shared-inbox-mcp");
    for (client, section) in [
        ("claude-desktop", "mcpServers"),
        ("claude-code", "mcpServers"),
        ("cursor", "mcpServers"),
        ("vscode", "servers"),
        ("zed", "context_servers"),
    ] {
        let settings: Value = serde_json::from_str(&printed(client)).expect(client);
        let server = &settings[section]["shared-inbox"];
        assert_eq!(server["command"], command, "{client}");
        // Claude Desktop cannot ask.
        let args = if client == "claude-desktop" {
            json!(["--sandbox", "--ask=browser"])
        } else {
            json!(["--sandbox"])
        };
        assert_eq!(server["args"], args, "{client}");
        assert_eq!(server.get("env"), None, "the sandbox needs neither address nor key");
    }
    let codex: toml_edit::DocumentMut = printed("codex").parse().unwrap();
    assert_eq!(codex["mcp_servers"]["shared-inbox"]["command"].as_str(), Some(command));
}

/// Where each client keeps its settings below a home on this system.
fn files() -> [(&'static str, &'static str, &'static str); 6] {
    let desktop = if cfg!(target_os = "macos") {
        "Library/Application Support/Claude/claude_desktop_config.json"
    } else {
        ".config/Claude/claude_desktop_config.json"
    };
    [
        ("claude-desktop", desktop, "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"a\": 1}\n"),
        ("claude-code", ".mcp.json", ""),
        ("cursor", ".cursor/mcp.json", "{}\n"),
        ("vscode", ".vscode/mcp.json", "{\n  // mine\n  \"inputs\": [],\n  \"servers\": {},\n}\n"),
        ("zed", ".config/zed/settings.json", "// Zed settings\n{\n  \"theme\": \"One\", // dark\n}\n"),
        ("codex", ".codex/config.toml", "# mine\nmodel = \"m\"\n"),
    ]
}

#[test]
#[cfg(unix)]
fn write_merges_keeps_a_backup_and_is_done_once() {
    let home = tempfile::tempdir().unwrap();
    for (client, file, before) in files() {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, before).unwrap();
        let output = at(home.path(), &["config", client, "--write"]);
        let (_, said) = out(&output);
        assert!(output.status.success(), "{client}: {said}");
        assert!(!said.contains(&key()));
        let backup = said.lines().find_map(|line| line.strip_prefix("The file as it was: ")).expect(&said);
        assert_eq!(
            fs::read_to_string(backup.trim_start_matches("./"))
                .or_else(|_| fs::read_to_string(home.path().join(backup)))
                .unwrap(),
            before,
            "{client}"
        );
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after.contains(&key()), !matches!(client, "claude-code" | "vscode"), "{client}: {after}");
        let shown = after
            .replace(env!("CARGO_BIN_EXE_shared-inbox-mcp"), "/path/to/shared-inbox-mcp")
            .replace(&key(), "<key>");
        insta::assert_snapshot!(format!("written-{client}"), shown);

        let (_, said) = out(&at(home.path(), &["config", client, "--write"]));
        assert!(said.contains("already"), "{client}: {said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{client}");
    }
}

#[test]
#[cfg(unix)]
fn a_new_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    assert!(at(home.path(), &["config", "cursor", "--write"]).status.success());
    let path = home.path().join(".cursor/mcp.json");
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    for (client, text) in [
        ("cursor", "{\"mcpServers\": [}"),
        ("cursor", "{\"env\": rk_live_secret}"),
        ("zed", "not json"),
        ("codex", "[[["),
        ("codex", "key = rk_live_secret"),
    ] {
        let path = home.path().join("settings");
        fs::write(&path, text).unwrap();
        let output = at(home.path(), &["config", client, "--write", "--file", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{client}");
        let said = out(&output).1;
        assert!(said.contains("left as it is"), "{client}: {said}");
        assert!(!said.contains("rk_live"), "{client} repeats what is in the file: {said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing was left behind");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn write_without_a_key_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("HOME", home.path()).current_dir(home.path()).args(["config", "cursor", "--write"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).1.contains("SHARED_INBOX_API_KEY"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}
