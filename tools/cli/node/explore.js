// Explores what can go wrong around a function: `shared-inbox-mock explore`, driven over its stdin and stdout.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { World, program } from './index.js';
import { whenRunnerIsGone } from './runner.js';

export class Found extends Error {
    constructor(text, report) {
        super(text);
        this.name = 'Found';
        this.report = report;
    }
}

export class ExploreWorld extends World {
    constructor(ready) {
        super(ready);
        this.stateDir = ready.state_dir;
        this.time = ready.time;
    }
}

export async function explore(app, options) {
    const command = Array.isArray(app) ? app : undefined;
    if (!command && typeof app !== 'function') throw new TypeError(`app must be a function that takes a world, or a command as a list of its words, not ${inspect(app)}`);
    if (options === null || typeof options !== 'object') throw new TypeError(`The options must be an object such as { mails: ['Hello'] }, not ${inspect(options)}`);
    const { check, minSingles, strict, ...others } = options;
    if (check !== undefined && typeof check !== 'function') throw new TypeError(`check must be a function that takes a world, not ${inspect(check)}`);
    const child = spawn(program(), ['explore', '--pipe'], { stdio: ['pipe', 'pipe', 'pipe'] });
    const watch = whenRunnerIsGone(() => child.stdin.destroy());
    let log = '';
    child.stderr.on('data', (text) => (log = (log + text).slice(-10_000)));
    child.stdin.on('error', () => {});
    const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    const send = (line) => child.stdin.write(`${JSON.stringify(line)}\n`);
    let last = {};
    let failed;
    try {
        send({ language: 'typescript', function: { name: app.name || 'app' }, check: check !== undefined, options: { command, ...others } });
        for await (const line of createInterface({ input: child.stdout })) {
            last = JSON.parse(line);
            const number = last.run ?? last.check;
            if (number === undefined) break;
            try {
                await (last.run ? app : check)(new ExploreWorld(last.world));
                send({ done: number });
            } catch (error) {
                failed = error;
                send({ failed: number, error: String(error) });
            }
        }
    } finally {
        // Its end: it watches its stdin.
        clearInterval(watch);
        child.stdin.destroy();
        await ended;
    }
    if (last.wrong) throw new TypeError(last.wrong);
    if (!last.report) throw new Error(`explore could not run: ${last.error ?? (log.trim() || 'shared-inbox-mock has ended')}`, { cause: failed });
    if (last.report.findings.length) throw new Found(last.text, last.report);
    if (last.report.verdict !== 'held') throw new Error(`explore could not run: ${last.report.why ?? 'it was interrupted'}`);
    const { tried } = last.report.coverage.singles;
    if (minSingles !== undefined && tried < minSingles) throw new Found(`${tried} single steps were tried, fewer than minSingles: ${minSingles}: ${last.text}`, last.report);
    if (strict && last.report.notJudged.length) throw new Found(`not everything could be judged: ${last.text}`, last.report);
    // A test that passes is not silent: runners show it with the test.
    console.info(`shared-inbox explore: ${last.text}`);
    return last.report;
}
