// What panels are made of: buttons, forms in dialogs, signs of success and failure.

import { add, fill, h, icon, patch, words } from './dom.js';
import { at, home, route } from './route.js';

/** @typedef {import('./dom.js').Child} Child */

/** Every kind of event that a webhook can subscribe to. */
export const EVENTS = ['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test'];

/** A short word that goes away by itself. @param {string} text @param {'good' | 'bad'} [kind] */
export function toast(text, kind = 'good') {
	const place = /** @type {HTMLElement} */ (document.getElementById('toasts'));
	const note = h(`div.toast.${kind}`, { role: kind === 'bad' ? 'alert' : 'status' }, text);
	place.append(note);
	while (place.childElementCount > 4) place.firstElementChild?.remove();
	setTimeout(() => note.remove(), kind === 'bad' ? 9_000 : 4_000);
}

/**
 * Does something, and says when it was refused.
 * @template T
 * @param {() => Promise<T>} work
 * @param {string} [done] what to say afterwards
 * @returns {Promise<T | undefined>}
 */
export async function attempt(work, done) {
	try {
		const result = await work();
		if (done) toast(done);
		return result;
	} catch (error) {
		toast(error instanceof Error ? error.message : String(error), 'bad');
	}
}

/**
 * A button that cannot be pressed twice while its work goes on.
 * @param {Child} label @param {() => unknown} work @param {import('./dom.js').Props & { kind?: string }} [props]
 */
export function button(label, work, { kind = '', ...props } = {}) {
	const element = h(`button${kind ? `.${kind}` : ''}`, {
		type: 'button',
		...props,
		onclick: async () => {
			element.disabled = true;
			try {
				await work();
			} finally {
				element.disabled = false;
			}
		},
	}, label);
	return element;
}

/** @param {string} text @param {string} [said] */
export async function copy(text, said = 'Copied') {
	try {
		await navigator.clipboard.writeText(text);
		toast(said);
	} catch {
		// Without permission, or on an address that the browser does not trust: show it, selected.
		const area = h('textarea', { rows: 12, readonly: true, 'aria-label': 'Text to copy' });
		area.value = text;
		dialog('Copy this', area);
		area.select();
	}
}

/** A button that copies. @param {string} label @param {() => string | Promise<string>} text @param {string} [name] for those who cannot see what is beside it */
export function copier(label, text, name = label) {
	return button(label, () => attempt(async () => copy(await text())), { kind: 'small', ...(name === label ? {} : { 'aria-label': name }) });
}

/**
 * A window over the page, closed by its button, by Escape, or by what it was for.
 * @param {string} title @param {...Child} content
 */
export function dialog(title, ...content) {
	const heading = h('h2', { id: 'dialog-title' }, title);
	const close = h('button.quiet.close', { type: 'button', 'aria-label': 'Close', onclick: () => box.close() }, '×');
	/** @type {HTMLDialogElement} */
	const box = h('dialog', { 'aria-labelledby': 'dialog-title' }, h('header', {}, heading, close));
	add(box, content);
	box.addEventListener('close', () => box.remove());
	document.body.append(box);
	box.showModal();
	return box;
}

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {'text' | 'area' | 'select' | 'checks' | 'check' | 'datetime-local' | 'number' | 'date' | 'email' | 'url' | 'file'} [type]
 * @property {string} [hint]
 * @property {any} [value]
 * @property {[string, string][]} [options] value and text of each
 * @property {boolean | ((values: Record<string, any>) => boolean)} [required]
 * @property {string[]} [means] what it is called in an error of the server, where that is not its name
 * @property {(values: Record<string, any>) => boolean} [shown] whether it is asked, by what was said so far
 * @property {import('./dom.js').Props} [props]
 */

/** @param {Field} field */
function control(field) {
	const { name, type = 'text', value, options = [], required } = field;
	const props = { name, id: `f-${name}`, required: required === true, ...field.props };
	if (type === 'area') return h('textarea', { rows: 5, dir: 'auto', ...props, value: value ?? '' });
	if (type === 'select') {
		return h('select', props, options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));
	}
	if (type === 'checks') {
		const box = ([v, text] = ['', '']) => h('label.check', {}, h('input', { type: 'checkbox', name, value: v, checked: value?.includes(v) }), text);
		return h('div.checks', { role: 'group', 'aria-labelledby': `l-${name}` }, options.map((it) => box(it)));
	}
	if (type === 'check') return h('label.check', {}, h('input', { type: 'checkbox', ...props, checked: value }), field.label);
	return h('input', { type, autocomplete: 'off', ...(type === 'text' ? { dir: 'auto' } : {}), ...props, value: value ?? '' });
}

