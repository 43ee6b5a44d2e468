// A panel: one place of the page, which loads, shows, and keeps up to date what it is about.

import { fill } from './dom.js';
import { failed, loading } from './ui.js';

/** @typedef {import('./route.js').Route} Route */
/** What panels share; `called` is whether an app has made a call yet. @typedef {{ api: import('./api.js').Api, live: import('./live.js').Live, ready: any, called: boolean }} Context */

/** A row, or the heading of what one opened. */
const FROM_A_LIST = 'si-list, [tabindex="-1"]:is(h1, h2)';

export class Panel extends HTMLElement {
	constructor() {
		super();
		/** @type {Context} */
		this.context = /** @type {any} */ (null);
		/** @type {Route} */
		this.route = { panel: '', id: null, more: null, query: {} };
		this.turn = 0;
		this.reading = 0;
		this.again = false;
		this.shown = false;
		/** Whether what was opened from a list is to have the focus. */
		this.opens = false;
		/** @type {import('./list.js').WindowedList | null} */
		this.list = null;
	}

	get api() {
		return this.context.api;
	}

	/** What the panel is called in the title of the window. */
	get heading() {
		return '';
	}

	/** The address has changed, or the panel has just come into the page. @param {Route} route */
	show(route) {
		// From a row, or from what another row opened: its heading may have taken the focus while the next was being pressed.
		if ((route.more ?? route.id) !== (this.route.more ?? this.route.id)) this.opens = Boolean(document.activeElement?.closest(FROM_A_LIST));
		const moved = JSON.stringify(route) !== JSON.stringify(this.route);
		this.route = route;
		return moved ? this.refresh() : this.update();
	}

	/** Something has changed. What is being read is shown first: changes may come faster than answers. */
	async update() {
		if (this.reading) this.again = true;
		else await this.refresh();
	}

	/** @param {() => Promise<void>} work that reads */
	async reads(work) {
		this.reading += 1;
		await work();
		this.reading -= 1;
		if (this.reading || !this.again) return;
		this.again = false;
		await this.refresh();
	}

	/** What was opened from a list is there. @param {Element} within */
	opened(within) {
		const heading = /** @type {HTMLElement | null} */ (within.querySelector('h1, h2'));
		if (!this.opens || !heading) return;
		this.opens = false;
		// Whoever has gone on to another place keeps it.
		const active = document.activeElement;
		if (active && active !== document.body && !active.closest(FROM_A_LIST)) return;
		heading.tabIndex = -1;
		heading.focus({ preventScroll: true });
	}

	/** Escape leads back to the row of what is open. */
	leave() {
		const { id, more } = this.route;
		if (!id || !this.list || this.list.contains(document.activeElement)) return;
		const back = /** @type {HTMLAnchorElement | undefined} */ ([...this.querySelectorAll('a.back')].find((it) => /** @type {HTMLElement} */ (it).offsetParent));
		if (!this.list.offsetParent) back?.click();
		requestAnimationFrame(() => this.list?.focusOn(more ?? id));
	}

	/** Reads what is shown again. Of two at a time the later wins. */
	refresh() {
		return this.reads(() => this.read());
	}

	async read() {
		const turn = (this.turn += 1);
		if (!this.shown) fill(this, loading());
		try {
			const data = await this.load();
			if (turn !== this.turn || !this.isConnected) return;
			if (!this.shown) this.replaceChildren();
			this.shown = true;
			this.draw(data);
		} catch (error) {
			if (turn !== this.turn || !this.isConnected) return;
			// That the server is away is said once, above.
			const away = error.status === 0;
			if (away) this.context.live.become('lost');
			if (away && this.shown) return;
			this.shown = false;
			fill(this, away ? null : failed(error, () => this.refresh()));
		}
	}

	/** @returns {Promise<any>} */
	async load() {
		return null;
	}

	draw(_data) {}

	/** Whether a request to the service changes what is shown here. */
	get hearsRequests() {
		return false;
	}
}
