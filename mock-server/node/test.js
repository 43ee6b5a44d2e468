// For node's own test runner: one server for the file, a world for each test, and the journal of a test that failed.

import { after, test as nodeTest } from 'node:test';
import { Server } from './index.js';

let server;
after(async () => (await server)?.stop());

export function test(name, options, body) {
    if (typeof options === 'function') return test(name, {}, options);
    const { world: start, ...rest } = options;
    return nodeTest(name, rest, async (context) => {
        server ??= Server.start();
        const world = await (await server).world(start);
        try {
            await body(world, context);
        } catch (error) {
            for (const line of ['What the app asked of the shared inbox:', ...(await world.journal()).split('\n')]) context.diagnostic(line);
            throw error;
        } finally {
            await (await server).end(world);
        }
    });
}
