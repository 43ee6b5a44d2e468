// What the fixtures of both test runners share.

import { Server, Unreachable } from './index.js';

/** How often a worker looks whether its runner is still there, in milliseconds. */
const POLL_INTERVAL = 200;

/** Starts a server that ends with the test runner. A worker process may live on, and hang, when its runner was killed. */
export async function startServer() {
    const server = await Server.start();
    whenRunnerIsGone(() => server.stop());
    return server;
}

/** Calls back once when the test runner of this worker is gone. Returns the timer that looks for it. */
export function whenRunnerIsGone(stop) {
    // In a thread, or without workers, the runner is this process itself.
    const isWorker = process.send || process.env.NODE_TEST_CONTEXT;
    if (!isWorker) return undefined;
    const runner = process.ppid;
    const timer = setInterval(() => {
        if (process.ppid === runner) return;
        clearInterval(timer);
        stop();
    }, POLL_INTERVAL);
    return timer.unref();
}

/** Returns what the app asked for, or why that cannot be told. */
export function journalOf(world) {
    return world.journal().catch((gone) => gone.message);
}

/** Returns a sentence about each thing that a test set up and that had no effect. */
export async function unusedIn(world) {
    return (await world.control.listUnused().catch(() => [])).map((it) => it.message);
}

/** Returns the options of a world, and whether what had no effect fails the test. */
export function splitStrict({ strict = false, ...world } = {}) {
    if (typeof strict !== 'boolean') throw new TypeError(`strict must be true or false, not ${strict}`);
    return { strict, world };
}

/** Ends a world. A server that has ended fails the tests that use it, and not this. */
export async function endWorld(server, world) {
    await server.end(world).catch((error) => {
        if (!(error instanceof Unreachable)) throw error;
    });
}
