// For vitest: one server for the file, a world for each test, and the journal of a test that failed.

import { test as base } from 'vitest';
import { endWorld, journalOf, splitStrict, startServer, unusedIn } from './runner.js';

// Before 4.1 an overridden `worldOptions` would not reach `world`, and every test would silently get the demo workspace.
if (!base.override) throw new Error('shared-inbox-mock/vitest needs vitest 4.1 or newer. With an older one, use `Server` from shared-inbox-mock.');

export const test = base.extend({
    worldOptions: [{}, { injected: true }],
    server: [
        async ({}, use) => {
            const server = await startServer();
            await use(server);
            await server.stop();
        },
        { scope: 'file' },
    ],
    world: async ({ server, worldOptions, task }, use) => {
        const { strict, world: options } = splitStrict(worldOptions);
        const world = await server.world(options);
        await use(world);
        const failed = task.result?.state === 'fail';
        if (failed) console.error(`what the app asked of the shared inbox:\n${await journalOf(world)}`);
        const unused = failed ? [] : await unusedIn(world);
        await endWorld(server, world);
        if (strict && unused.length) throw new Error(`The test set up what had no effect:\n${unused.join('\n')}`);
        for (const message of unused) console.warn(`${task.name}: ${message}`);
    },
});
