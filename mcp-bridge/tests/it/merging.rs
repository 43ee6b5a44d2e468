//! What becomes of a client's settings file: the bridge's entry is merged in, and all else stays.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::fixture::{out, program};

const URL: &str = "https://a.example/api/v1";
const ADDRESS: &str = "--base-url=https://a.example/api/v1";

/// Merges settings into this file, and returns what the program said. A refused file is left alone.
fn write(mut program: Command, client: &str, file: &Path, arguments: &[&str]) -> Result<String, String> {
    let (before, folder) = (fs::read_to_string(file).unwrap(), file.parent().unwrap());
    program.env("HOME", folder).args(arguments).args(["config", client, "--write", "--file"]);
    let output = program.arg(file).output().unwrap();
    let said = out(&output).1;
    if output.status.success() {
        return Ok(said);
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("left as it is"), "{said}");
    assert_eq!(fs::read_to_string(file).unwrap(), before);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing was left behind");
    Err(said)
}

/// Returns the file after the settings were merged into it. Merging them again changes nothing more.
fn merge(client: &str, before: &str, arguments: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings");
    fs::write(&file, before).unwrap();
    write(program(), client, &file, arguments)?;
    let again = write(program(), client, &file, arguments)?;
    assert!(again.contains("has these settings already"), "{again}");
    Ok(fs::read_to_string(&file).unwrap().replace(env!("CARGO_BIN_EXE_shared-inbox-mcp"), "x"))
}

fn sandbox(client: &str, before: &str) -> Result<String, String> {
    merge(client, before, &["--sandbox"])
}

#[test]
fn an_empty_file_gets_an_object() {
    for text in ["", "\n", "// mine\n", "{}"] {
        let after = sandbox("cursor", text).unwrap();
        assert!(after.starts_with(text.trim_end_matches("{}").trim_end()), "{after}");
        let value: Value = serde_json::from_str(after.trim_start_matches("// mine")).unwrap();
        let entry = json!({ "command": "x", "args": ["--sandbox"] });
        assert_eq!(value, json!({ "mcpServers": { "shared-inbox": entry } }), "{text:?}");
    }
}

#[test]
fn windows_files_stay_windows_files() {
    for (client, before) in
        [("cursor", "\u{feff}{\r\n  \"a\": 1\r\n}\r\n"), ("codex", "# mine\r\nmodel = \"x\"\r\n")]
    {
        let after = sandbox(client, before).unwrap();
        assert!(after.starts_with(&before[..5]) && !after.replace("\r\n", "").contains('\n'), "{after:?}");
    }
}

#[test]
fn settings_and_comments_of_the_owner_in_our_entry_stay() {
    let before = "{\"mcpServers\": {\"shared-inbox\": {\n  \"command\": \"old\", // why\n  \"disabled\": true,\n  \"args\": [\n    \"--read-only\", // safe\n    \"--send=ask\"\n  ],\n  \"env\": { \"P\": \"v\" /* mine */, \"SHARED_INBOX_API_KEY\": \"old\" }\n}}}\n";
    let after = merge("cursor", before, &[ADDRESS, "--send=never", "--api-key-file=/k"]).unwrap();
    let comments = ["// why", "// safe", "/* mine */"];
    assert!(comments.iter().all(|comment| after.contains(comment)), "{after}");
    let plain = comments.iter().fold(after.clone(), |text, comment| text.replace(comment, ""));
    let value: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(
        value["mcpServers"]["shared-inbox"],
        json!({ "command": "x", "disabled": true, "args": ["--read-only", "--send=never", "--api-key-file=/k"],
                "env": { "P": "v", "SHARED_INBOX_BASE_URL": URL } }),
        "{after}"
    );
}

