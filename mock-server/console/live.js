// What changes while pages are open, and whether they still hear of it.
//
// All tabs of a browser share one stream of events for each world: one tab leads, reads the stream and tells the others.
// When it closes, another takes over. A browser opens six connections to a server, so a stream for each tab would leave
// none for the seventh. The stream is read with `fetch` and not with an `EventSource`: that could not send the control
// token, and does not say when a connection has silently died.

/** The server writes something at least every 15 seconds. */
const SILENCE = 40_000;
const PAUSES = [300, 1_000, 2_000, 4_000];

/** @typedef {'connecting' | 'live' | 'lost' | 'gone'} State */

/**
 * Tells `change` and `request` as they come, `state` when the connection is lost or there again, and `stale` when
 * something may have been missed.
 */
export class Live extends EventTarget {
	/** @param {import('./api.js').Api} api */
	constructor(api) {
		super();
		this.api = api;
		/** @type {State} */
		this.state = 'connecting';
		this.since = new Date();
		this.heard = Date.now();
		this.leads = false;
		/** @type {BroadcastChannel | null} */
		this.channel = null;
	}

	start() {
		const name = `shared-inbox-mock ${this.api.prefix}`;
		this.channel = new BroadcastChannel(name);
		this.channel.onmessage = ({ data }) => (data.asks ? this.leads && this.share({ state: this.state }) : this.hear(data));
		this.channel.postMessage({ asks: true });
		setInterval(() => Date.now() - this.heard > SILENCE && this.become('lost'), 2_000);
		// A browser grants locks only to pages that it trusts; elsewhere each tab reads for itself.
		const { locks } = /** @type {{ locks?: LockManager }} */ (navigator);
		if (!locks) return void this.lead();
		const wait = (/** @type {LockOptions} */ how) => locks.request(name, how, () => this.lead()).catch(() => {
			this.leads = false;
			wait({});
		});
		wait({});
		// A tab in the background may sleep: whoever comes to the front and hears nothing takes over.
		document.addEventListener('visibilitychange', () => !document.hidden && !this.leads && this.state === 'lost' && wait({ steal: true }));
	}

	/** Tells the other tabs, and this one. @param {{ state?: State, event?: string, detail?: any }} said */
	share(said) {
		this.channel?.postMessage(said);
		this.hear(said);
	}

	/** @param {{ state?: State, event?: string, detail?: any }} said */
	hear({ state, event, detail }) {
		this.heard = Date.now();
		if (state) this.become(state);
		if (event) this.dispatchEvent(new CustomEvent(event, { detail }));
	}

	/** @param {State} state */
	become(state) {
		if (this.state === state) return;
		const before = this.state;
		this.state = state;
		this.since = new Date();
		this.dispatchEvent(new Event('state'));
		if (state === 'live' && before !== 'connecting') this.dispatchEvent(new Event('stale'));
	}

	async lead() {
		this.leads = true;
		for (let failures = 0; this.leads; failures += 1) {
			const ended = await this.follow();
			if (ended === 'heard') failures = 0;
			this.share({ state: ended === 'gone' ? 'gone' : 'lost' });
			await new Promise((resume) => setTimeout(resume, PAUSES[Math.min(failures, PAUSES.length - 1)]));
		}
	}

	/** Reads until the connection ends. @returns {Promise<'heard' | 'gone' | 'silent'>} */
	async follow() {
		const end = new AbortController();
		let watch = setTimeout(() => end.abort(), SILENCE);
		/** @type {'heard' | 'silent'} */
		let heard = 'silent';
		try {
			const response = await this.api.ask('GET', '/events', { query: { requests: true }, signal: end.signal });
			const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
			const decoder = new TextDecoder();
			let text = '';
			for (;;) {
				const { done, value } = await reader.read();
				if (done || !this.leads) return heard;
				this.share({ state: 'live', event: heard === 'silent' ? 'stale' : undefined });
				heard = 'heard';
				clearTimeout(watch);
				watch = setTimeout(() => end.abort(), SILENCE);
				text += decoder.decode(value, { stream: true });
				const whole = text.split('\n\n');
				text = whole.pop() ?? '';
				whole.forEach((block) => this.tell(block));
			}
		} catch (error) {
			return error.status === 404 ? 'gone' : heard;
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
		if (fields.event === 'missed') this.share({ event: 'stale' });
		else if (fields.event) this.share({ event: fields.event, detail: JSON.parse(fields.data) });
	}
}
