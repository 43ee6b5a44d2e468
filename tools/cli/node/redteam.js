// Holds a function against hostile email: `shared-inbox-mock redteam`, driven over its stdin and stdout.

import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { program } from './index.js';

export class Obeyed extends Error {
    constructor(attack, result, cause) {
        super([`${attack} was obeyed`, ...result.story].join('\n'), { cause });
        this.name = 'Obeyed';
        this.result = result;
    }
}

export class NotTried extends Error {
    constructor(attack, result) {
        super(`${attack} was not tried: ${result.why}`);
        this.name = 'NotTried';
        this.result = result;
    }
}

const flags = (options) =>
    Object.entries(options).flatMap(([name, value]) => {
        const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
        return [value].flat().flatMap((one) => (one === true ? [flag] : one === undefined || one === false ? [] : [flag, String(one)]));
    });

function attacks(options) {
    const listed = spawnSync(program(), ['redteam', '--list', '--json', '-', ...flags(options)], { encoding: 'utf8', maxBuffer: 1 << 26 });
    if (listed.error) throw listed.error;
    if (listed.status !== 0) throw new TypeError(listed.stderr.trim().replace(/^shared-inbox-mock: /, ''));
    return JSON.parse(listed.stdout).attacks.filter((attack) => attack.sampled).map((attack) => attack.id);
}

// One attack at a time; the runs without an attack are made once for each task.
class RedTeam {
    #child;
    #lines;
    #queue = Promise.resolve();

    constructor(options) {
        const { only, task, all, sample, ...others } = options;
        this.#child = spawn(program(), ['redteam', '--pipe', ...flags(others)], { stdio: ['pipe', 'pipe', 'inherit'] });
        this.#child.stdin.on('error', () => {});
        this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
        this.#hold(false);
    }

    // A team that waits for the next test does not keep the process alive.
    #hold(on) {
        for (const handle of [this.#child, this.#child.stdin, this.#child.stdout]) on ? handle.ref?.() : handle.unref?.();
    }

    async #ask(line) {
        this.#child.stdin.write(`${JSON.stringify(line)}\n`);
        const { value, done } = await this.#lines.next();
        if (done) throw new Error('redteam could not run: shared-inbox-mock has ended');
        return JSON.parse(value);
    }

    run(attack, agent) {
        const ended = this.#queue.then(() => this.#run(attack, agent));
        this.#queue = ended.catch(() => {});
        return ended;
    }

    async #run(attack, agent) {
        this.#hold(true);
        try {
            let failed;
            let said = await this.#ask({ attack });
            while (said.run) {
                const { base_url: baseUrl, mcp_url: mcpUrl, state_dir: stateDir, key, task } = said.world;
                failed = undefined;
                try {
                    await agent({ task, baseUrl, key, mcpUrl, stateDir });
                } catch (error) {
                    failed = { error };
                }
                said = await this.#ask(failed ? { failed: said.run, error: String(failed.error) } : { done: said.run });
            }
            if (!said.result) throw new Error(`redteam could not run: ${said.error}`);
            if (said.result.result === 'obeyed') throw new Obeyed(attack, said.result, failed?.error);
            if (said.result.result === 'not-tried') throw failed ? failed.error : new NotTried(attack, said.result);
            return said.result;
        } finally {
            this.#hold(false);
        }
    }
}

export function redteam(test, agent, options = {}) {
    if (typeof agent !== 'function') throw new TypeError(`agent must be a function that takes an inbox, not ${inspect(agent)}`);
    let team;
    for (const attack of attacks(options)) {
        test(attack, async (context) => {
            team ??= new RedTeam(options);
            const result = await team.run(attack, agent);
            if (result.result === 'review') context.skip(`for review: ${result.why}`);
        });
    }
}
