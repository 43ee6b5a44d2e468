//! The mock without Rust: packages for Python and Node that carry the program, each built, installed where nothing else is,
//! and used by the tests of a small app.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

use shared_inbox_peer_tests::{
    c_compiler_of, cargo, forget_package, has_python, program, root, static_target, text,
};

/// Runs it to its end; gives what it said.
pub(crate) fn run(command: &mut Command) -> String {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let said = format!("{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success(), "{command:?}\n{said}");
    said
}

/// A program in the environment of somebody who has just come: an empty home, and no setting of this machine but where
/// programs are.
pub(crate) fn newcomer(program: impl AsRef<Path>, home: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().current_dir(home).env("HOME", home);
    for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "PIP_INDEX_URL", "npm_config_registry"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Copies the files of an example, as whoever has found it would.
fn example(name: &str, to: &Path) {
    for file in fs::read_dir(root().join("examples").join(name)).expect("the example is there") {
        let file = file.expect("a file").path();
        if file.is_file() {
            fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
}

/// What no test of an app shows: a flag that is none is named, an id cannot leave its place in a path, and a world that
/// has ended lets nobody in.
const EDGES_PYTHON: &str = r#"
import urllib.error, urllib.request
from shared_inbox_mock import Refused, Server
try:
    Server("--nonsense")
except RuntimeError as error:
    assert "--nonsense" in str(error), error
else:
    raise SystemExit("it started")
with Server() as server:
    try:
        server.main.control.get_conversation("cnv_1/notes")
    except Refused as refused:
        assert refused.status == 404, refused
    else:
        raise SystemExit("an id left its place")
    world = server.world()
    assert world.live_key not in repr(world) + repr(world.control)
    server.end(world)
    me = urllib.request.Request(world.base_url + "/me", headers={"Authorization": "Bearer " + world.live_key})
    try:
        urllib.request.urlopen(me)
    except urllib.error.HTTPError as refused:
        assert refused.code == 401, refused
    else:
        raise SystemExit("the world goes on")
"#;

/// The same for Node.
const EDGES_NODE: &str = r"
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { Server } from 'shared-inbox-mock';
await assert.rejects(Server.start('--nonsense'), /--nonsense/);
const server = await Server.start();
await assert.rejects(server.main.control.getConversation('cnv_1/notes'), { status: 404 });
const world = await server.world();
assert(!inspect(world).includes(world.liveKey));
await server.end(world);
const me = await fetch(`${world.baseUrl}/me`, { headers: { Authorization: `Bearer ${world.liveKey}` } });
assert.equal(me.status, 401);
await server.stop();
";

#[tokio::test(flavor = "multi_thread")]
async fn the_typed_control_calls_are_those_of_the_document() {
    if !has_python() {
        return;
    }
    let mock = MockServer::builder().start().await;
    let here = tempfile::tempdir().expect("a directory");
    let document = here.path().join("openapi.json");
    let fetch =
        "import sys, urllib.request as it; open(sys.argv[2], 'wb').write(it.urlopen(sys.argv[1]).read())";
    let url = format!("{}/openapi.json", mock.control_url());
    let mut command = Command::new("python3");
    command.args(["-c", fetch, &url]).arg(&document);
    tokio::task::spawn_blocking(move || run(&mut command)).await.expect("the document");
    let generator = root().join("mock-server/clients/generate.py");
    run(Command::new("python3")
        .arg(generator)
        .arg(here.path())
        .stdin(fs::File::open(document).expect("a file")));
    for file in ["python/shared_inbox_mock/control.py", "node/control.js", "node/control.d.ts"] {
        let generated = fs::read_to_string(here.path().join(file)).expect("it was written");
        let ours = fs::read_to_string(root().join("mock-server").join(file)).expect("it is there");
        let hint = "run `mock-server/clients/generate.py` as its first lines say";
        assert!(generated == ours, "mock-server/{file} is not what the document says: {hint}");
    }
}

/// The wheel, built once for all tests, for the target of what is handed out: the dependencies are built for it already, and nobody
/// else uses the program there, which a wheel is made of by taking it out of where cargo has put it.
static WHEEL: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let python = peers::python(&["maturin==1.16.0"])?;
    let out = root().join("target/wheel");
    _ = fs::remove_dir_all(&out);
    let mut pack = Command::new(root().join("tools/pack"));
    forget_package(&mut pack);
    pack.arg("wheel").arg(&out).env("PROFILE", "dev").env("PYTHON", python);
    pack.env("CARGO_TARGET_DIR", root().join("target")).env("CARGO_INCREMENTAL", "0");
    if let Some(target) = static_target() {
        pack.env("CARGO_BUILD_TARGET", &target).env(c_compiler_of(&target), "cc");
    }
    let said = run(&mut pack);
    Some(said.lines().find(|line| line.ends_with(".whl")).expect("a wheel").into())
});

/// The oldest vitest that the fixture works with, and the newest that there is.
pub(crate) const OLDEST_VITEST: &str = "4.1.0";
pub(crate) const NEWEST_VITEST: &str = "5.1.0";

/// A Python with the packages of an app.
pub(crate) fn python_packages() -> Option<PathBuf> {
    peers::python(&["flask==3.1.3", "pytest==9.2.0", "standardwebhooks==1.1.0", "mypy==2.4.1"])
}

/// A `node_modules` with the packages of an app.
pub(crate) fn node_packages(vitest: &str) -> Option<PathBuf> {
    let vitest = format!("vitest@{vitest}");
    peers::npm(&["standardwebhooks@1.1.1", &vitest, "typescript@5.9.3", "@types/node@22.20.5"])
}

/// A Python with the packages of an app, and below `home` what `pip install` makes of our wheel.
pub(crate) fn with_wheel(home: &Path) -> Option<(PathBuf, PathBuf)> {
    let (wheel, python) = (WHEEL.as_ref()?, python_packages()?);

    // Beside the app's own packages, and nothing of this project's but the wheel.
    let site = home.join("site");
    run(newcomer(&python, home)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"])
        .arg(&site)
        .arg(wheel));
    Some((python, site))
}

/// A Node, and below `home` a `node_modules` with the packages of an app and ours.
pub(crate) fn with_npm(home: &Path) -> Option<(PathBuf, PathBuf)> {
    let node = peers::node22()?;
    let modules = node_packages(NEWEST_VITEST)?;
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "x86_64") => "darwin-x64",
        ("macos", "aarch64") => "darwin-arm64",
        (os, arch) => return peers::skip(&format!("no npm package for {os} on {arch}")),
    };
    let mut pack = Command::new(root().join("tools/pack"));
    run(pack.arg("npm").arg(home.join("dist")).env("PROGRAM", program("shared-inbox-mock")));
    fs::write(home.join("package.json"), r#"{"private": true, "type": "module"}"#).expect("a file");

    // The two packages as npm would lay them out, beside those of the app.
    let into = home.join("node_modules");
    fs::create_dir(&into).expect("a directory");
    for entry in fs::read_dir(&modules).expect("the app's packages").flatten() {
        std::os::unix::fs::symlink(entry.path(), into.join(entry.file_name())).expect("a link");
    }
    for name in ["shared-inbox-mock", &format!("shared-inbox-mock-{platform}")] {
        fs::create_dir(into.join(name)).expect("a directory");
        let packed = home.join(format!("dist/{name}-{}.tgz", env!("CARGO_PKG_VERSION")));
        let unpack = ["--strip-components=1", "-C"];
        run(newcomer("tar", home).arg("-xzf").arg(packed).args(unpack).arg(into.join(name)));
    }
    Some((node, into))
}

/// The names of the files in an archive.
fn listed(archive: &Path) -> String {
    let list = "import sys, tarfile, zipfile\nname = sys.argv[1]\nprint(*(zipfile.ZipFile(name).namelist() if name.endswith('.whl') else tarfile.open(name).getnames()), sep='\\n')";
    run(Command::new("python3").args(["-c", list]).arg(archive))
}

#[track_caller]
fn assert_has_licences(archive: &Path) {
    let files = listed(archive);
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let there = files.lines().any(|file| file.ends_with(&format!("/{licence}")));
        assert!(there, "{}: no {licence} among {files}", archive.display());
    }
}

