//! The settings for each client: what is printed, and what becomes of a file that is there.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::fixture::{assert_lacks, assert_says, out, program};

fn key() -> String {
    format!("rk_test_{}", "k".repeat(48))
}

/// The program with a home of its own.
fn at_home(home: &Path, arguments: &[&str]) -> Command {
    let mut command = program();
    for other in ["XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME"] {
        command.env_remove(other);
    }
    command.env("HOME", home).current_dir(home).args(arguments);
    command
}

/// Runs the program there, with an address and a key.
fn run(home: &Path, arguments: &[&str]) -> Output {
    let mut command = at_home(home, arguments);
    command.env("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1").env("SHARED_INBOX_API_KEY", key());
    command.output().unwrap()
}

/// Writes the settings of Cursor with these options, and returns what was said of it.
fn write_cursor(home: &Path, options: &[&str]) -> String {
    let output = run(home, &[options, &["config", "cursor", "--write"]].concat());
    assert!(output.status.success(), "{}", out(&output).1);
    out(&output).1
}

#[test]
fn settings_are_printed_with_the_programs_own_path_and_without_the_key_and_the_sandbox_needs_none() {
    let home = tempfile::tempdir().unwrap();
    for (client, _, _) in files() {
        let output = run(home.path(), &["config", client]);
        assert!(output.status.success(), "{client}");
        let (said, hints) = out(&output);
        assert!(!said.contains(&key()) && !hints.contains(&key()), "{client} printed the key");
        assert!(!hints.contains("SHARED_INBOX_API_KEY="), "{client}: the key would be an argument: {hints}");
        let (said, hints) = [said, hints]
            .map(|text| {
                text.replace(env!("CARGO_BIN_EXE_shared-inbox-mcp"), "/path/to/shared-inbox-mcp")
                    .replace(&home.path().display().to_string(), "~")
            })
            .into();
        insta::assert_snapshot!(client, format!("{hints}---\n{said}"));

        let (settings, hints) = out(&run(home.path(), &["config", client, "--sandbox"]));
        assert_says(&settings, &["\"--sandbox\""]);
        assert_lacks(&settings, &["SHARED_INBOX", "\"env\"", "env ="]);
        assert_lacks(&hints, &["key", "KEY"]);
    }
}

/// Where each client keeps its settings below a home on this system.
fn files() -> [(&'static str, &'static str, &'static str); 7] {
    let desktop = if cfg!(target_os = "macos") {
        "Library/Application Support/Claude/claude_desktop_config.json"
    } else {
        ".config/Claude/claude_desktop_config.json"
    };
    [
        ("claude-desktop", desktop, "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"a\": 1}\n"),
        ("claude-code", ".mcp.json", ""),
        ("cursor", ".cursor/mcp.json", "{}\n"),
        ("vscode", ".vscode/mcp.json", "{\n  // mine\n  \"inputs\": [{\"id\": \"a\"}],\n}\n"),
        ("zed", ".config/zed/settings.json", "// Zed settings\n{\n    \"theme\": \"One\", // dark\n}\n"),
        ("codex", ".codex/config.toml", "model = \"m\"\n\n[mcp_servers.other]\ncommand = \"a\" # keep\n"),
        ("copilot-cli", ".copilot/mcp-config.json", "{\"mcpServers\": {}}\n"),
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
        let output = run(home.path(), &["config", client, "--write"]);
        let (_, said) = out(&output);
        assert!(output.status.success(), "{client}: {said}");
        assert!(!said.contains(&key()));
        let backup = said.lines().find_map(|line| line.strip_prefix("The file as it was: ")).expect(&said);
        assert_eq!(fs::read_to_string(home.path().join(backup)).unwrap(), before, "{client}");
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after.contains(&key()), !matches!(client, "claude-code" | "vscode"), "{client}: {after}");
        let shown = after
            .replace(env!("CARGO_BIN_EXE_shared-inbox-mcp"), "/path/to/shared-inbox-mcp")
            .replace(&key(), "<key>");
        insta::assert_snapshot!(format!("written-{client}"), shown);

        let (_, said) = out(&run(home.path(), &["config", client, "--write"]));
        assert!(said.contains("already"), "{client}: {said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{client}");
    }
}

#[test]
fn the_structured_form_that_was_asked_for_goes_before_the_one_that_suits_the_client() {
    let home = tempfile::tempdir().unwrap();
    for form in ["--structured=safe", "--structured=exact", "--structured=none"] {
        let output = run(home.path(), &[form, "config", "copilot-cli"]);
        let settings: Value = serde_json::from_str(&out(&output).0).unwrap();
        assert_eq!(settings["mcpServers"]["shared-inbox"]["args"], json!([form]));
    }
}

