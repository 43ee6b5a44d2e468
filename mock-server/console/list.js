// A long list of which only the rows in sight are in the page. Rows are kept by their key and changed in place; while
// somebody reads, aims at or has the focus on a row, nothing on the screen moves, and what is new is counted.

import { fill, h, morph } from './dom.js';
import { button, failed, loading } from './ui.js';

const PAGE = 100;
const BEYOND = 6;
/** How long a list holds still after the pointer has moved over it. */
const AIM_MS = 1_500;

/**
 * @typedef {object} Source
 * @property {string} label
 * @property {number} height of a row, in pixels
 * @property {(offset: number, limit: number, signal: AbortSignal) => Promise<{ items: any[], total: number }>} fetch
 * @property {(item: any) => string} key
 * @property {(item: any) => HTMLElement} row what it builds is the same for the same item
 * @property {() => Element} empty
 */

/** Shows a {@link Source}. */
export class WindowedList extends HTMLElement {
	constructor() {
		super();
		/** @type {Source | null} */
		this.source = null;
		/** @type {any[]} */
		this.items = [];
		this.total = -1;
		/** How many there are on the server, and how many of them came before the first row that is shown. */
		this.there = 0;
		this.news = 0;
		this.chosen = '';
		/** The row that the Tab key reaches. */
		this.active = '';
		this.paused = false;
		this.aimed = 0;
		this.pressed = false;
		this.again = false;
		/** @type {Map<number, AbortController>} */
		this.asked = new Map();
		/** @type {Map<string, { seen: string, element: HTMLElement }>} */
		this.rows = new Map();
		this.inner = h('ul.rows', { role: 'list' });
		this.note = h('div');
		this.top = h('div.news');
		this.addEventListener('scroll', () => {
			this.draw();
			if (!this.held && this.news) this.refresh();
		}, { passive: true });
		this.addEventListener('keydown', (event) => this.move(event));
		this.addEventListener('focusin', (event) => this.focused(event));
		this.addEventListener('pointermove', () => (this.aimed = Date.now()), { passive: true });
		this.addEventListener('pointerdown', () => (this.pressed = true), { passive: true });
		this.released = () => setTimeout(() => (this.pressed = false));
	}

	connectedCallback() {
		this.watch = new ResizeObserver(() => this.draw());
		this.watch.observe(this);
		addEventListener('pointerup', this.released);
		addEventListener('pointercancel', this.released);
		// What was held back is shown once nobody aims any more.
		this.check = setInterval(() => this.news && !this.held && this.refresh(), 500);
	}

	disconnectedCallback() {
		this.watch?.disconnect();
		removeEventListener('pointerup', this.released);
		removeEventListener('pointercancel', this.released);
		clearInterval(this.check);
		this.pressed = false;
		this.forget();
	}

	/** Whether rows must stay where they are. */
	get held() {
		return this.paused || this.scrollTop > 4 || this.pressed || Date.now() - this.aimed < AIM_MS || this.inner.contains(document.activeElement);
	}

	/** Shows another list, from its beginning. @param {Source} source */
	show(source) {
		this.source = source;
		this.forget();
		this.items = [];
		this.total = -1;
		this.news = 0;
		this.active = '';
		this.rows.clear();
		this.inner.replaceChildren();
		this.inner.setAttribute('aria-label', source.label);
		this.scrollTop = 0;
		fill(this.note, loading());
		fill(this.top);
		this.replaceChildren(this.top, this.note, this.inner);
		this.read();
	}

	/** Something has changed: rows in sight are read again. */
	refresh() {
		if (!this.source) return;
		// What is under way may have been answered before the change.
		if (this.asked.has(-1)) this.again = true;
		else if (this.total > 0) this.compare();
		else this.read();
	}

	/** Shows what is new. */
	catchUp() {
		this.scrollTop = 0;
		this.aimed = 0;
		this.active = '';
		this.read();
	}

	/** @param {string} key */
	choose(key) {
		if (this.chosen === key) return;
		this.chosen = key;
		this.draw();
	}

	forget() {
		this.asked.forEach((asked) => asked.abort());
		this.asked.clear();
	}

	/** Asks for a part; `undefined` when nobody wants it any more. @param {number} place @param {number} offset */
	async ask(place, offset) {
		const source = this.source;
		if (!source || this.asked.has(place)) return;
		const asked = new AbortController();
		this.asked.set(place, asked);
		try {
			const part = await source.fetch(offset, PAGE, asked.signal);
			return asked.signal.aborted ? undefined : part;
		} catch (error) {
			if (asked.signal.aborted) return;
			// The page itself says that the server is away.
			const away = error.status === 0;
			if (!away) this.total = Math.max(this.total, 0);
			if (!away || this.total < 0) fill(this.note, away ? null : failed(error, () => this.read()));
		} finally {
			if (this.asked.get(place) === asked) this.asked.delete(place);
			if (place < 0 && this.again) {
				this.again = false;
				setTimeout(() => this.refresh());
			}
		}
	}

