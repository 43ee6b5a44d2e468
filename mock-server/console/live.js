// What changes while pages are open, and whether they still hear of it.
//
// All tabs of a browser share one stream of events: one tab leads, reads the stream for every world that a tab shows, and
// tells the others. When it closes, another takes over. A browser opens six connections to a server, so a stream for each
// tab would leave none for the seventh. The stream is read with `fetch` and not with an `EventSource`: that could not send
// the control token, and does not say when a connection has silently died.

const NAME = 'shared-inbox-mock';
/** The server writes something at least every 15 seconds. */
const SILENCE = 40_000;
const PAUSES = [300, 1_000, 2_000, 4_000];
const pause = (/** @type {number} */ ms) => new Promise((resume) => setTimeout(resume, ms));

/** @typedef {'connecting' | 'live' | 'lost' | 'gone'} State */
/** @typedef {{ state?: State, opened?: boolean, event?: string, detail?: any, world?: string }} News */

/**
 * Tells `change` and `request` as they come, `state` when the connection is lost or there again, and `stale` when
 * something may have been missed.
 */
export class Live extends EventTarget {
	/** @param {import('./api.js').Api} api */
	constructor(api) {
		super();
		this.api = api;
		this.world = api.world ?? '';
		/** @type {State} */
		this.state = 'connecting';
		this.since = new Date();
		this.heard = Date.now();
		this.leads = false;
		/** The worlds that are read while this tab leads. */
		this.worlds = new Set([this.world]);
		this.end = new AbortController();
		/** @type {BroadcastChannel | null} */
		this.channel = null;
	}

	start() {
		this.channel = new BroadcastChannel(NAME);
		this.channel.onmessage = ({ data }) => {
			if (data.lead) this.channel?.postMessage({ shows: this.world });
			else if (data.shows === undefined) this.hear(data);
			else if (this.leads) this.include(data.shows);
		};
		this.channel.postMessage({ shows: this.world });
		setInterval(() => Date.now() - this.heard > SILENCE && this.become('lost'), 2_000);
		// A browser grants locks only to pages that it trusts; elsewhere each tab reads for itself.
		const { locks } = /** @type {{ locks?: LockManager }} */ (navigator);
		if (!locks) return void this.lead();
		const wait = (/** @type {LockOptions} */ how) => locks.request(NAME, how, () => this.lead()).catch(() => {
			this.leads = false;
			wait({});
		});
		wait({});
		// A tab in the background may sleep: whoever comes to the front and hears nothing takes over.
		document.addEventListener('visibilitychange', () => !document.hidden && !this.leads && this.state === 'lost' && wait({ steal: true }));
	}

	/** Reads one more world: the stream is opened again with it. @param {string} world */
	include(world) {
		if (this.worlds.has(world)) return this.share({ state: this.state });
		this.worlds.add(world);
		this.end.abort();
	}

	/** Tells the other tabs, and this one. @param {News} news */
	share(news) {
		this.channel?.postMessage(news);
		this.hear(news);
	}

	/** @param {News} news */
	hear({ state, opened, event, detail, world }) {
		if (world !== undefined && world !== this.world) return;
		this.heard = Date.now();
		// A world that is gone can be back when the stream was opened again.
		if (state && (opened || this.state !== 'gone')) this.become(state);
		if (opened) this.dispatchEvent(new Event('stale'));
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
		this.worlds = new Set([this.world]);
		this.channel?.postMessage({ lead: true });
		await pause(20);
		for (let failures = 0; this.leads; ) {
			this.end = new AbortController();
			const worlds = this.worlds.size;
			if (await this.follow()) failures = 0;
			if (this.worlds.size > worlds) continue;
			this.share({ state: 'lost' });
			await pause(PAUSES[Math.min(failures++, PAUSES.length - 1)]);
		}
	}

	/** Reads until the connection ends, and says whether there was one. */
	async follow() {
		const { end } = this;
		let watch = setTimeout(() => end.abort(), SILENCE);
		let opened = true;
		try {
			const worlds = [...this.worlds].join(',');
			const response = await this.api.ask('GET', '/events', { query: { requests: true, worlds }, signal: end.signal, anyWorld: true });
			const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
			const decoder = new TextDecoder();
			let text = '';
			for (;;) {
				const { done, value } = await reader.read();
				if (done || !this.leads) break;
				this.share({ state: 'live', opened });
				opened = false;
				clearTimeout(watch);
				watch = setTimeout(() => end.abort(), SILENCE);
				text += decoder.decode(value, { stream: true });
				const blocks = text.split('\n\n');
				text = blocks.pop() ?? '';
				blocks.forEach((block) => this.tell(block));
			}
		} catch {
			// It is opened again.
		} finally {
			clearTimeout(watch);
		}
		return !opened;
	}

	/** @param {string} block */
	tell(block) {
		/** @type {Record<string, string>} */
		const fields = {};
		for (const line of block.split('\n')) {
			const colon = line.indexOf(':');
			if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trim();
		}
		if (!fields.event) return;
		const { world = '', ...detail } = JSON.parse(fields.data);
		if (fields.event === 'gone') this.share({ state: 'gone', world });
		else this.share({ event: fields.event === 'missed' ? 'stale' : fields.event, detail, world });
	}
}