/**
 * A form in a dialog. What the server refuses is said in it, and nothing that was typed is lost.
 * @param {string} title
 * @param {Field[]} fields
 * @param {string} action the word on its button
 * @param {(values: Record<string, any>) => Promise<unknown>} submit
 * @param {{ intro?: Child, kind?: string }} [more]
 */
export function ask(title, fields, action, submit, { intro, kind = 'primary' } = {}) {
	const problem = h('p.problem', { role: 'alert', id: 'f-problem', hidden: true });
	const send = h(`button.${kind}`, { type: 'submit' }, action);
	const row = (/** @type {Field} */ field) => {
		const input = control(field);
		const label = field.type === 'check' ? null
			: field.type === 'checks' ? h('span.label', { id: `l-${field.name}` }, field.label)
			: h('label', { for: `f-${field.name}` }, field.label, h('span.optional', { hidden: field.required === true }, 'optional'));
		return h('div.field', {}, label, input, field.hint ? h('p.hint', {}, field.hint) : null);
	};
	const rows = fields.map(row);
	/** What the form says; fields that are not shown say nothing. */
	const read = () => {
		const data = new FormData(form);
		/** @type {Record<string, any>} */
		const values = {};
		fields.forEach(({ name, type, shown: isShown }, i) => {
			const there = isShown?.(values) ?? true;
			rows[i].hidden = !there;
			for (const one of rows[i].querySelectorAll('input, textarea, select')) one.disabled = !there;
			const { required } = fields[i];
			if (typeof required === 'function') rows[i].querySelector('.optional').hidden = rows[i].querySelector('input, textarea, select').required = required(values);
			if (!there) return;
			if (type === 'checks') values[name] = data.getAll(name);
			else if (type === 'check') values[name] = data.has(name);
			else values[name] = data.get(name) ?? rows[i].querySelector('input, textarea, select').value;
			if (values[name] === '') values[name] = undefined;
		});
		return values;
	};
	const form = h('form', {
		oninput: read,
		onsubmit: async (/** @type {SubmitEvent} */ event) => {
			event.preventDefault();
			const values = read();
			send.disabled = true;
			try {
				await submit(values);
				box.close();
			} catch (error) {
				refuse(error instanceof Error ? error.message : String(error));
			} finally {
				send.disabled = false;
			}
		},
	}, intro ?? null, rows, h('footer', {}, problem, h('button', { type: 'button', onclick: () => box.close() }, 'Cancel'), send));
	/** What was refused is said at its field, which gets the focus; what belongs to none, above the buttons. @param {string} text */
	const refuse = (text) => {
		const path = /^[\w.[\]]+(?=: )/.exec(text)?.[0] ?? '';
		// The field with the longest name that the path begins with.
		const fit = ({ name, means = [name] }) => Math.max(...means.map((it) => (`${path}.`.replace('[', '.').startsWith(`${it}.`) ? it.length : 0)));
		const best = Math.max(...fields.map(fit));
		const at = best ? fields.findIndex((field, i) => !rows[i].hidden && fit(field) === best) : -1;
		for (const one of form.querySelectorAll('[aria-invalid]')) ['aria-invalid', 'aria-describedby'].forEach((name) => one.removeAttribute(name));
		fill(problem, text);
		problem.hidden = false;
		const input = rows[at]?.querySelector('input, textarea, select');
		if (!input) return form.querySelector('footer').prepend(problem);
		rows[at].append(problem);
		input.setAttribute('aria-invalid', 'true');
		input.setAttribute('aria-describedby', 'f-problem');
		input.focus({ preventScroll: true });
		rows[at].scrollIntoView({ block: 'center' });
	};
	const box = dialog(title, form);
	read();
	/** @type {HTMLElement | null} */ (form.querySelector('input, textarea, select'))?.focus();
	return box;
}

/** Something that cannot be undone. @param {string} title @param {string} text @param {string} action @param {() => Promise<unknown>} work */
export function confirm(title, text, action, work) {
	return ask(title, [], action, work, { intro: h('p', {}, text), kind: 'danger' });
}

/** A secret, shown this once. @param {string} title @param {string} secret @param {string} hint */
export function reveal(title, secret, hint) {
	const field = h('input.secret', { readonly: true, 'aria-label': title, onfocus: () => field.select() });
	field.value = secret;
	const box = dialog(title, h('p', {}, hint), h('div.with-button', {}, field, copier('Copy', () => secret)),
		h('footer', {}, h('button.primary', { type: 'button', onclick: () => box.close() }, 'Done')));
	return box;
}

/** Nothing is here, and what would bring something. @param {string} name @param {string} title @param {Child} hint @param {Child} [action] */
export function empty(name, title, hint, action) {
	return h('div.empty', {}, icon(name), h('p.title', {}, title), h('p', {}, hint), action ?? null);
}