	/** Reads the beginning, and forgets what was known before. */
	async read() {
		this.forget();
		const part = await this.ask(-1, 0);
		if (part) this.take(part);
	}

	/** @param {{ items: any[], total: number }} part */
	take({ items, total }) {
		this.items = items.slice();
		this.total = this.there = total;
		this.news = 0;
		fill(this.top);
		fill(this.note, total === 0 ? this.source?.empty() : null);
		this.draw();
	}

	/** Brings rows up to date: while the list is held without moving them, and counts what came before them. */
	async compare() {
		const source = /** @type {Source} */ (this.source);
		const part = await this.ask(-1, 0);
		if (!part) return;
		const keys = part.items.map(source.key);
		const places = new Map(keys.map((key, i) => [key, i]));
		const first = this.items.find((item) => item && places.has(source.key(item)));
		// Nothing of what is shown is there any more: it was emptied, or the world is another.
		if (!first && (part.total < this.there || part.total <= PAGE) && !this.paused) return this.take(part);
		// Only now, because somebody may have aimed at a row while it was asked.
		if (!this.held) {
			this.forget();
			return this.take(part);
		}
		if (!this.paused) {
			const fresh = new Map(part.items.map((item, i) => [keys[i], item]));
			this.items.forEach((item, i) => item && (this.items[i] = fresh.get(source.key(item)) ?? item));
			this.drop((item) => !places.has(source.key(item)), part.total <= PAGE ? Infinity : this.items.findLastIndex((item) => item && places.has(source.key(item))));
		}
		this.there = part.total;
		this.news = first ? /** @type {number} */ (places.get(source.key(first))) : Math.max(part.total - this.total, part.items.length);
		this.countNews();
		this.draw();
		if (this.paused) return;
		for (const page of this.sight().pages) if (page > 0) this.need(page, true);
	}

	/** Takes out rows that are gone; those in sight stay where they are. @param {(item: any) => boolean} isGone @param {number} last */
	drop(isGone, last) {
		const height = this.source?.height ?? 0;
		const focused = [...this.rows.values()].find(({ element }) => element.contains(document.activeElement))?.element;
		const at = Number(focused?.getAttribute('aria-posinset') ?? 0) - 1;
		const lost = at >= 0 && at <= last && this.items[at] && isGone(this.items[at]);
		let above = 0;
		for (let i = Math.min(last, this.items.length - 1); i >= 0; i -= 1) {
			if (!this.items[i] || !isGone(this.items[i])) continue;
			this.items.splice(i, 1);
			this.total -= 1;
			if ((i + 1) * height <= this.scrollTop) above += 1;
		}
		if (above) this.scrollTop -= above * height;
		if (lost && this.total > 0) this.to(Math.min(at, this.total - 1));
		if (this.total === 0) fill(this.note, this.source?.empty());
	}

	countNews() {
		const text = this.news >= PAGE && this.there === this.total ? `${PAGE}+ new` : `${this.news} new`;
		const there = this.top.firstElementChild;
		if (!this.news) fill(this.top);
		else if (there) there.textContent = text;
		else fill(this.top, button(text, () => this.catchUp(), { kind: 'primary.small' }));
	}

