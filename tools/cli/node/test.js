// For node's own test runner: one server for the file, a world for each test, and the journal of a test that failed.

import { after, test as nodeTest } from 'node:test';
import { endWorld, journalOf, splitStrict, startServer, unusedIn } from './runner.js';

let server;
after(async () => (await server?.catch(() => undefined))?.stop());

const define = (run) => (...takes) => {
    const body = takes.findLast((it) => typeof it === 'function');
    const { world: start, ...options } = takes.find((it) => typeof it === 'object' && it) ?? {};
    const name = takes.find((it) => typeof it === 'string') ?? body?.name;
    if (!body) return run(name, options);
    return run(name, options, async (context) => {
        server ??= startServer();
        const { strict, world: options } = splitStrict(start);
        const world = await (await server).world(options);
        try {
            await body(world, context);
            const unused = await unusedIn(world);
            if (strict && unused.length) throw new Error(`The test set up what had no effect:\n${unused.join('\n')}`);
            for (const message of unused) context.diagnostic(`warning: ${message}`);
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
