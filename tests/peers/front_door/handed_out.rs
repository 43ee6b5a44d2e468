//! What is handed out, made as for a release, and used by somebody who has nothing else: the crates as a registry would have
//! them, and the programs that are built from these alone, static, on an empty root file system and as a wheel.
//!
//! All of it stands on one build of everything for one more target, some minutes of it, so a plain `cargo test` leaves it
//! out. `.ci/all-tests` asks for it.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;
use shared_inbox_tests::peers;

use crate::front_door::packages::{newcomer, run};
use shared_inbox_peer_tests::{c_compiler_of, cargo, get, output, root, static_target, text};

const CRATES: [&str; 9] = [
    "shared-inbox",
    "shared-inbox-webhooks",
    "shared-inbox-mock",
    "shared-inbox-conform",
    "shared-inbox-harness",
    "shared-inbox-explore",
    "shared-inbox-redteam",
    "shared-inbox-mock-cli",
    "shared-inbox-mcp",
];
/// The programs, with their packages.
const PROGRAMS: [(&str, &str); 2] =
    [("shared-inbox-mock", "shared-inbox-mock-cli"), ("shared-inbox-mcp", "shared-inbox-mcp")];
const VERSION: &str = env!("CARGO_PKG_VERSION");
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// The crates as they are packed, built in a folder of their own for a target whose programs are static.
struct Packed {
    folder: tempfile::TempDir,
    target: String,
}

impl Packed {
    /// `None`: it cannot be built here, and a line on stderr says why.
    fn get() -> Option<&'static Self> {
        static PACKED: OnceLock<Option<Packed>> = OnceLock::new();
        PACKED.get_or_init(Self::make).as_ref()
    }

    fn make() -> Option<Self> {
        let Some(target) = static_target() else {
            return peers::skip("the standard library for a static target cannot be had");
        };
        let packed = Self { folder: tempfile::tempdir().expect("a directory"), target };
        let crates = CRATES.iter().flat_map(|name| ["-p", name]);
        run(cargo()
            .args(["package", "--no-verify", "--allow-dirty", "--locked"])
            .args(crates)
            .args([OsStr::new("--target-dir"), Self::built().as_os_str()]));

        // A registry that has nothing but these, and the versions that we have tested with. The profiles are ours too, so
        // that macros and build scripts are found built.
        let mut workspace =
            "[workspace]\nresolver = \"3\"\nmembers = [\"shared-*\"]\n\n[patch.crates-io]\n".to_owned();
        for name in CRATES {
            let file = Self::built().join(format!("package/{name}-{VERSION}.crate"));
            run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(packed.folder.path()));
            workspace += &format!("{name} = {{ path = \"{name}-{VERSION}\" }}\n");
        }
        let ours = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
        workspace += ours.split_at(ours.find("[profile.").expect("profiles")).1;
        fs::write(packed.folder.path().join("Cargo.toml"), workspace).expect("a file");
        fs::copy(root().join("Cargo.lock"), packed.folder.path().join("Cargo.lock")).expect("a copy");
        let programs = PROGRAMS.iter().flat_map(|(_, package)| ["-p", package]);
        run(packed
            .here(cargo().get_program())
            .arg("build")
            .args(programs)
            .args(["--target", &packed.target]));
        // Copies, since a wheel is made by taking the program out of where cargo has put it.
        fs::create_dir(packed.folder.path().join("programs")).expect("a directory");
        for (name, _) in PROGRAMS {
            let program = Self::built().join(&packed.target).join("debug").join(name);
            fs::copy(program, packed.program(name)).expect("a copy");
        }
        Some(packed)
    }

    fn built() -> PathBuf {
        root().join("target")
    }

    /// A program that builds there, always in the same way.
    fn here(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.env("CARGO_TARGET_DIR", Self::built()).env("CARGO_INCREMENTAL", "0");
        // The few C files of the TLS library call nothing of a system's, so that any compiler will do.
        command.env(c_compiler_of(&self.target), "cc");
        command
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join("programs").join(name)
    }

    /// A root file system with one program in it and nothing else.
    fn root_with(&self, name: &str) -> Option<Root> {
        let folder = tempfile::tempdir().expect("a directory");
        fs::copy(self.program(name), folder.path().join(name)).expect("a copy");
        // A namespace of one's own needs no rights where the kernel allows it; without, root can do it plainly.
        let works = |command: &[&str]| {
            Command::new(command[0])
                .args(&command[1..])
                .arg("true")
                .output()
                .is_ok_and(|it| it.status.success())
        };
        let enter = if works(&["unshare", "--map-root-user"]) {
            vec![
                "unshare".to_owned(),
                "--map-root-user".into(),
                format!("--root={}", folder.path().display()),
            ]
        } else if works(&["chroot", "/"]) {
            vec!["chroot".into(), folder.path().display().to_string()]
        } else {
            return peers::skip("neither unshare nor chroot may be used here");
        };
        Some(Root { folder, enter, program: format!("/{name}") })
    }
}

struct Root {
    folder: tempfile::TempDir,
    enter: Vec<String>,
    program: String,
}

