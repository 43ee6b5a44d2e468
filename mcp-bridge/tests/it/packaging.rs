//! The desktop extension and the registry entry: valid by their own tools, and about this very program.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use shared_inbox::__spec::Operation;
use shared_inbox_tests::peers;

use crate::fixture::out;

fn json(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs a command that must succeed, and returns what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out(&output).0
}

#[test]
#[ignore = "needs Node"]
fn the_extension_packs_and_carries_the_program() {
    let Some(modules) = peers::npm(&["@anthropic-ai/mcpb@2.1.2"]) else { return };
    let mcpb = modules.join("@anthropic-ai/mcpb/dist/cli/cli.js");
    let folder = tempfile::tempdir().unwrap();
    let ours = Path::new(env!("CARGO_BIN_EXE_shared-inbox-mcp"));
    // Packs a program, and returns the bundle's name, its unpacked folder and its manifest.
    let pack = |binary: &Path, platform: &str, arch: &str| {
        let mut pack = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("extension/pack"));
        pack.arg(folder.path()).env("BINARY", binary).env("MCPB", format!("node {}", mcpb.display()));
        let printed = succeed(pack.envs([("PLATFORM", platform), ("ARCH", arch)]));
        let bundle = PathBuf::from(printed.lines().last().unwrap());
        let unpacked = bundle.with_extension("unpacked");
        succeed(Command::new("node").arg(&mcpb).arg("unpack").arg(&bundle).arg(&unpacked));
        let manifest = fs::read_to_string(unpacked.join("manifest.json")).unwrap();
        let name = bundle.file_name().unwrap().to_str().unwrap().to_owned();
        (name, unpacked, serde_json::from_str::<Value>(&manifest).unwrap())
    };
    let version = env!("CARGO_PKG_VERSION");
    let named = |platform: &str, arch: &str| format!("shared-inbox-mcp-{version}-{platform}-{arch}.mcpb");

    let (name, unpacked, manifest) = pack(ours, "", "");
    let arch = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let platform = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    assert_eq!(name, named(platform, arch));
    let platforms = &manifest["compatibility"]["platforms"];
    assert_eq!(platforms, &serde_json::json!([platform]), "it holds one program");
    let program = unpacked.join(manifest["server"]["entry_point"].as_str().unwrap());
    assert_eq!(fs::metadata(&program).unwrap().len(), fs::metadata(ours).unwrap().len());
    assert!(["LICENSE-MIT", "LICENSE-APACHE"].iter().all(|licence| unpacked.join(licence).is_file()));
    assert!(succeed(Command::new(&program).arg("--version")).contains(version));

    let windows = folder.path().join("shared-inbox-mcp.exe");
    fs::write(&windows, "of another platform, and not run here").unwrap();
    let (name, unpacked, manifest) = pack(&windows, "win32", "x64");
    assert_eq!(name, named("win32", "x64"));
    assert_eq!(manifest["compatibility"]["platforms"], serde_json::json!(["win32"]));
    let command = manifest["server"]["mcp_config"]["command"].as_str().unwrap();
    assert!(command.ends_with("/server/shared-inbox-mcp.exe"), "{command}");
    assert!(unpacked.join("server/shared-inbox-mcp.exe").is_file());
}

/// A folder like one of `npx`, with the packages for npm in it as they are handed out.
fn npx_folder(parent: &Path) -> Option<PathBuf> {
    let node = peers::node22()?;
    let platform = succeed(Command::new(&node).args(["-p", "`${process.platform}-${process.arch}`"]));
    let mut pack = Command::new(node);
    pack.args([".ci/pack-npm.mjs", "mcp-bridge/npm", env!("CARGO_BIN_EXE_shared-inbox-mcp")]);
    pack.arg(platform.trim()).arg(parent).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let packed = succeed(&mut pack);
    let folder = parent.join("_npx/0123");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("package.json"), "{}").unwrap();
    let install = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"];
    succeed(Command::new("npm").args(install).args(packed.lines()).current_dir(&folder));
    Some(folder)
}