#[test]
fn every_npm_package_carries_its_licences() {
    let Some(node) = peers::node22() else { return };
    let here = tempfile::tempdir().expect("a directory");
    let fake = here.path().join("program");
    fs::write(&fake, "").expect("a file");
    for folder in ["mock-server/node", "mcp-bridge/npm"] {
        let packed = run(Command::new(&node)
            .args([".ci/pack-npm.mjs", folder])
            .args([&fake, Path::new("linux-x64"), here.path()])
            .current_dir(root()));
        let packages: Vec<_> = packed.lines().filter(|line| line.ends_with(".tgz")).collect();
        assert_eq!(packages.len(), 2, "{packed}");
        packages.into_iter().for_each(|package| assert_has_licences(Path::new(package)));
    }
}

#[test]
fn the_source_distribution_is_a_workspace_of_its_own_with_its_licences() {
    let Some(maturin) = peers::python(&["maturin==1.16.0"]) else { return };
    let here = tempfile::tempdir().expect("a directory");
    let mut maturin = Command::new(maturin.with_file_name("maturin"));
    forget_package(&mut maturin);
    run(maturin.args(["sdist", "--out"]).arg(here.path()).current_dir(root().join("mock-server/python")));
    let name = format!("shared_inbox_mock-{}", env!("CARGO_PKG_VERSION"));
    let packed = here.path().join(format!("{name}.tar.gz"));
    assert_has_licences(&packed);
    run(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(here.path()));
    // Every crate that it needs is inside, at the versions that were tested.
    let tree = ["tree", "--offline", "--locked", "-p", "shared-inbox-mock-cli", "-e", "normal,build"];
    let said = run(cargo().args(tree).current_dir(here.path().join(name)));
    assert!(said.contains("shared-inbox-webhooks"), "{said}");
}