#[test]
fn a_key_in_a_file_is_taken_out_of_the_settings_also_when_it_was_the_only_variable() {
    let key = json!({ "SHARED_INBOX_API_KEY": "rk_live_old" });
    // The file is named now, or stands in the owner's entry already.
    for (args, given) in [(ADDRESS, &["--api-key-file=/k"][..]), ("--api-key-file=/k", &[])] {
        let (new, changes) = over(program(), &json!({ "args": [args], "env": key }), given).unwrap();
        assert!(new["env"].get("SHARED_INBOX_API_KEY").is_none(), "{new}");
        assert!(changes.contains("env: SHARED_INBOX_API_KEY was taken out"), "{changes}");
    }
    let before = format!(
        "[mcp_servers.shared-inbox]\ncommand = \"old\"\nargs = [\"{ADDRESS}\"]\nenv = {{ SHARED_INBOX_API_KEY = \"rk_live_old\" }}\n"
    );
    let after = merge("codex", &before, &["--api-key-file=/k"]).unwrap();
    assert!(after.contains("--api-key-file=/k") && !after.contains("rk_live_old"), "{after}");
}

#[test]
fn a_file_with_a_mistake_is_refused_and_the_place_named() {
    let wrong = |text: &str| sandbox("cursor", text).unwrap_err();
    assert!(wrong("{\n\"a\" 1}").contains("line 2"), "{}", wrong("{\n\"a\" 1}"));
    for text in ["{\"b\": nope}", "{} x", "{\"b\": \"open", "{\"b\": [}", "{'b': 1}"] {
        assert!(wrong(text).contains("line 1"), "{text}: {}", wrong(text));
    }
    for (text, why) in [
        ("[]", ": it is not an object;"),
        ("{\"mcpServers\": 1}", ": `mcpServers` is not an object;"),
        ("{\"mcpServers\": {\"shared-inbox\": []}}", ": `shared-inbox` is not an object;"),
    ] {
        assert!(wrong(text).contains(why), "{text}: {}", wrong(text));
    }
    for text in ["[[[", "mcp_servers = 1", "[mcp_servers]\nshared-inbox = 1"] {
        assert!(sandbox("codex", text).is_err(), "{text}");
    }
    for odd in [json!([]), json!({ "args": "x" }), json!({ "args": [1] }), json!({ "env": [] })] {
        assert!(over(program(), &odd, &[]).is_err(), "{odd}");
    }
    for (client, text) in [("cursor", "{\"env\": rk_live_secret}"), ("codex", "key = rk_live_secret")] {
        let why = sandbox(client, text).unwrap_err();
        assert!(!why.contains("rk_live"), "{client} repeats what is in the file: {why}");
    }
}

#[test]
fn settings_and_comments_of_the_owner_in_our_table_stay_however_it_is_written() {
    for before in [
        "[mcp_servers.shared-inbox]\ncommand = \"old\" # why\nstartup_timeout_sec = 20\n\n[mcp_servers.shared-inbox.env]\nP = \"mine\" # p\n",
        "[mcp_servers.shared-inbox]\ncommand = \"old\" # why\nstartup_timeout_sec = 20\nenv = { P = \"mine\" }\n",
        "[mcp_servers]\nshared-inbox = { command = \"old\", startup_timeout_sec = 20, env = { P = \"mine\" } } # why\n",
        "mcp_servers = { shared-inbox = { command = \"old\", startup_timeout_sec = 20, env = { P = \"mine\" } } } # why\n",
    ] {
        let after = sandbox("codex", before).unwrap();
        let document: toml_edit::DocumentMut = after.parse().unwrap();
        let entry = &document["mcp_servers"]["shared-inbox"];
        assert_eq!(
            (entry["command"].as_str(), entry["env"]["P"].as_str()),
            (Some("x"), Some("mine")),
            "{after}"
        );
        assert_eq!(entry["args"].as_array().map(|args| args.len()), Some(1), "{after}");
        assert!(after.contains("# why") && after.contains("startup_timeout_sec = 20"), "{after}");
        assert_eq!(after.contains("# p"), before.contains("# p"), "{after}");
    }
}

/// Returns the entry for Claude Code, whose key is in its environment, over this one; and the changes.
fn over(program: Command, old: &Value, arguments: &[&str]) -> Result<(Value, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings");
    fs::write(&file, json!({ "mcpServers": { "shared-inbox": old } }).to_string()).unwrap();
    let changes = write(program, "claude-code", &file, &[&[ADDRESS], arguments].concat())?;
    let mut after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    Ok((after["mcpServers"]["shared-inbox"].take(), changes))
}

fn args_over(old: &Value, arguments: &[&str]) -> Value {
    over(program(), &json!({ "args": old }), arguments).unwrap().0["args"].take()
}

