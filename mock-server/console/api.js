// The control API, as the server itself offers it: the page uses nothing else.

const TOKEN = 'control-token';

/** What the server refused, in its own words. */
export class Refused extends Error {
	/** @param {number} status @param {string} message */
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

/** The control API of one world. */
export class Api extends EventTarget {
	/** @param {string | null} world */
	constructor(world) {
		super();
		this.world = world;
		this.prefix = world ? `/_mock/worlds/${encodeURIComponent(world)}` : '/_mock';
	}

	get token() {
		return sessionStorage.getItem(TOKEN);
	}

	set token(token) {
		if (token) sessionStorage.setItem(TOKEN, token);
		else sessionStorage.removeItem(TOKEN);
	}

	/**
	 * @param {string} method
	 * @param {string} path
	 * @param {{ query?: Record<string, any>, body?: unknown, text?: string, signal?: AbortSignal, anyWorld?: boolean }} [more]
	 */
	async ask(method, path, { query, body, text, signal, anyWorld } = {}) {
		const parameters = new URLSearchParams();
		for (const [name, value] of Object.entries(query ?? {})) {
			if ((value ?? '') !== '') parameters.set(name, String(value));
		}
		const behind = parameters.size ? `?${parameters}` : '';
		/** @type {Record<string, string>} */
		const headers = {};
		if (this.token) headers.Authorization = `Bearer ${this.token}`;
		const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
		if (content !== undefined) headers['Content-Type'] = 'application/json';
		let response;
		try {
			const url = `${anyWorld ? '/_mock' : this.prefix}${path}${behind}`;
			response = await fetch(url, { method, headers, body: content, signal, cache: 'no-store' });
		} catch (error) {
			if (signal?.aborted) throw error;
			throw new Refused(0, 'The server cannot be reached. Is it still running?');
		}
		if (response.ok) return response;
		const said = await response.json().catch(() => null);
		if (response.status === 401) this.dispatchEvent(new Event('token-needed'));
		throw new Refused(response.status, said?.error ?? `The server answered ${response.status}.`);
	}

	/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
	async get(path, query, signal) {
		return (await this.ask('GET', path, { query, signal })).json();
	}

	/**
	 * A part of a long list, and how long the whole is.
	 * @param {string} path @param {Record<string, any>} query @param {AbortSignal} [signal]
	 * @returns {Promise<{ items: any[], total: number }>}
	 */
	async page(path, query, signal) {
		const response = await this.ask('GET', path, { query, signal });
		const items = await response.json();
		return { items, total: Number(response.headers.get('x-total-count') ?? items.length) };
	}

	/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
	async post(path, body = {}) {
		return answer(await this.ask('POST', path, { body }));
	}

	/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
	async put(path, body = {}) {
		return answer(await this.ask('PUT', path, { body }));
	}

	/** A customer's mail in the sandbox, as an app sends one in. @param {string} key @param {any} mail */
	async sandbox(key, mail) {
		const response = await fetch('/api/v1/sandbox/inbound', { method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body: JSON.stringify(mail) });
		const said = await response.json().catch(() => null);
		if (!response.ok) throw new Refused(response.status, said?.error ?? `The server answered ${response.status}.`);
	}

	/** @param {string} path */
	async remove(path) {
		await this.ask('DELETE', path);
	}
}

/** @param {Response} response */
async function answer(response) {
	const text = await response.text();
	return text ? JSON.parse(text) : null;
}
