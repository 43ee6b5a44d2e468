// The receiver's tests with node's own runner: `node --test`. Each has a world of its own.

import assert from 'node:assert/strict';
import { test } from 'shared-inbox-mock/test';
import { running } from './running.mjs';

test('an urgent mail is noted, once, whatever happens on the way', { world: { empty: true } }, async (world) => {
    const app = await running(world);
    await world.control.addFault({ webhook: '*', effect: { twice: true } });
    await world.control.addFault({ path: '/conversations/*', times: 1, effect: { status: 503 } });
    await app.writes('I want a refund today!');
    await world.control.expect({ of: 'deliveries', where: { outcome: 'delivered' }, withinSeconds: 3600 });
    await world.control.expect({ of: 'requests', where: { method: 'POST', path: '/conversations/*/notes' }, count: 1, withinSeconds: 3600 });
    assert.deepEqual(await app.notes(), ['Sounds urgent.']);
    app.close();
});

test('a forged event changes nothing', { world: { empty: true } }, async (world) => {
    const app = await running(world);
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' };
    assert.equal((await fetch(app.url, { method: 'POST', headers, body: '{"type":"client.replied"}' })).status, 400);
    await world.control.expect({ of: 'requests', count: 0 });
    app.close();
});