/** @param {unknown} error @param {() => unknown} again */
export function failed(error, again) {
	const text = error instanceof Error ? error.message : String(error);
	return h('div.empty.bad', { role: 'alert' }, icon('alert'), h('p.title', {}, 'This could not be loaded'), h('p', {}, text), button('Try again', again));
}

export function loading() {
	return h('div.loading', { role: 'status' }, h('span.spinner', {}), 'Loading…');
}

/** @param {string} text @param {string} [kind] */
export function badge(text, kind = text) {
	return h(`span.badge.b-${kind}`, {}, text);
}

/** That a fault rule fired, and which. @param {string} id */
export function faultBadge(id) {
	return h('span.badge.b-fault', { title: `The fault rule ${id} fired for it` }, icon('bolt'), id);
}

/** The same, with a link to the rule. @param {string} id */
export function faultLink(id) {
	return h('a', { href: at('faults', id) }, faultBadge(id));
}

/** An id, with a link to where it is shown. @param {string} id */
export function ident(id) {
	const place = home(id);
	return place ? h('a.id', { href: place }, id) : h('code.id', {}, id);
}

/** The link to the trace of an id. @param {string} id @param {string} [label] */
export function traceLink(id, label = 'Trace') {
	return h('a.trace-link', { href: at('trace', id), title: 'What led to this, and what it led to', 'data-focus': `trace-${id}` }, icon('trace'), label);
}

/** JSON as it is read best. @param {unknown} value */
export function json(value) {
	return words(typeof value === 'string' ? value : JSON.stringify(value, null, 2), 'pre', { tabindex: 0 });
}

/** A body, with a button that copies it. @param {string} name @param {unknown} value */
export function body(name, value) {
	const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
	return h('div.body', {}, json(value), copier(`Copy the ${name}`, () => text));
}

/** Stops a list, and lets it go on. @param {import('./list.js').WindowedList} list @param {string} [what] is named beside another thing that can be paused */
export function pauser(list, what = '') {
	const element = button(`Pause${what}`, () => {
		list.paused = !list.paused;
		const verb = list.paused ? 'Resume' : 'Pause';
		element.textContent = verb + what;
		element.ariaLabel = `${verb} the list`;
		element.setAttribute('aria-pressed', String(list.paused));
		if (!list.paused) list.catchUp();
	}, { 'aria-pressed': 'false', 'aria-label': 'Pause the list', title: 'Counts new rows instead of showing them' });
	return element;
}

/** A field for words to look for. @param {string} label @param {string} hint @param {(words: string) => void} search */
export function searchField(label, hint, search) {
	let wait = 0;
	const field = h('input', { type: 'search', placeholder: hint, 'aria-label': label, 'data-focus': 'q', oninput: () => {
		clearTimeout(wait);
		const { panel } = route();
		wait = setTimeout(() => {
			wait = 0;
			if (route().panel === panel) search(field.value.slice(0, 200));
		}, 150);
	} });
	field.isBusy = () => wait !== 0;
	return field;
}

/** The words of the address stand in the field, unless they are being typed. A panel may be behind the address. @param {Element} bar */
searchField.show = (bar) => {
	const field = /** @type {any} */ (bar.querySelector('input[type=search]'));
	const words = route().query.q ?? '';
	if (field && !field.isBusy() && field.value !== words) field.value = words;
};

/** Pairs of names and values. @param {[string, Child][]} pairs */
export function facts(pairs) {
	return h('dl.facts', {}, pairs.filter(([, value]) => (value ?? '') !== '').map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

/**
 * A row of links that choose one of a few things.
 * @param {string} label @param {[string, string][]} choices value and text @param {string} chosen @param {(value: string) => string} href
 */
export function tabs(label, choices, chosen, href) {
	return h('nav.tabs', { 'aria-label': label }, choices.map(([value, text]) => h('a', { href: href(value), 'aria-current': value === chosen ? 'true' : null, 'data-focus': `tab-${value}` }, text)));
}

/**
 * A choice in a filter bar.
 * @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} change
 */
export function choose(label, options, value, change) {
	return h('select', { 'aria-label': label, 'data-focus': label, onchange: (event) => change(event.target.value) },
		options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));
}

/** A table; where it is too narrow for columns, each cell says what it is. @param {string} label @param {string[]} heads */
export function table(label, heads) {
	const body = h('tbody');
	/** @param {Parameters<typeof patch>[1]} rows */
	const fill = (rows) => {
		patch(body, rows);
		for (const row of body.children) [...row.children].forEach((cell, i) => i && heads[i] && cell.setAttribute('data-head', heads[i]));
	};
	const whole = h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': label }, h('table', {}, h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head || h('span.unseen', {}, 'Actions'))))), body));
	return { whole, fill };
}