#[test]
#[ignore = "builds the mock once more, for the wheel"]
fn a_wheel_carries_the_mock_and_a_fixture_into_the_tests_of_a_flask_app() {
    let home = tempfile::tempdir().expect("a directory");
    let Some((python, site)) = with_wheel(home.path()) else { return };
    assert_has_licences(WHEEL.as_ref().expect("it was built"));
    example("flask_app", home.path());
    let mut pytest = newcomer(&python, home.path());
    let said = run(pytest.args(["-m", "pytest", "-q"]).env("PYTHONPATH", &site));
    assert!(said.contains("4 passed"), "{said}");
    run(newcomer(&python, home.path())
        .args(["-m", "mypy", "--strict", "-p", "shared_inbox_mock"])
        .env("MYPYPATH", &site));

    run(newcomer(&python, home.path()).args(["-c", EDGES_PYTHON]).env("PYTHONPATH", &site));

    // A test that fails shows what the app asked for.
    let failing = "import urllib.request as it\n\ndef test_it(shared_inbox):\n    it.urlopen(it.Request(shared_inbox.base_url + '/me', headers={'Authorization': 'Bearer ' + shared_inbox.live_key}))\n    shared_inbox.control.expect({'of': 'outbox', 'where': {'text': 'never'}})\n";
    fs::write(home.path().join("test_failing.py"), failing).expect("a file");
    let mut pytest = newcomer(&python, home.path());
    let ended = pytest.args(["-m", "pytest", "-q", "test_failing.py"]).env("PYTHONPATH", &site).output();
    let said = text(&ended.expect("it runs").stdout);
    assert!(
        said.contains("NotMet: Expected at least 1 of outbox") && said.contains("GET /api/v1/me"),
        "{said}"
    );
    assert!(!said.contains("rk_live_"), "{said}");
}

#[test]
fn an_npm_package_carries_the_mock_into_the_tests_of_a_node_receiver() {
    let home = tempfile::tempdir().expect("a directory");
    let Some((node, modules)) = with_npm(home.path()) else { return };
    example("node_receiver", home.path());
    let package = fs::read_to_string(home.path().join("package.json")).expect("it was copied");
    for version in [r#""standardwebhooks": "^1.1.1""#.to_owned(), format!(r#""vitest": "^{NEWEST_VITEST}""#)]
    {
        assert!(package.contains(&version), "what is tested here is what it installs: {version}");
    }
    let said = run(newcomer(&node, home.path()).arg("--test"));
    assert!(said.contains("pass 2") && said.contains("fail 0"), "{said}");
    let mut vitest = newcomer(&node, home.path());
    let said = run(vitest.arg(modules.join("vitest/vitest.mjs")).args(["run", "receiver.spec"]));
    assert!(said.contains("1 passed"), "{said}");
    fs::write(home.path().join("edges.mjs"), EDGES_NODE).expect("a file");
    run(newcomer(&node, home.path()).arg("edges.mjs"));
    let cli = modules.join("shared-inbox-mock/cli.js");
    assert!(run(newcomer(&node, home.path()).arg(cli).arg("--help")).contains("--control-token"));

    let typed = "import { expect } from 'vitest';\nimport { test } from 'shared-inbox-mock/vitest';\nimport { Server } from 'shared-inbox-mock';\ntest('it', async ({ world }) => {\n    const made = await world.control.inbound({ to: await world.inbox(), from: 'a@b.example', text: 'Hello' });\n    expect(made.conversationId satisfies string).toBeTruthy();\n    // @ts-expect-error: there is no such field\n    await world.control.inbound({ too: 'x' });\n    await using server = await Server.start('--rate-limit=off');\n    void server;\n});\n";
    let explored = "\nimport { explore, type ExploreWorld } from 'shared-inbox-mock/explore';\nconst app = async (world: ExploreWorld): Promise<void> => void (world.stateDir satisfies string, world.liveKey);\nconst report = await explore(app, { mails: ['Hello', { text: 'Hi', risk: 'phishing' }], check: (world) => world.control.listOutbox(), expect: [{ of: 'outbox', count: 2 }] });\nreport.findings[0]?.tests.typescript satisfies string | undefined;\n// @ts-expect-error: there is no such option\nawait explore(app, { mail: [] });\n";
    fs::write(home.path().join("typed.ts"), format!("{typed}{explored}")).expect("a file");
    run(newcomer(&node, home.path()).arg(modules.join("typescript/bin/tsc")).args([
        "typed.ts",
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--skipLibCheck",
        "--preserveSymlinks",
        "--types",
        "node",
    ]));
}
