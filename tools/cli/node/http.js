// One call of the control API, with nothing but what Node brings.

/** The server did not do it, and says why. */
export class Refused extends Error {
    constructor(status, error) {
        super(`${status}: ${error}`);
        this.name = 'Refused';
        this.status = status;
        this.error = error;
    }
}

/** What a test expected did not happen; the message says what came nearest. */
export class NotMet extends Error {
    constructor(error) {
        super(error);
        this.name = 'NotMet';
    }
}

/** The server did not respond. */
export class Unreachable extends Error {
    constructor(message, cause) {
        super(message, { cause });
        this.name = 'Unreachable';
    }
}

export class Caller {
    #token;
    #howItEnded;

    constructor(url, token, howItEnded = async () => undefined) {
        this.url = url.replace(/\/$/, '');
        this.#token = token;
        this.#howItEnded = howItEnded;
    }

    async call(method, path, body, query = {}) {
        // Taken before anything is awaited: afterwards the line of the test is lost.
        const from = callers();
        const url = new URL(this.url + path);
        for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null) url.searchParams.set(name, value);
        const headers = { 'Content-Type': 'application/json' };
        if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
        let response, text;
        try {
            response = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
            text = await response.text();
        } catch (error) {
            const ended = await this.#howItEnded();
            const reason = error.cause?.message || error.cause?.code || error.message;
            throw at(from, ended ? new Unreachable(ended) : new Unreachable(`The mock server at ${this.url} does not respond: ${reason}`, error));
        }
        if (response.ok) return text ? JSON.parse(text) : undefined;
        const sentence = said(text);
        throw at(from, path === '/expect' && response.status === 409 ? new NotMet(sentence) : new Refused(response.status, sentence));
    }
}

const HERE = new URL('.', import.meta.url).href;

/** The stack without the files of this package, so that it begins in the test. */
function callers() {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = stackTraceLimit + 5;
    const { stack } = new Error();
    Error.stackTraceLimit = stackTraceLimit;
    return stack.split('\n').slice(1).filter((line) => !line.includes(HERE));
}

function at(from, error) {
    error.stack = [`${error.name}: ${error.message}`, ...from].join('\n');
    return error;
}

function said(text) {
    try {
        return String(JSON.parse(text).error);
    } catch {
        return 'The server did not say why.';
    }
}