impl Root {
    fn command(&self, arguments: &[&str]) -> Command {
        assert_eq!(
            fs::read_dir(self.folder.path()).expect("a folder").count(),
            1,
            "there is nothing but the program"
        );
        let mut command = Command::new(&self.enter[0]);
        command.args(&self.enter[1..]).arg(&self.program).args(arguments).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }
}

/// What it answers to a client that greets it and leaves.
fn greeted(command: &mut Command) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    writeln!(child.stdin.take().expect("its stdin"), "{HELLO}").expect("it listens");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    text(&ended.stdout)
}

#[test]
#[ignore = "builds everything for one more target"]
fn the_packed_crates_build_where_nothing_else_is_and_their_programs_are_static() {
    let Some(packed) = Packed::get() else { return };
    for (name, _) in PROGRAMS {
        let said = output(Command::new("ldd").arg(packed.program(name)));
        let said = text(&said.stdout) + &text(&said.stderr);
        assert!(
            said.contains("statically linked") || said.contains("not a dynamic executable"),
            "{name}: {said}"
        );
    }
}

#[test]
#[ignore = "builds everything for one more target"]
fn the_mock_serves_from_an_empty_root_file_system() {
    let Some(root) = Packed::get().and_then(|it| it.root_with("shared-inbox-mock")) else { return };
    assert!(run(&mut root.command(&["--help"])).contains("--control-token"));
    let mut mock = root
        .command(&["--listen", "127.0.0.1:0", "--json", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(mock.stdout.take().expect("its stdout")).read_line(&mut line).expect("it is ready");
    let ready: Value = serde_json::from_str(&line).expect("the ready document");
    let of = |field: &str| ready.pointer(field).and_then(Value::as_str).expect("a text").to_owned();
    let me = get(&format!("{}/me", of("/base_url")), &of("/keys/live"));
    let at = of("/console_url").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let (well, port) =
        (output(&mut root.command(&["health", &at])), at.parse::<SocketAddr>().expect("an address").port());
    mock.kill().expect("it runs");
    mock.wait().expect("it ends");
    assert!(me.starts_with("HTTP/1.1 200") && me.contains("agt_"), "{me}");
    assert!(well.status.success(), "{}", text(&well.stderr));
    assert!(
        !output(&mut root.command(&["health", &format!("127.0.0.1:{port}")])).status.success(),
        "it has ended"
    );
}

#[test]
#[ignore = "builds everything for one more target"]
fn the_bridge_runs_on_an_empty_root_file_system() {
    let Some(root) = Packed::get().and_then(|it| it.root_with("shared-inbox-mcp")) else { return };
    assert!(run(&mut root.command(&["--help"])).contains("--sandbox"));
    assert!(greeted(&mut root.command(&["--sandbox"])).contains("serverInfo"));
    let mut doctor = root.command(&["doctor"]);
    doctor.env("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1");
    let ended = output(doctor.env("SHARED_INBOX_API_KEY", format!("rk_test_{}", "a".repeat(48))));
    let said = text(&ended.stdout) + &text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("CA certificates"), "there are none to trust, and it says so: {said}");
}

#[test]
#[ignore = "builds everything for one more target"]
fn a_wheel_carries_the_bridge_to_uvx_and_settings_name_it() {
    let Some(packed) = Packed::get() else { return };
    let Some(maturin) = peers::python(&["maturin==1.16.0"]) else { return };
    let Some(uv) = peers::uv() else { return };
    let home = tempfile::tempdir().expect("a directory");
    run(packed
        .here(maturin.with_file_name("maturin"))
        .current_dir(packed.folder.path().join(format!("shared-inbox-mcp-{VERSION}")))
        .args([
            "build",
            "--profile",
            "dev",
            "--quiet",
            "--compatibility",
            "manylinux_2_17",
            "musllinux_1_1",
            "--target",
            &packed.target,
            "--out",
        ])
        .arg(home.path()));
    let made = fs::read_dir(home.path()).expect("a directory").flatten().map(|file| file.file_name());
    let made: Vec<_> = made.filter_map(|name| name.into_string().ok()).collect();
    let tags = ["manylinux_2_17", "musllinux_1_1"];
    let for_both = |name: &String| tags.iter().all(|tag| name.contains(tag));
    assert!(made.iter().any(for_both), "glibc and musl install it: {made:?}");
    let uvx = || {
        let mut command = newcomer(uv.with_file_name("uvx"), home.path());
        command
            .args(["--offline", "--no-index", "--find-links", "."])
            .arg("--python")
            .arg(uv.with_file_name("python"));
        command.arg(format!("shared-inbox-mcp@{VERSION}"));
        command
    };
    let settings = output(uvx().args(["--sandbox", "config", "cursor"]));
    assert!(settings.status.success(), "{}", text(&settings.stderr));
    let settings: Value = serde_json::from_slice(&settings.stdout).expect("settings");
    let server = &settings["mcpServers"]["shared-inbox"];
    assert_eq!(server["command"], "uvx");
    assert_eq!(server["args"], serde_json::json!([format!("shared-inbox-mcp@{VERSION}"), "--sandbox"]));
    assert!(greeted(uvx().arg("--sandbox")).contains("serverInfo"));
}
