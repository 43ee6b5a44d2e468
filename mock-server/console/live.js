// What changes while the page is open, and whether the page still hears of it.
//
// The stream is read with `fetch` and not with an `EventSource`: that could not send the control token, and does not
// say when a connection has silently died.

/** The server writes something at least every 15 seconds. */
const SILENCE = 40_000;
const PAUSES = [300, 1_000, 2_000, 4_000];

/**
 * Tells `change` and `request` as they come, `state` when the connection is lost or there again, and `stale` when
 * something may have been missed.
 */
export class Live extends EventTarget {
	/** @param {import('./api.js').Api} api */
	constructor(api) {
		super();
		this.api = api;
		/** @type {'connecting' | 'live' | 'lost'} */
		this.state = 'connecting';
		this.since = new Date();
	}

	async start() {
		for (let failures = 0; ; failures += 1) {
			const heard = await this.follow();
			if (heard) failures = 0;
			this.become('lost');
			await new Promise((resume) => setTimeout(resume, PAUSES[Math.min(failures, PAUSES.length - 1)]));
		}
	}

	/** @param {'live' | 'lost'} state */
	become(state) {
		if (this.state === state) return;
		const before = this.state;
		this.state = state;
		this.since = new Date();
		this.dispatchEvent(new Event('state'));
		if (state === 'live' && before === 'lost') this.dispatchEvent(new Event('stale'));
	}

	/** Reads until the connection ends; whether anything was heard. */
	async follow() {
		const end = new AbortController();
		let watch = setTimeout(() => end.abort(), SILENCE);
		let heard = false;
		try {
			const response = await this.api.ask('GET', '/events', { query: { requests: true }, signal: end.signal });
			const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
			const decoder = new TextDecoder();
			let text = '';
			for (;;) {
				const { done, value } = await reader.read();
				if (done) return heard;
				heard = true;
				this.become('live');
				clearTimeout(watch);
				watch = setTimeout(() => end.abort(), SILENCE);
				text += decoder.decode(value, { stream: true });
				const whole = text.split('\n\n');
				text = whole.pop() ?? '';
				whole.forEach((block) => this.tell(block));
			}
		} catch {
			return heard;
		} finally {
			clearTimeout(watch);
		}
	}

	/** @param {string} block */
	tell(block) {
		/** @type {Record<string, string>} */
		const fields = {};
		for (const line of block.split('\n')) {
			const colon = line.indexOf(':');
			if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trim();
		}
		if (fields.event === 'missed') this.dispatchEvent(new Event('stale'));
		else if (fields.event) this.dispatchEvent(new CustomEvent(fields.event, { detail: JSON.parse(fields.data) }));
	}
}