/// The file for Cursor below this home, with this in it.
fn cursor(home: &Path, text: &str) -> std::path::PathBuf {
    let path = home.join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn write_says_what_it_changed_and_keeps_key_and_address_where_none_are_given() {
    let home = tempfile::tempdir().unwrap();
    let before = json!({ "mcpServers": { "shared-inbox": {
        "command": "/old", "args": ["--read-only", "--send=never"], "env": { "SHARED_INBOX_API_KEY": "rk_old" } } } });
    let path = cursor(home.path(), &before.to_string());
    let said = write_cursor(home.path(), &[]);
    assert_says(
        &said,
        &[
            "command: \"/old\" became",
            "env: SHARED_INBOX_API_KEY was changed",
            "env: SHARED_INBOX_BASE_URL was set",
        ],
    );
    assert!(!said.contains("args:") && !said.contains("rk_"), "{said}");
    let said = write_cursor(home.path(), &["--send=allow"]);
    let change = r#"args: ["--read-only","--send=never"] became ["--read-only","--send=allow"]"#;
    assert!(said.contains(change), "{said}");
    let output = at_home(home.path(), &["--max-chars=9000", "config", "cursor", "--write"]).output().unwrap();
    assert!(output.status.success(), "{}", out(&output).1);
    let settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let server = &settings["mcpServers"]["shared-inbox"];
    assert_eq!(server["args"], json!(["--read-only", "--send=allow", "--max-chars=9000"]));
    assert_eq!(server["env"]["SHARED_INBOX_API_KEY"], key());
}

#[test]
#[cfg(unix)]
fn the_file_that_holds_the_key_and_its_backups_are_their_owners_alone_and_no_backup_is_ever_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".cursor/mcp.json");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    write_cursor(home.path(), &[]);
    assert_eq!(mode(&path), 0o600, "a new file");
    let first = fs::read_to_string(&path).unwrap();
    for (wide, more, backup) in [
        (0o644, "--send=never", "json.backup"),
        (0o666, "--read-only", "json.backup-2"),
        (0o600, "--max-chars=9000", "json.backup-3"),
    ] {
        set(wide);
        let before = fs::read_to_string(&path).unwrap();
        let said = write_cursor(home.path(), &[more]);
        assert_eq!(said.contains("Only you can read it now"), wide != 0o600, "{wide:o}: {said}");
        let backup = path.with_extension(backup);
        assert_eq!((mode(&path), mode(&backup)), (0o600, 0o600), "{wide:o}");
        assert_eq!(fs::read_to_string(backup).unwrap(), before);
    }
    fs::write(&path, first).unwrap();
    let said = write_cursor(home.path(), &["--read-only"]);
    assert!(said.contains("mcp.json.backup\n"), "the same content is kept once: {said}");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 4, "the file and three backups");
    fs::write(&path, "{}\n").unwrap();
    set(0o644);
    let said = write_cursor(home.path(), &["--sandbox"]);
    assert!(!said.contains("Only you"), "without a key there is nothing to hide: {said}");
    assert_eq!(mode(&path), 0o644);
}

#[test]
#[cfg(unix)]
fn write_leaves_a_read_only_file_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = cursor(home.path(), "{}\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let output = run(home.path(), &["config", "cursor", "--write"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).1.contains("read-only"), "{}", out(&output).1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing was left behind");
}

#[test]
#[cfg(unix)]
fn write_follows_links_also_to_a_file_that_is_not_there_yet() {
    let home = tempfile::tempdir().unwrap();
    let (path, behind) = (home.path().join(".cursor/mcp.json"), home.path().join("dotfiles/cursor.json"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../dotfiles/cursor.json", &path).unwrap();
    for _ in 0..2 {
        write_cursor(home.path(), &[]);
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "the link is still a link");
        assert!(fs::read_to_string(&behind).unwrap().contains(&key()));
        fs::write(&behind, "{}\n").unwrap();
    }
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("mcp.json", &path).unwrap();
    let output = run(home.path(), &["config", "cursor", "--write"]);
    assert!(output.status.code() == Some(2) && out(&output).1.contains("circle"), "{}", out(&output).1);
}

#[test]
fn nonsense_is_refused_before_it_is_printed_or_written() {
    let home = tempfile::tempdir().unwrap();
    for (url, said) in [
        ("not a url", "base URL"),
        ("https://inbox.example", "must end in /api/v1"),
        ("inbox.example/api/v1", "https://<host>/api/v1"),
        ("http://inbox.example/api/v1", "--allow-plain-http"),
        ("file:///api/v1", "https://<host>/api/v1"),
        ("https://[::1/api/v1", "https://<host>/api/v1"),
        ("https://inbox.example:x/api/v1", "https://<host>/api/v1"),
    ] {
        for arguments in [&["config", "cursor"][..], &["config", "cursor", "--write"]] {
            let output = run(home.path(), &[arguments, &["--base-url", url]].concat());
            assert_eq!(output.status.code(), Some(2), "{url}");
            let complaint = out(&output).1;
            assert!(complaint.contains(said), "{url}: {complaint}");
            let is_parsers = ["relative", "IPv6", " port"].iter().any(|word| complaint.contains(word));
            assert!(!is_parsers, "{url}: in its own words: {complaint}");
        }
    }
    let without_key = at_home(home.path(), &["config", "cursor", "--write"]).output().unwrap();
    assert_eq!(without_key.status.code(), Some(2));
    assert!(out(&without_key).1.contains("SHARED_INBOX_API_KEY"));
    let address = "--base-url=https://inbox.example/api/v1";
    let mut command = at_home(home.path(), &[address, "config", "cursor", "--write"]);
    let output = command.env("SHARED_INBOX_API_KEY", "not-a-key-but-secret").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!out(&output).1.contains("secret"), "{}", out(&output).1);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
#[cfg(windows)]
fn a_claude_desktop_from_the_store_has_a_folder_of_its_own() {
    let local = tempfile::tempdir().unwrap();
    let package = local.path().join("Packages").join("Claude_pzs8sxrjxfjjc");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::create_dir_all(local.path().join("Packages").join("Other_1")).unwrap();
    let mut command = crate::fixture::program();
    let output =
        command.args(["--sandbox", "config", "claude-desktop"]).env("LOCALAPPDATA", local.path()).output();
    let said = crate::fixture::out(&output.unwrap()).1;
    let folder = package.join("LocalCache").join("Roaming");
    assert!(said.contains(&*folder.to_string_lossy()), "{said}");
}