#[test]
#[cfg(unix)]
#[ignore = "needs Node"]
fn the_packages_for_npm_start_the_program_and_settings_name_npx() {
    let parent = tempfile::tempdir().unwrap();
    let Some(folder) = npx_folder(parent.path()) else { return };
    let start = |arguments: &[&str]| {
        let mut command = Command::new(folder.join("node_modules/.bin/shared-inbox-mcp"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let ended = |arguments: &[&str]| {
        let output = start(arguments).wait_with_output().unwrap();
        (output.status.code(), out(&output))
    };
    let (status, (said, _)) = ended(&["--version"]);
    assert_eq!((status, said.trim()), (Some(0), concat!("shared-inbox-mcp ", env!("CARGO_PKG_VERSION"))));
    assert_eq!(ended(&["--send=always"]).0, Some(2), "the status of the program is the status");

    let (_, (settings, _)) = ended(&["--sandbox", "config", "cursor"]);
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let server = &settings["mcpServers"]["shared-inbox"];
    let package = concat!("shared-inbox-mcp@", env!("CARGO_PKG_VERSION"));
    assert_eq!(server["command"], "npx");
    assert_eq!(server["args"], serde_json::json!(["-y", package, "--sandbox"]));

    let mut child = start(&["--sandbox"]);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{hello}\n").as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && out(&output).0.contains("serverInfo"), "{:?}", out(&output));
}

/// The wheel itself is made and used in `tests/front-door/tests/front_door/handed_out.rs`.
#[test]
fn settings_name_uvx_in_its_cache_and_the_path_where_the_program_stays() {
    let parent = tempfile::tempdir().unwrap();
    let server = |folder: &str| {
        let folder = parent.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("shared-inbox-mcp");
        fs::hard_link(env!("CARGO_BIN_EXE_shared-inbox-mcp"), &program)
            .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_shared-inbox-mcp"), &program).map(drop))
            .unwrap();
        let output = Command::new(program).args(["--sandbox", "config", "cursor"]).output().unwrap();
        let settings: Value = serde_json::from_str(&out(&output).0).unwrap();
        settings["mcpServers"]["shared-inbox"].clone()
    };
    let package = concat!("shared-inbox-mcp@", env!("CARGO_PKG_VERSION"));
    let cached = server("uv/archive-v0/q-Byf2/bin");
    assert_eq!(
        (&cached["command"], &cached["args"]),
        (&"uvx".into(), &serde_json::json!([package, "--sandbox"]))
    );
    for stays in ["uv/tools/shared-inbox-mcp/bin", "archive-videos/bin"] {
        let stayed = server(stays);
        let path = parent.path().join(stays).join("shared-inbox-mcp").canonicalize().unwrap();
        assert_eq!(stayed["command"], path.to_str().unwrap());
        assert_eq!(stayed["args"], serde_json::json!(["--sandbox"]));
    }
}

#[test]
fn the_package_for_npm_is_about_this_program() {
    let package = json("npm/package.json");
    assert_eq!(
        (&package["name"], &package["version"]),
        (&env!("CARGO_PKG_NAME").into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert_eq!(package["mcpName"], json("server.json")["name"]);
    let programs = package["optionalDependencies"].as_object().unwrap();
    assert!(programs.values().all(|version| version == env!("CARGO_PKG_VERSION")), "{programs:?}");
}

#[test]
fn the_readme_names_the_registry_entry_as_the_registry_wants_it() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let line = format!("mcp-name: {}", json("server.json")["name"].as_str().unwrap());
    assert!(readme.lines().any(|one| one == line), "{line}");
}

#[test]
fn the_manifest_is_about_this_program() {
    let manifest = json("extension/manifest.json");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let listed: BTreeSet<_> =
        manifest["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, Operation::KNOWN.iter().copied().filter_map(Operation::tool_name).collect());
    assert_eq!(manifest["user_config"]["api_key"]["sensitive"], true);
    assert_eq!(manifest["user_config"]["send"]["default"], "ask");
}

#[test]
fn the_registry_entry_is_about_this_program() {
    let server = json("server.json");
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    let packages = server["packages"].as_array().unwrap();
    let ways: Vec<_> = packages
        .iter()
        .map(|one| (one["registryType"].as_str().unwrap(), one["runtimeHint"].clone()))
        .collect();
    let all = [("npm", "npx".into()), ("pypi", "uvx".into()), ("cargo", Value::Null)];
    assert_eq!(ways, all);
    let package = &packages[0];
    for one in packages {
        assert_eq!(one["identifier"], env!("CARGO_PKG_NAME"));
        assert_eq!(one["version"], env!("CARGO_PKG_VERSION"));
        for same in ["transport", "packageArguments", "environmentVariables"] {
            assert_eq!(one[same], package[same], "{same}");
        }
    }
    let variables = package["environmentVariables"].as_array().unwrap();
    let secret: Vec<_> =
        variables.iter().filter(|one| one["isSecret"] == true).map(|one| &one["name"]).collect();
    assert_eq!(secret, ["SHARED_INBOX_API_KEY"]);
}
