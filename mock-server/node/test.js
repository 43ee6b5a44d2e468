// For node's own test runner: one server for the file, a world for each test, and the journal of a test that failed.

import { after, test as nodeTest } from 'node:test';
import { endWorld, journalOf, startServer } from './runner.js';

let server;
after(async () => (await server?.catch(() => undefined))?.stop());

const define = (run) => (...takes) => {
    const body = takes.findLast((it) => typeof it === 'function');
    const { world: start, ...options } = takes.find((it) => typeof it === 'object' && it) ?? {};
    const name = takes.find((it) => typeof it === 'string') ?? body?.name;
    if (!body) return run(name, options);
    return run(name, options, async (context) => {
        server ??= startServer();
        const world = await (await server).world(start);
        try {
            await body(world, context);
        } catch (error) {
            const journal = await journalOf(world);
            for (const line of ['What the app asked of the shared inbox:', ...journal.split('\n')]) context.diagnostic(line);
            throw error;
        } finally {
            await endWorld(await server, world);
        }
    });
};

export const test = define(nodeTest);
for (const kind of ['skip', 'only', 'todo']) test[kind] = define(nodeTest[kind]);