#[test]
fn what_is_said_anew_takes_the_place_of_what_was_said_also_when_it_is_the_default() {
    for (old, given, new) in [
        (json!(["--send=never", "-v"]), "--send=allow", json!(["--send=allow", "-v"])),
        (json!(["--send", "never", "-v"]), "--send=allow", json!(["--send=allow", "-v"])),
        (json!(["-v"]), "--send=allow", json!(["-v", "--send=allow"])),
        (json!(["--sandbox"]), "--send=allow", json!(["--send=allow"])),
        (
            json!(["--send=allow", "--max-chars=9000"]),
            "--send=ask",
            json!(["--send=ask", "--max-chars=9000"]),
        ),
        (json!(["--max-chars=1000"]), "--max-chars=50000", json!(["--max-chars=50000"])),
        (json!(["--send=allow"]), "--read-only", json!(["--send=allow", "--read-only"])),
    ] {
        assert_eq!(args_over(&old, &[given]), new, "{old}");
    }
}

#[test]
fn an_argument_that_comes_more_than_once_is_replaced_as_a_whole() {
    let new = ["--mailbox=a@x.example", "--mailbox=b@x.example"];
    for (old, after) in [
        (json!([]), json!(new)),
        (json!(["-v", "--mailbox=old@x.example"]), json!(["-v", new[0], new[1]])),
        (
            json!(["--mailbox=old@x.example", "-v", "--mailbox", "c@x.example", "--read-only"]),
            json!([new[0], new[1], "-v", "--read-only"]),
        ),
    ] {
        assert_eq!(args_over(&old, &new), after, "{old}");
    }
}

/// The program at this place below a folder, as a package manager puts it there.
fn installed(folder: &Path, place: &str) -> PathBuf {
    let program = folder.join(place).join("shared-inbox-mcp");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_shared-inbox-mcp"), &program).unwrap();
    program
}

const PACKAGE: &str = concat!("shared-inbox-mcp@", env!("CARGO_PKG_VERSION"));

#[test]
fn what_starts_the_bridge_goes_before_its_arguments_once() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let npx = installed(folder.path(), "_npx/0");
    let by_npx = |old: &Value, arguments: &[&str]| {
        over(Command::new(&npx), &json!({ "args": old }), arguments).unwrap().0["args"].take()
    };
    let first = by_npx(&json!([]), &["--read-only"]);
    assert_eq!(first, json!(["-y", PACKAGE, "--read-only"]));
    assert_eq!(by_npx(&first, &["--read-only"]), first);
    let older = json!(["--yes", "shared-inbox-mcp@1", "-v"]);
    assert_eq!(by_npx(&older, &[]), json!(["-y", PACKAGE, "-v"]));
    assert_eq!(args_over(&older, &[]), json!(["-v"]), "the path again");
}

#[test]
fn settings_name_uvx_in_its_cache_and_the_path_where_the_program_stays() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (place, is_cache) in [
        ("uv/archive-v0/q-Byf2/bin", true),
        ("uv/tools/shared-inbox-mcp/bin", false),
        ("archive-videos/bin", false),
    ] {
        let program = installed(folder.path(), place);
        let output = Command::new(&program).args(["--sandbox", "config", "cursor"]).output().unwrap();
        let settings: Value = serde_json::from_str(&out(&output).0).unwrap();
        let path = program.canonicalize().unwrap();
        let (command, args) = match is_cache {
            true => ("uvx", json!([PACKAGE, "--sandbox"])),
            false => (path.to_str().unwrap(), json!(["--sandbox"])),
        };
        let server = &settings["mcpServers"]["shared-inbox"];
        assert_eq!((&server["command"], &server["args"]), (&command.into(), &args), "{place}");
    }
}

#[test]
fn an_offer_is_made_once() {
    let args = |before: &str| {
        let after: Value = serde_json::from_str(&sandbox("claude-desktop", before).unwrap()).unwrap();
        after["mcpServers"]["shared-inbox"]["args"].clone()
    };
    assert_eq!(args("{}"), json!(["--sandbox", "--ask=browser"]));
    assert_eq!(args("{\"mcpServers\": {\"shared-inbox\": {}}}"), json!(["--sandbox"]));
}
