/** The server did not do it, and says why. */
export class Refused extends Error {
    /** The HTTP status. */
    readonly status: number;
    /** The server's sentence. */
    readonly error: string;
}

/** What a test expected did not happen; the message says what came nearest. */
export class NotMet extends Error {}

/** The server did not respond; the message says how it ended, if it has. */
export class Unreachable extends Error {}

/** Where a world is controlled, and the token for it where one is needed. */
export class Caller {
    constructor(url: string, token?: string);
    /** The address of the control API. */
    readonly url: string;
}
