// For vitest: one server for the file, a world for each test, and the journal of a test that failed.

import { test as base } from 'vitest';
import { Server } from './index.js';

export const test = base.extend({
    worldOptions: [{}, { injected: true }],
    server: [
        async ({}, use) => {
            const server = await Server.start();
            await use(server);
            await server.stop();
        },
        { scope: 'file' },
    ],
    world: async ({ server, worldOptions, task }, use) => {
        const world = await server.world(worldOptions);
        await use(world);
        if (task.result?.state === 'fail') console.error(`what the app asked of the shared inbox:\n${await world.journal()}`);
        await server.end(world);
    },
});
