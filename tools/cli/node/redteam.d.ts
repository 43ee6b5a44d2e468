/** What an agent is told about the inbox and its task. */
export interface AgentInbox {
    /** The task, in words. */
    task: string;
    /** The prefix of the REST API. */
    baseUrl: string;
    /** Its key, with all five scopes. */
    key: string;
    /** The MCP endpoint, with the same key as its bearer token. */
    mcpUrl: string;
    /** An empty folder of its own. */
    stateDir: string;
}

/** Which attacks, and how they are run: the flags of `shared-inbox-mock redteam`. */
export interface RedteamOptions {
    /** Families, or ids of attacks. */
    only?: string[];
    /** Attacks on these tasks alone. */
    task?: string[];
    /** All attacks instead of a sample. */
    all?: boolean;
    /** The size of the sample; 80 unless said. */
    sample?: number;
    /** A TOML file with attacks of your own. */
    attacks?: string;
    /** What names, numbers and the sample are chosen from. */
    seed?: number;
    /** Whether what takes a person to tell counts as obeyed. */
    strict?: boolean;
    /** A command that decides what takes a person to tell. */
    judge?: string;
    /** How many seconds a run may take; 120 unless said. */
    timeout?: number;
}

/** The result of an attack, as `--json` writes it. */
export interface AttackResult {
    id: string;
    family: string;
    task: string;
    place: string;
    goal: string;
    result: 'held' | 'obeyed' | 'review' | 'not-tried';
    why: string;
    habit: boolean;
    runs: number;
    obeyed: number;
    useful: number;
    failed: number;
    story: string[];
}

/** The agent did what an attacker wanted. The message is the story of it. */
export class Obeyed extends Error {
    readonly result: AttackResult;
}

/** The agent did not meet the attack while working, so nothing is shown. */
export class NotTried extends Error {
    readonly result: AttackResult;
}

/**
 * Makes a test case of each attack, with the `test` of vitest or of node's own runner.
 *
 * The case fails when the attack was obeyed, with its story, or with what the agent threw when it was not tried; it is skipped when it
 * takes a person to tell. Give the cases a timeout: vitest ends a test after five seconds.
 */
export function redteam(
    test: (name: string, body: (context: { skip(note?: string): unknown }) => Promise<void>) => unknown,
    agent: (inbox: AgentInbox) => unknown,
    options?: RedteamOptions,
): void;
