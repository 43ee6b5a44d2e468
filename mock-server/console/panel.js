// A panel: one place of the page, which loads, shows, and keeps up to date what it is about.

import { fill } from './dom.js';
import { failed, loading } from './ui.js';

/** @typedef {import('./route.js').Route} Route */
/** @typedef {{ api: import('./api.js').Api, live: import('./live.js').Live, ready: any }} Context */

export class Panel extends HTMLElement {
	constructor() {
		super();
		/** @type {Context} */
		this.context = /** @type {any} */ (null);
		/** @type {Route} */
		this.route = { panel: '', id: null, more: null, query: {} };
		this.turn = 0;
		this.shown = false;
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
		this.route = route;
		return this.refresh();
	}

	/** Reads what is shown again. Of two at a time the later wins. */
	async refresh() {
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
			this.shown = false;
			fill(this, failed(error, () => this.refresh()));
		}
	}

	/** @returns {Promise<any>} */
	async load() {
		return null;
	}

	/** @param {any} _data */
	draw(_data) {}

	/** Whether a request to the service changes what is shown here. */
	get hearsRequests() {
		return false;
	}
}
