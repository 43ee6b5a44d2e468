// Explored with node's own runner: the first fails with what was found, the last waits to be ended.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { explore } from 'shared-inbox-mock/explore';
import { blind, correct, mails } from './explored.mjs';

test('breaks a rule', () => explore(blind, { mails, seconds: 600, schedules: 200 }));

test('holds', async () => {
    const report = await explore(correct, { mails, seconds: 600, schedules: 30 });
    assert.equal(report.verdict, 'held');
});

test('waits', { skip: !process.env.WAITS }, async () => {
    const app = async () => {
        writeFileSync('started', '');
        await new Promise((resolve) => setTimeout(resolve, 600_000));
    };
    await explore(app, { mails, appTimeout: 600 });
});
