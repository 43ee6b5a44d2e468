// A mock server for as long as it is needed, and worlds in it.

import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { Control } from './control.js';

export { Control } from './control.js';
export { NotMet, Refused, Unreachable } from './http.js';

export function program() {
    const named = process.env.SHARED_INBOX_MOCK;
    if (named && !statSync(named, { throwIfNoEntry: false })?.isFile()) throw withoutStack(`SHARED_INBOX_MOCK names ${named}, which is not there.`);
    if (named && !isExecutable(named)) throw withoutStack(`SHARED_INBOX_MOCK names ${named}, which is not executable.`);
    if (named) return named;
    const name = `shared-inbox-mock-${process.platform}-${process.arch}`;
    try {
        return createRequire(import.meta.url).resolve(`${name}/bin/shared-inbox-mock${process.platform === 'win32' ? '.exe' : ''}`);
    } catch {
        throw withoutStack(`The package ${name} is not there. Install shared-inbox-mock again with its optional packages, or name the program in SHARED_INBOX_MOCK.`);
    }
}

function isExecutable(file) {
    try {
        accessSync(file, constants.X_OK);
        return true;
    } catch {
        return false;
    }
}

export class World {
    constructor(ready, howItEnded) {
        this.baseUrl = ready.base_url;
        this.mcpUrl = ready.mcp_url;
        this.liveKey = ready.keys.live;
        this.testKey = ready.keys.test;
        this.consoleUrl = ready.console_url;
        this.control = new Control(ready.control_url, undefined, howItEnded);
    }

    /** Keys stay out of what is printed. */
    [Symbol.for('nodejs.util.inspect.custom')]() {
        return `World(${this.control.url})`;
    }

    async inbox() {
        const there = (await this.control.listMailboxes()).find((it) => it.owner === null && !it.sandbox);
        return (there ?? (await this.control.createMailbox({ address: 'help@team.example', name: 'Help' }))).address;
    }

    async journal() {
        const lines = (await this.control.listRequests({ limit: 1000 })).map((it) => {
            const asked = it.tool ?? `${it.method} ${it.path}${it.query ? `?${it.query}` : ''}`;
            return `${it.at}  ${it.status ?? 'no response'}  ${asked}${it.requestBody ? `  ${JSON.stringify(it.requestBody)}` : ''}`;
        });
        return lines.join('\n') || 'The app asked for nothing.';
    }
}

export class Server {
    #process;
    #log = '';
    #ended;

    static async start(...flags) {
        const command = program();
        const server = new Server();
        // When this process is gone, however that came, the pipe to the program's stdin closes, and the program ends.
        const fixed = ['--listen', '127.0.0.1:0', '--json', '--quiet', '--exit-with-parent'];
        const child = spawn(command, [...fixed, ...flags], { stdio: ['pipe', 'pipe', 'pipe'] });
        server.#process = child;
        child.stderr.on('data', (text) => (server.#log = (server.#log + text).slice(-10_000)));
        child.stdin.on('error', () => {});
        server.#ended = new Promise((resolve) => child.once('close', (status, signal) => resolve(signal ? `by signal ${signal}` : `with status ${status}`)));
        const line = await new Promise((resolve, reject) => {
            createInterface({ input: child.stdout }).once('line', resolve);
            child.once('error', reject);
            child.once('close', () => reject(new Error(`${command} did not start: ${server.#log.trim()}`)));
        });
        // The server must not keep a test runner alive that has done its work.
        for (const it of [child, ...child.stdio]) it.unref();
        server.main = new World(JSON.parse(line), () => server.#howItEnded());
        return server;
    }

    async world(options = {}) {
        const { empty = false, seed, clock = 'manual', ...others } = checked(options);
        const [unknown] = Object.keys(others);
        if (unknown) throw new TypeError(`A world has no option ${unknown}; its options are empty, seed and clock.`);
        if (typeof empty !== 'boolean') throw new TypeError(`empty must be true or false, not ${inspect(empty)}`);
        if (!['manual', 'real'].includes(clock)) throw new TypeError(`clock must be 'manual' or 'real', not ${inspect(clock)}`);
        if (empty && seed !== undefined) throw new TypeError('empty and seed exclude each other');
        return new World(await this.main.control.createWorld({ clock, empty, seed }), () => this.#howItEnded());
    }

    async end(world) {
        await this.main.control.deleteWorld(world.control.url.split('/').at(-1));
    }

    async stop() {
        // Whoever waits for the end stays alive until then.
        for (const it of [this.#process, ...this.#process.stdio]) it.ref();
        this.#process.stdin.destroy();
        await this.#ended;
    }

    /** One line about a server that has ended. */
    async #howItEnded() {
        // Its sockets close a moment before it has ended.
        const running = new Promise((resolve) => setTimeout(resolve, 1000));
        const how = await Promise.race([this.#ended, running]);
        const said = this.#log.trim().split('\n').at(-1);
        return how && `shared-inbox-mock has ended, ${how}.${said ? ` It said: ${said}` : ''}`;
    }

    async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
        await this.stop();
    }
}

/** An error that no line is to blame for: its sentence alone is shown. */
function withoutStack(message) {
    const error = new Error(message);
    error.stack = `Error: ${message}`;
    return error;
}

function checked(options) {
    if (options === null || typeof options !== 'object') throw new TypeError(`The options of a world must be an object such as { empty: true }, not ${inspect(options)}`);
    return options;
}
