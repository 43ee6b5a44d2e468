// Explored with vitest: the first fails with what was found.

import { writeFileSync } from 'node:fs';
import { explore } from 'shared-inbox-mock/explore';
import { expect, test } from 'vitest';
import { blind, correct, mails } from './explored.mjs';

const MINUTES = 600_000;
const bounds = { mails, seconds: 600 };

test('breaks a rule', () => explore(blind, { ...bounds, schedules: 200 }), MINUTES);

test('breaks it again', async () => {
    const found = await explore(blind, { mails, replay: '1_0_lost-after@reply.0' }).catch((error) => error);
    expect(found.message).toContain('never-twice');
    expect(found.report.schedules).toBe(1);
    const imports = "import { explore } from 'shared-inbox-mock/explore';\nimport { test } from 'vitest';\nimport { blind, correct } from './explored.mjs';\n\n";
    writeFileSync('printed.test.ts', imports + found.report.findings[0].tests.typescript);
}, MINUTES);

test('holds', async () => {
    const report = await explore(correct, { ...bounds, schedules: 30 });
    expect(report).toMatchObject({ verdict: 'held', schedules: 30 });
}, MINUTES);

test('a floor that is not reached fails', async () => {
    await explore(correct, { ...bounds, schedules: 4, minSingles: 4, strict: true });
    await expect(explore(correct, { ...bounds, schedules: 4, minSingles: 5 })).rejects.toThrow('4 single steps were tried, fewer than minSingles: 5: nothing found: 4 of ');
}, MINUTES);

test('a check is an oracle', async () => {
    const check = async (world) => expect((await world.control.listRequests()).map((it) => it.status)).not.toContain(null);
    await expect(explore(correct, { ...bounds, check, schedules: 200 })).rejects.toThrow('check does not hold: AssertionError');
}, MINUTES);

test('a wrong option is named', async () => {
    await expect(explore(correct, { mails: [] })).rejects.toThrow('mails: must have');
    await expect(explore(correct, { mails, appTimeout: 0 })).rejects.toThrow('appTimeout: 0 is no number');
    await expect(explore(correct, { mails, colour: 'red' })).rejects.toThrow('colour: is no option');
    await expect(explore('correct', { mails })).rejects.toThrow('app must be a function');
});

test('an app that fails by itself', async () => {
    const failed = await explore(() => Promise.reject(new Error('by itself')), { mails }).catch((error) => error);
    expect(failed.message).toContain('the run without trouble breaks a rule');
    expect(failed.cause.message).toBe('by itself');
}, MINUTES);
