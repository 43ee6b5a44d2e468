// What the three reports have in common. Every text becomes a text node: nothing that a report quotes is ever markup.
'use strict';

/** @typedef {Node | string | number | null | undefined | false | any[]} Child */

/**
 * An element: `h('a.row', { href: '#' }, 'Text', child)`.
 * @param {string} tag with classes behind dots
 * @param {Record<string, any>} [props] attributes, and listeners as `onclick`
 * @param {...Child} children
 * @returns {any}
 */
function h(tag, props = {}, ...children) {
	const [name, ...classes] = tag.split('.');
	const element = document.createElement(name);
	if (classes.length) element.className = classes.join(' ');
	for (const [key, value] of Object.entries(props)) {
		if ((value ?? false) === false) continue;
		if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
		else element.setAttribute(key, value === true ? '' : String(value));
	}
	add(element, children);
	return element;
}

/** @param {Element} parent @param {Child[]} children */
function add(parent, children) {
	for (const child of children) {
		if ((child ?? false) === false) continue;
		if (Array.isArray(child)) add(parent, child);
		else parent.append(child instanceof Node ? child : visible(child));
	}
}

/** Characters that are not seen, or that turn the direction of what follows, are written out. @param {unknown} text */
function visible(text) {
	return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\u{e0000}-\u{e007f}]/gu, (c) => `[U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
	return Array.isArray(value) ? value : [];
}

/** @param {unknown} value */
function count(value) {
	return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** @param {number} number @param {string} one @param {string} [many] */
function counted(number, one, many = `${one}s`) {
	return `${number} ${number === 1 ? one : many}`;
}

/** @template T @param {T[]} items @param {(item: T) => string} key @returns {Map<string, T[]>} */
function groups(items, key) {
	/** @type {Map<string, T[]>} */
	const found = new Map();
	for (const item of items) {
		const name = key(item);
		const group = found.get(name);
		if (group) group.push(item);
		else found.set(name, [item]);
	}
	return found;
}

/** A text as it was sent. @param {string} label @param {unknown} text */
function quote(label, text) {
	return h('figure.quote', {}, h('figcaption', {}, label), h('pre', { tabindex: '0' }, text === '' || text === null || text === undefined ? 'nothing' : String(text)));
}

/** A figure of the head. @param {string | number} value @param {string} label @param {string} [kind] */
function figure(value, label, kind = '') {
	return h(`div.figure${kind && `.${kind}`}`, {}, h('b', {}, value), h('span', {}, label));
}

/** A button that copies a text. @param {string} text @param {string} [label] */
function copyButton(text, label = 'Copy') {
	const button = h('button', { type: 'button', onclick: copy }, label);
	async function copy() {
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			const area = h('textarea.unseen', { 'aria-hidden': 'true' });
			area.value = text;
			document.body.append(area);
			area.select();
			document.execCommand('copy');
			area.remove();
			button.focus();
		}
		button.textContent = 'Copied';
		setTimeout(() => (button.textContent = label), 1500);
	}
	return button;
}

/**
 * A row of switches, of which one is on.
 * @param {string} label
 * @param {[string, string][]} options value and text
 * @param {string} chosen the value that is on
 * @param {(value: string) => void} choose
 */
function switches(label, options, chosen, choose) {
	const buttons = options.map(([value, text], i) =>
		h('button', { type: 'button', 'aria-pressed': String(value === chosen), onclick: () => {
			buttons.forEach((it, at) => it.setAttribute('aria-pressed', String(at === i)));
			choose(value);
		} }, text),
	);
	return h('div.switches', { role: 'group', 'aria-label': label }, buttons);
}

/**
 * The head of a report: the verdict, and the figures that belong to it.
 * @param {string} tool
 * @param {string} kind good, bad or warn
 * @param {Child} verdict
 * @param {Child} sentence
 * @param {Child[]} figures
 */
function head(tool, kind, verdict, sentence, figures) {
	return h('header.head', {}, h('p.tool', {}, `shared-inbox-mock ${tool}`), h('h1', {}, h(`span.verdict.${kind}`, {}, verdict)), h('p.sentence', {}, sentence), h('div.figures', {}, figures));
}

/** Shows the report. @param {(report: any) => Child[]} build */
function start(build) {
	const page = /** @type {HTMLElement} */ (document.getElementById('page'));
	const report = JSON.parse(document.getElementById('report')?.textContent ?? '{}');
	page.append(h('a.skip', { href: '#content' }, 'Skip to the results'));
	const main = h('main', { id: 'content', tabindex: '-1' });
	try {
		const [first, ...rest] = build(report);
		add(page, [first]);
		add(main, rest);
	} catch (error) {
		add(main, [h('h1', {}, 'This report cannot be shown'), h('p', {}, String(error)), h('pre', { tabindex: '0' }, JSON.stringify(report, null, 1))]);
	}
	page.append(main);
}