	sight() {
		const height = this.source?.height ?? 1;
		const first = Math.max(0, Math.floor(this.scrollTop / height) - BEYOND);
		const last = Math.min(this.total - 1, Math.ceil((this.scrollTop + this.clientHeight) / height) + BEYOND);
		const pages = [];
		for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) pages.push(page);
		return { first, last, pages: this.total > 0 ? pages : [] };
	}

	/** Reads a page of rows that are not at hand, or reads it again. @param {number} page @param {boolean} [again] */
	async need(page, again) {
		const from = page * PAGE;
		if (!again && this.items[from] !== undefined) return;
		// Rows keep their places here while others are added before them there.
		const part = await this.ask(page, Math.max(0, from + this.there - this.total));
		if (!part) return;
		const source = /** @type {Source} */ (this.source);
		const known = new Map(this.items.flatMap((item, i) => (item ? [[source.key(item), i]] : [])));
		part.items.forEach((item, i) => {
			const at = known.get(source.key(item)) ?? from + i;
			if (at < this.total && (known.has(source.key(item)) || this.items[at] === undefined)) this.items[at] = item;
		});
		for (let i = from; i < Math.min(from + PAGE, this.total); i += 1) if (this.items[i] === undefined) this.items[i] = null;
		this.draw();
	}

	draw() {
		const source = this.source;
		if (!source || this.total < 0) return;
		this.inner.style.height = `${this.total * source.height}px`;
		const { first, last, pages } = this.sight();
		for (const page of pages) this.need(page);
		const indexes = [];
		for (let index = first; index <= last; index += 1) indexes.push(index);
		// The row with the focus, or with the tab stop, stays even when it is out of sight.
		const keyed = (key) => (key ? this.items.findIndex((item) => item && source.key(item) === key) : -1);
		let stop = keyed(this.active);
		if (stop < 0) {
			stop = Math.max(keyed(this.chosen), 0);
			this.active = this.items[stop] ? source.key(this.items[stop]) : '';
		}
		if (stop < this.total && stop < first) indexes.unshift(stop);
		else if (stop < this.total && stop > last) indexes.push(stop);
		/** @type {Map<string, { seen: string, element: HTMLElement }>} */
		const rows = new Map();
		/** @type {HTMLElement[]} */
		const wanted = [];
		/** What has the focus and was built anew. @type {HTMLElement | null} */
		let regain = null;
		for (const index of indexes) {
			const item = this.items[index];
			let key = item ? source.key(item) : `#${index}`;
			if (rows.has(key)) key = `#${index}`;
			const seen = item ? JSON.stringify(item) : '';
			let row = this.rows.get(key) ?? (item && this.rows.get(`#${index}`));
			if (!row) row = { seen: '', element: h('li', {}, h('div.row.skeleton')) };
			if (item && row.seen !== seen) {
				const old = /** @type {HTMLElement} */ (row.element.firstElementChild);
				const had = old === document.activeElement;
				morph(old, source.row(item));
				if (had) regain = /** @type {HTMLElement} */ (row.element.firstElementChild);
			}
			row.seen = seen;
			const { element } = row;
			const place = `translateY(${index * source.height}px)`;
			if (element.style.transform !== place) {
				element.style.transform = place;
				element.style.height = `${source.height}px`;
				element.setAttribute('aria-posinset', String(index + 1));
			}
			if (element.getAttribute('aria-setsize') !== String(this.total)) element.setAttribute('aria-setsize', String(this.total));
			const inside = /** @type {HTMLElement} */ (element.firstElementChild);
			if (item && key === this.chosen) inside.setAttribute('aria-current', 'true');
			else inside.removeAttribute('aria-current');
			const reached = index === stop ? 0 : -1;
			for (const one of [inside, .../** @type {any} */ (inside.querySelectorAll('a, button'))]) one.tabIndex = reached;
			rows.set(key, row);
			wanted.push(element);
		}
		this.rows = rows;
		const there = new Set(wanted);
		for (const element of [...this.inner.children]) if (!there.has(/** @type {HTMLElement} */ (element))) element.remove();
		// In their order, which is that of the Tab key and of a screen reader.
		let next = this.inner.firstChild;
		for (const element of wanted) {
			if (element === next) next = element.nextSibling;
			else this.inner.insertBefore(element, next);
		}
		regain?.focus({ preventScroll: true });
	}

	/** @param {Event} event */
	focused(event) {
		const row = [...this.rows].find(([, { element }]) => element.contains(/** @type {Node} */ (event.target)));
		if (!row || row[0] === this.active) return;
		this.active = row[0];
		this.draw();
	}

	/** Gives the focus to a row, wherever it is. @param {string} key */
	focusOn(key) {
		const at = this.items.findIndex((item) => item && this.source?.key(item) === key);
		this.to(Math.max(at, 0));
	}

	/** @param {number} index */
	to(index) {
		const height = this.source?.height ?? 0;
		const item = this.items[index];
		if (index * height < this.scrollTop) this.scrollTop = index * height;
		else if ((index + 1) * height > this.scrollTop + this.clientHeight) this.scrollTop = (index + 1) * height - this.clientHeight;
		if (item && this.source) this.active = this.source.key(item);
		this.draw();
		const place = `translateY(${index * height}px)`;
		const row = [...this.rows.values()].find(({ element }) => element.style.transform === place);
		/** @type {HTMLElement | null} */ (row?.element.firstElementChild)?.focus({ preventScroll: true });
	}

	/** @param {KeyboardEvent} event */
	move(event) {
		const focused = [...this.rows.values()].find(({ element }) => element.contains(document.activeElement));
		const step = ({ ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -1e9, End: 1e9 })[event.key];
		if (!focused || !step) return;
		event.preventDefault();
		this.to(Math.min(this.total - 1, Math.max(0, Number(focused.element.getAttribute('aria-posinset')) - 1 + step)));
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
