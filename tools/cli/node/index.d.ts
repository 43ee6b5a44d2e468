/// <reference lib="esnext.disposable" />
import type { Control } from './control.js';

export * from './control.js';
export { NotMet, Refused, Unreachable } from './http.js';

/** The path of the program that came with this package; `SHARED_INBOX_MOCK` names another one. */
export function program(): string;

/** How a world starts. */
export interface WorldOptions {
    /** Nothing in it; otherwise the demo workspace. */
    empty?: boolean;
    /** The world document that it starts from. */
    seed?: unknown;
    /** `manual`: time stands until the test moves it. That is so unless said. */
    clock?: 'manual' | 'real';
}

/** How the world of a test starts, and how its end is judged. */
export interface TestWorldOptions extends WorldOptions {
    /** Fails a test that set up what had no effect, such as a fault that never fired; otherwise it is a warning. */
    strict?: boolean;
}

/** A workspace of its own: keys, data, clock, faults, journal and rate limits that nobody else touches. */
export class World {
    /** Where your app finds the API. */
    readonly baseUrl: string;
    /** Where an MCP client finds the tools. */
    readonly mcpUrl: string;
    /** A key for live data, with every scope. */
    readonly liveKey: string;
    /** A key for the sandbox, with every scope. */
    readonly testKey: string;
    /** A page to look at this world with. */
    readonly consoleUrl: string;
    /** What people, customers, time and bad luck do. */
    readonly control: Control;
    /** The address of the first team inbox, for mail of customers; one is made where there is none. */
    inbox(): Promise<string>;
    /** What the app asked for, a line each. */
    journal(): Promise<string>;
}

/** A running mock server. It ends with `stop`, with the scope of `await using`, and with this process, however that ends. */
export class Server {
    private constructor();
    /** Starts it on a free port. `flags` are those of the program. */
    static start(...flags: string[]): Promise<Server>;
    /** The world that is there from the start. */
    readonly main: World;
    /** A new world. */
    world(options?: WorldOptions): Promise<World>;
    /** Ends a world that `world` made; its keys answer 401 from then on. */
    end(world: World): Promise<void>;
    /** Ends the server. */
    stop(): Promise<void>;
    /** Ends the server at the end of the scope: `await using server = await Server.start()`. */
    [Symbol.asyncDispose](): Promise<void>;
}
