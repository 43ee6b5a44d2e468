//! The mock without Rust: the packages for Python and Node, used by the tests of a small app.
//! `scripts/check-packages` packs and installs them.

use std::fs;

use crate::{
    fixtures::project::{CLI, NEWEST_VITEST, Project},
    run::{assert_has, ended, finish, root},
};

/// What no test of an app shows: a flag that is none is named, an id cannot leave its place in a path, and a
/// world that has ended lets nobody in.
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

/// A project with the files of an example, as whoever has found it would copy them.
fn project_of(example: &str) -> Project {
    let project = Project::new();
    for file in fs::read_dir(root().join("examples").join(example)).expect("the example is there") {
        let file = file.expect("a file").path();
        if file.is_file() {
            fs::copy(&file, project.home.path().join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    project
}

#[test]
fn the_package_for_python_serves_the_tests_of_a_flask_app_and_is_typed() {
    let project = project_of("flask_app");
    assert_has(&finish(project.pytest("test_app.py").arg("-q")), &["4 passed"]);
    finish(project.python().args(["-c", EDGES_PYTHON]));
    let mut mypy = project.python();
    mypy.args(["-m", "mypy", "--strict", "-p", "shared_inbox_mock"]);
    finish(mypy.env("MYPYPATH", root().join("tools/cli/python")));

    // A test that fails shows what the app asked for.
    let failing = "import urllib.request as it\n\ndef test_it(shared_inbox):\n    it.urlopen(it.Request(shared_inbox.base_url + '/me', headers={'Authorization': 'Bearer ' + shared_inbox.live_key}))\n    shared_inbox.control.expect({'of': 'outbox', 'where': {'text': 'never'}})\n";
    fs::write(project.home.path().join("test_failing.py"), failing).expect("a file");
    let (said, _) = ended(project.pytest("test_failing.py"));
    assert_has(&said, &["NotMet: Expected at least 1 of outbox", "GET /api/v1/me"]);
    assert!(!said.contains("rk_live_"), "{said}");
}

#[test]
fn the_package_for_node_serves_the_tests_of_a_receiver_and_is_typed() {
    let project = project_of("node_receiver");
    let package = fs::read_to_string(project.home.path().join("package.json")).expect("it was copied");
    let vitest = format!(r#""vitest": "^{NEWEST_VITEST}""#);
    assert_has(&package, &[r#""standardwebhooks": "^1.1.1""#, &vitest]);
    let node = |arguments: &[&str]| finish(project.node(NEWEST_VITEST).args(arguments));
    assert_has(&node(&["--test", "receiver.test.mjs"]), &["pass 2", "fail 0"]);
    assert_has(&finish(&mut project.vitest(NEWEST_VITEST, &["receiver.spec"])), &["1 passed"]);
    fs::write(project.home.path().join("edges.mjs"), EDGES_NODE).expect("a file");
    node(&["edges.mjs"]);
    assert_has(&node(&[CLI, "--help"]), &["--control-token"]);

    let typed = "import { expect } from 'vitest';\nimport { test } from 'shared-inbox-mock/vitest';\nimport { Server } from 'shared-inbox-mock';\ntest('it', async ({ world }) => {\n    const made = await world.control.inbound({ to: await world.inbox(), from: 'a@b.example', text: 'Hello' });\n    expect(made.conversationId satisfies string).toBeTruthy();\n    // @ts-expect-error: there is no such field\n    await world.control.inbound({ too: 'x' });\n    await using server = await Server.start('--rate-limit=off');\n    void server;\n});\n";
    let explored = "\nimport { explore, type ExploreWorld } from 'shared-inbox-mock/explore';\nconst app = async (world: ExploreWorld): Promise<void> => void (world.stateDir satisfies string, world.liveKey);\nconst report = await explore(app, { mails: ['Hello', { text: 'Hi', risk: 'phishing' }], check: (world) => world.control.listOutbox(), expect: [{ of: 'outbox', count: 2 }] });\nreport.findings[0]?.tests.typescript satisfies string | undefined;\n// @ts-expect-error: there is no such option\nawait explore(app, { mail: [] });\n";
    fs::write(project.home.path().join("typed.ts"), format!("{typed}{explored}")).expect("a file");
    let strict =
        ["node_modules/typescript/bin/tsc", "typed.ts", "--strict", "--noEmit", "--module", "nodenext"];
    let also = ["--target", "es2022", "--skipLibCheck", "--preserveSymlinks", "--types", "node"];
    node(&[&strict[..], &also[..]].concat());
}
