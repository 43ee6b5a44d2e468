// A long list of which only the rows in sight are there: ten thousand cost no more than ten.

import { fill, h } from './dom.js';
import { failed, loading } from './ui.js';

const PAGE = 100;
const BEYOND = 6;

/**
 * @typedef {object} Source
 * @property {string} label
 * @property {number} height of a row, in pixels
 * @property {(offset: number, limit: number, signal: AbortSignal) => Promise<{ items: any[], total: number }>} fetch
 * @property {(item: any) => string} key
 * @property {(item: any) => Element} row a link
 * @property {() => Element} empty
 * @property {(total: number) => void} [counted]
 */

/** Shows a {@link Source}. */
export class WindowedList extends HTMLElement {
	constructor() {
		super();
		/** @type {Source | null} */
		this.source = null;
		/** @type {Map<number, any[]>} */
		this.pages = new Map();
		/** @type {Map<number, AbortController>} */
		this.asked = new Map();
		this.total = -1;
		this.chosen = '';
		this.rows = /** @type {Map<number, { seen: string, element: HTMLElement }>} */ (new Map());
		this.inner = h('ul.rows', { role: 'list' });
		this.note = h('div');
		this.addEventListener('scroll', () => this.draw(), { passive: true });
		this.addEventListener('keydown', (event) => this.move(event));
	}

	connectedCallback() {
		this.watch = new ResizeObserver(() => this.draw());
		this.watch.observe(this);
	}

	disconnectedCallback() {
		this.watch?.disconnect();
		this.asked.forEach((asked) => asked.abort());
	}

	/** Shows another list, from its beginning. @param {Source} source */
	show(source) {
		this.source = source;
		this.forget();
		this.pages.clear();
		this.total = -1;
		this.rows.clear();
		this.inner.replaceChildren();
		this.inner.setAttribute('aria-label', source.label);
		this.scrollTop = 0;
		fill(this.note, loading());
		this.replaceChildren(this.note, this.inner);
		this.need(0);
	}

	/** Reads again what is in sight. What was there stays until the new rows have come. */
	refresh() {
		if (!this.source) return;
		this.forget();
		const inSight = this.sight();
		for (const page of [...this.pages.keys()]) if (!inSight.pages.includes(page)) this.pages.delete(page);
		(inSight.pages.length ? inSight.pages : [0]).forEach((page) => this.need(page));
	}

	/** @param {string} key */
	choose(key) {
		this.chosen = key;
		this.rows.clear();
		this.draw();
	}

	forget() {
		this.asked.forEach((asked) => asked.abort());
		this.asked.clear();
	}

	sight() {
		const height = this.source?.height ?? 1;
		const first = Math.max(0, Math.floor(this.scrollTop / height) - BEYOND);
		const last = Math.min(this.total - 1, Math.ceil((this.scrollTop + this.clientHeight) / height) + BEYOND);
		const pages = [];
		for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) pages.push(page);
		return { first, last, pages: this.total > 0 ? pages : [] };
	}

	/** @param {number} page */
	async need(page) {
		const source = this.source;
		if (!source || this.asked.has(page)) return;
		const asked = new AbortController();
		this.asked.set(page, asked);
		try {
			const { items, total } = await source.fetch(page * PAGE, PAGE, asked.signal);
			if (asked.signal.aborted) return;
			this.pages.set(page, items);
			if (total !== this.total) {
				this.total = total;
				for (const there of [...this.pages.keys()]) if (there * PAGE >= Math.max(total, 1)) this.pages.delete(there);
				source.counted?.(total);
			}
			fill(this.note, total === 0 ? source.empty() : null);
		} catch (error) {
			if (asked.signal.aborted) return;
			fill(this.note, failed(error, () => this.refresh()));
			this.total = Math.max(this.total, 0);
		} finally {
			if (this.asked.get(page) === asked) this.asked.delete(page);
		}
		this.draw();
	}

	draw() {
		const source = this.source;
		if (!source || this.total < 0) return;
		this.inner.style.height = `${this.total * source.height}px`;
		const { first, last, pages } = this.sight();
		for (const page of pages) if (!this.pages.has(page)) this.need(page);
		for (const [index, row] of this.rows) {
			if (index < first || index > last) {
				row.element.remove();
				this.rows.delete(index);
			}
		}
		const there = new Set();
		for (let index = first; index <= last; index += 1) {
			const item = this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
			const seen = item ? JSON.stringify(item) + (source.key(item) === this.chosen) : '';
			let row = this.rows.get(index);
			if (!row || row.seen !== seen) {
				const had = row?.element.contains(document.activeElement);
				const element = h('li', { 'aria-setsize': this.total, 'aria-posinset': index + 1 }, item ? source.row(item) : h('div.row.skeleton'));
				element.style.transform = `translateY(${index * source.height}px)`;
				element.style.height = `${source.height}px`;
				if (item && source.key(item) === this.chosen) element.firstElementChild.setAttribute('aria-current', 'true');
				if (row) row.element.replaceWith(element);
				else this.place(index, element);
				row = { seen, element };
				this.rows.set(index, row);
				if (had) /** @type {HTMLElement} */ (element.firstElementChild).focus({ preventScroll: true });
			}
			there.add(row.element);
		}
		// Rows of an earlier drawing that nobody keeps any more.
		for (const element of [...this.inner.children]) if (!there.has(element)) element.remove();
	}

	/** Keeps the rows in their order, which is that of the Tab key. @param {number} index @param {HTMLElement} element */
	place(index, element) {
		let after = null;
		let nearest = Infinity;
		for (const [other, row] of this.rows) {
			if (other > index && other < nearest && row.element.parentNode === this.inner) {
				nearest = other;
				after = row.element;
			}
		}
		this.inner.insertBefore(element, after);
	}

	/** @param {KeyboardEvent} event */
	move(event) {
		const focused = [...this.rows].find(([, row]) => row.element.contains(document.activeElement));
		const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -1e9, End: 1e9 });
		const step = steps[event.key];
		if (!focused || !step || !this.source) return;
		event.preventDefault();
		const to = Math.min(this.total - 1, Math.max(0, focused[0] + step));
		const { height } = this.source;
		if (to * height < this.scrollTop) this.scrollTop = to * height;
		else if ((to + 1) * height > this.scrollTop + this.clientHeight) this.scrollTop = (to + 1) * height - this.clientHeight;
		this.draw();
		/** @type {HTMLElement | null} */ (this.rows.get(to)?.element.firstElementChild)?.focus({ preventScroll: true });
	}
}
customElements.define('si-list', WindowedList);

/** A source over a list that is at hand as a whole. @param {() => Promise<any[]>} load */
export function whole(load) {
	return async (/** @type {number} */ offset, /** @type {number} */ limit) => {
		const items = await load();
		return { items: items.slice(offset, offset + limit), total: items.length };
	};
}
