// For node's own test runner: one server for the file, a world for each test, and the journal of a test that failed.

import { after, test as nodeTest } from 'node:test';
import { Server, Unreachable } from './index.js';

let server;
after(async () => (await server?.catch(() => undefined))?.stop());

const define = (run) => (...takes) => {
    const body = takes.findLast((it) => typeof it === 'function');
    const { world: start, ...options } = takes.find((it) => typeof it === 'object' && it) ?? {};
    const name = takes.find((it) => typeof it === 'string') ?? body?.name;
    if (!body) return run(name, options);
    return run(name, options, async (context) => {
        server ??= Server.start();
        const world = await (await server).world(start);
        try {
            await body(world, context);
        } catch (error) {
            const journal = await world.journal().catch((gone) => gone.message);
            for (const line of ['What the app asked of the shared inbox:', ...journal.split('\n')]) context.diagnostic(line);
            throw error;
        } finally {
            await endUnlessGone(await server, world);
        }
    });
};

/** Ends a world. A server that has ended fails the tests that use it, and not this. */
async function endUnlessGone(server, world) {
    await server.end(world).catch((error) => {
        if (!(error instanceof Unreachable)) throw error;
    });
}

export const test = define(nodeTest);
for (const kind of ['skip', 'only', 'todo']) test[kind] = define(nodeTest[kind]);
