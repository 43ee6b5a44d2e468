// A mock server for as long as it is needed, and worlds in it.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { Control } from './control.js';

export { Control } from './control.js';
export { NotMet, Refused } from './http.js';


export function program() {
    if (process.env.SHARED_INBOX_MOCK) return process.env.SHARED_INBOX_MOCK;
    const name = `shared-inbox-mock-${process.platform}-${process.arch}`;
    try {
        return createRequire(import.meta.url).resolve(`${name}/bin/shared-inbox-mock${process.platform === 'win32' ? '.exe' : ''}`);
    } catch {
        throw new Error(`The package ${name} is not there. Install shared-inbox-mock again with its optional packages, or name the program in SHARED_INBOX_MOCK.`);
    }
}

export class World {
    constructor(ready) {
        this.baseUrl = ready.base_url;
        this.mcpUrl = ready.mcp_url;
        this.liveKey = ready.keys.live;
        this.testKey = ready.keys.test;
        this.consoleUrl = ready.console_url;
        this.control = new Control(ready.control_url);
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
            return `${it.at}  ${it.status ?? 'no answer'}  ${asked}${it.requestBody ? `  ${JSON.stringify(it.requestBody)}` : ''}`;
        });
        return lines.join('\n') || 'The app asked for nothing.';
    }
}

export class Server {
    #process;

    static async start(...flags) {
        const command = program();
        if (!existsSync(command)) throw new Error(`${command} is not there.`);
        const child = spawn(command, ['--listen', '127.0.0.1:0', '--json', '--quiet', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
        let said = '';
        child.stderr.on('data', (text) => (said += text));
        const line = await new Promise((resolve, reject) => {
            createInterface({ input: child.stdout }).once('line', resolve);
            child.once('error', reject);
            child.once('close', () => reject(new Error(`${command} did not start: ${said.trim()}`)));
        });
        // What it says later is nobody's; read on, or a full pipe would stop it.
        child.stderr.removeAllListeners('data').resume();
        // The server must not keep a test runner alive that has done its work.
        child.unref();
        child.stdout.unref();
        child.stderr.unref();
        const server = new Server();
        server.#process = child;
        server.main = new World(JSON.parse(line));
        process.once('exit', () => child.kill());
        return server;
    }

    async world({ empty = false, seed, clock = 'manual' } = {}) {
        return new World(await this.main.control.createWorld({ clock, empty, seed }));
    }

    async end(world) {
        await this.main.control.deleteWorld(world.control.url.split('/').at(-1));
    }

    async stop() {
        if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
        const ended = new Promise((resolve) => this.#process.once('exit', resolve));
        this.#process.ref();
        this.#process.kill();
        await ended;
    }

    async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
        await this.stop();
    }
}
