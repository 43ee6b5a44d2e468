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

export class Caller {
    #token;

    constructor(url, token) {
        this.url = url.replace(/\/$/, '');
        this.#token = token;
    }

    async call(method, path, body, query = {}) {
        const url = new URL(this.url + path);
        for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null) url.searchParams.set(name, value);
        const headers = { 'Content-Type': 'application/json' };
        if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
        const answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
        const text = await answer.text();
        if (answer.ok) return text ? JSON.parse(text) : undefined;
        const sentence = said(text);
        throw path === '/expect' && answer.status === 409 ? new NotMet(sentence) : new Refused(answer.status, sentence);
    }
}

function said(text) {
    try {
        return String(JSON.parse(text).error);
    } catch {
        return 'The server did not say why.';
    }
}
