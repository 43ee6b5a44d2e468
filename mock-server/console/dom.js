// Building pages out of data. Every text becomes a text node, in which nothing can hide: nothing in a mail, a name or an
// address is ever markup.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/** @typedef {Record<string, any>} Props */

/** @type {WeakMap<Element, { key: string, seen: string }>} */
const parts = new WeakMap();

/**
 * An element: `h('a.row', { href: '#/' }, 'Text', child)`.
 * @param {string} tag with classes behind dots
 * @param {Props} [props] attributes, and listeners as `onclick`
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
	const [name, ...classes] = tag.split('.');
	const element = document.createElement(name);
	if (classes.length) element.className = classes.join(' ');
	for (const [key, value] of Object.entries(props)) {
		if ((value ?? false) === false) continue;
		if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
		else if (key === 'value' || key === 'checked' || key === 'selected') /** @type {any} */ (element)[key] = value;
		else element.setAttribute(key, value === true ? '' : String(value));
	}
	add(element, children);
	return element;
}

/** @param {Element | DocumentFragment} parent @param {Child[]} children */
export function add(parent, children) {
	for (const child of children) {
		if ((child ?? false) === false) continue;
		if (Array.isArray(child)) add(parent, child);
		else parent.append(child instanceof Node ? child : shown(child));
	}
}

/** @param {Element} parent @param {...Child} children */
export function fill(parent, ...children) {
	parent.replaceChildren();
	add(parent, children);
}

/**
 * A part of a page that is built again only when its data has changed.
 * @param {string} key
 * @param {unknown} data
 * @param {() => Element} build
 * @param {boolean} [inPlace] whether its element stays, with the listeners that it has: so that a press on it is no click lost
 */
export function part(key, data, build, inPlace = false) {
	return { key, seen: JSON.stringify(data) ?? '', build, inPlace };
}

/**
 * Brings the children of an element up to date. What has not changed stays, with its focus and what was typed into it.
 * @param {Element} parent
 * @param {(ReturnType<typeof part> | null | false)[]} wanted
 */
export function patch(parent, wanted) {
	const old = new Map([...parent.children].map((child) => [parts.get(child)?.key, child]));
	const active = document.activeElement;
	const focused = active && parent.contains(active) ? active.getAttribute('data-focus') : null;
	const next = wanted.flatMap((it) => {
		if (!it) return [];
		const there = old.get(it.key);
		if (there && parts.get(there)?.seen === it.seen) return [there];
		const fresh = it.build();
		const built = there && it.inPlace ? there : fresh;
		if (built === there) morph(built, fresh);
		parts.set(built, { key: it.key, seen: it.seen });
		return [built];
	});
	for (const child of [...parent.childNodes]) if (!next.includes(/** @type {any} */ (child))) child.remove();
	next.forEach((child, i) => {
		if (parent.childNodes[i] !== child) parent.insertBefore(child, parent.childNodes[i] ?? null);
	});
	if (focused && !parent.contains(document.activeElement)) {
		/** @type {HTMLElement | null} */ (parent.querySelector(`[data-focus="${CSS.escape(focused)}"]`))?.focus();
	}
}

/**
 * Makes an element what another is, in place: what is the same stays, with its focus and its listeners.
 * @param {any} old @param {any} fresh
 */
export function morph(old, fresh) {
	if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
	if (old.nodeType === Node.TEXT_NODE) {
		if (old.data !== fresh.data) old.data = fresh.data;
		return;
	}
	for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== 'tabindex') old.removeAttribute(name);
	for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
	if (old.tick) return old.tick();
	const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
	after.forEach((child, i) => (before[i] ? morph(before[i], child) : old.append(child)));
	before.slice(after.length).forEach((child) => child.remove());
}

// Characters that turn the direction of a text, or hide in it.
const TRICKS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * A text with the characters made visible that would deceive the eye.
 * @param {unknown} text
 */
export function shown(text) {
	return String(text ?? '').replace(TRICKS, (c) => `[U+${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/**
 * A text from outside, in an element that keeps its writing direction to itself.
 * @param {unknown} text
 * @param {string} [tag]
 * @param {Props} [props]
 */
export function words(text, tag = 'bdi', props = {}) {
	return h(tag, { dir: 'auto', ...props }, String(text ?? ''));
}

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An icon of the one sprite in the page.
 * @param {string} name
 */
export function icon(name) {
	const svg = document.createElementNS(SVG, 'svg');
	svg.setAttribute('class', 'icon');
	svg.setAttribute('viewBox', '0 0 24 24');
	svg.setAttribute('aria-hidden', 'true');
	const path = document.createElementNS(SVG, 'path');
	path.setAttribute('d', ICONS[name] ?? '');
	svg.append(path);
	return svg;
}

/** @type {Record<string, string>} */
const ICONS = {
	inbox: 'M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5',
	check: 'M4 12.5l5 5L20 6.5',
	file: 'M6 3h8l4 4v14H6zM14 3v4h4',
	calendar: 'M4 6h16v14H4zM4 10h16M8 3v5M16 3v5',
	out: 'M4 12l16-8-5 16-3.5-6.5zM11.5 13.5L20 4',
	hook: 'M9 9a4 4 0 1 1 5 3.9l3 5.1M7.5 13a4 4 0 1 0 3.5 5h6M18 14a4 4 0 1 1-2 7.5',
	list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
	clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2',
	bolt: 'M13 3L5 14h6l-1 7 8-11h-6z',
	key: 'M15 9a4.5 4.5 0 1 0-4.3 4.5L12 15h2v2h2v2h4v-3.5l-5-5z',
	globe: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
	trace: 'M6 4v10a4 4 0 0 0 4 4h8M6 9h8M15 6l3 3-3 3M15 15l3 3-3 3',
	back: 'M15 5l-7 7 7 7',
	more: 'M5 12h.01M12 12h.01M19 12h.01',
	clip: 'M19 11l-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.2a3 3 0 0 1 4.3 4.3L9.5 16.2a1.5 1.5 0 0 1-2.1-2.1L14 7.5',
	alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
	plus: 'M12 5v14M5 12h14',
	plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
	people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20c0-4 3-6 6.5-6s6.5 2 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.5 2.5 3.5 5.5',
};
