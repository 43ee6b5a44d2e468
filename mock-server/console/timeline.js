// What was said and done in a conversation, one item at a time.

import { h, icon, shown, words } from './dom.js';
import { until, when } from './clock.js';
import { ask, attempt, badge, button, confirm, traceLink } from './ui.js';

/** @typedef {import('./panel.js').Context} Context */

/** Characters of an email that are shown at first, as many as the API gives. */
const MAX_SHOWN = 8_000;

/**
 * One item of a timeline.
 * @param {Context} context @param {any} it @param {any} conversation
 */
export function item(context, it, conversation) {
	if (it.type === 'message') return message(context, it, conversation);
	if (it.type === 'note') {
		return h('article.item.note', { 'aria-label': 'Note' }, h('header', {}, words(it.author, 'b'), badge('note'), h('span.gap'), traceLink(it.id), when(it.at)), words(it.body, 'p', { class: 'text' }));
	}
	return h('div.item.event', {}, h('span', {}, words(it.actor || 'The service', 'b'), ' ', happened(it)), when(it.at));
}

/** An event of a timeline as a sentence. @param {any} it */
function happened(it) {
	const { event, data } = it;
	if (event === 'status') return `changed the status from ${data.from} to ${data.to}`;
	if (event === 'assigned') return data.assignee ? `gave it to ${shown(data.assignee.name)}` : 'unassigned it';
	if (event === 'tags') {
		const names = (/** @type {string[]} */ list) => list.map((name) => `“${shown(name)}”`).join(', ');
		return [data.added?.length ? `added ${names(data.added)}` : '', data.removed?.length ? `removed ${names(data.removed)}` : ''].filter(Boolean).join(', ');
	}
	if (event === 'snoozed') return data.until ? `snoozed it until ${data.until.slice(0, 16).replace('T', ' ')}` : 'ended the snooze';
	if (event === 'upload') return 'uploaded a document';
	const details = Object.entries(data ?? {}).map(([name, value]) => `${name}: ${shown(typeof value === 'string' ? value : JSON.stringify(value))}`);
	return `${shown(event)}${details.length ? ` (${details.join(', ')})` : ''}`;
}

/** @param {Context} context @param {any} it @param {any} conversation */
function message({ api }, it, conversation) {
	const out = it.direction === 'outbound';
	const name = it.from.name || it.from.email;
	const actions = [];
	if (it.status === 'draft') {
		actions.push(button('Approve', () => attempt(() => api.post(`/messages/${it.id}/approve`), 'Approved: it leaves when the undo window has passed'), { kind: 'primary', 'data-focus': `approve-${it.id}` }));
		actions.push(button('Edit', () => edit(api, it)));
		actions.push(button('Discard', () => discard(api, it.id), { kind: 'quiet' }));
	}
	if (it.status === 'scheduled') actions.push(button('Stop', () => attempt(() => api.post(`/messages/${it.id}/stop`), 'Stopped: it is a draft again'), { 'data-focus': `stop-${it.id}` }));
	if (it.status === 'sent') actions.push(button('Bounce', () => attempt(() => api.post(`/messages/${it.id}/bounce`), 'The email bounced'), { kind: 'quiet.small', title: 'The email comes back as undeliverable' }));
	return h(`article.item.message.${out ? 'out' : 'in'}${it.status ? `.s-${it.status}` : ''}`, { 'aria-label': out ? 'Message to the customer' : 'Message from the customer' },
		h('header', {}, h(`span.avatar.${out ? 'team' : 'customer'}`, { 'aria-hidden': 'true' }, [...shown(name)][0]?.toUpperCase() ?? '?'), words(name, 'b'), it.from.name ? words(it.from.email, 'span', { class: 'address' }) : null,
			it.secure ? badge('secure') : null, it.status ? badge(it.status) : null, it.sendsAt ? h('span.countdown', {}, 'leaves ', until(it.sendsAt)) : null,
			h('span.gap'), traceLink(it.id), when(it.at)),
		it.summary && it.status === 'draft' ? h('p.summary', {}, h('b', {}, 'For you: '), words(it.summary)) : null,
		text(it.text),
		it.attachments.length ? h('ul.attachments', {}, it.attachments.map((file) => h('li', {}, icon('clip'), words(file.filename), h('span.hint', {}, ` ${size(file.size)}`)))) : null,
		actions.length && !(it.status === 'draft' && conversation.mailbox.sandbox) ? h('footer', {}, actions) : it.status === 'draft' ? h('p.hint', {}, 'Nobody can approve drafts in the sandbox; to test a send, use send: true.') : null);
}

/** The text of an email; of a long one its beginning, until all is asked for. @param {string} whole */
function text(whole) {
	if (whole.length <= MAX_SHOWN) return words(whole, 'p', { class: 'text' });
	const start = words(`${whole.slice(0, MAX_SHOWN)}…`, 'p', { class: 'text' });
	const more = button(`Show all of it (${size(whole.length)})`, () => {
		start.textContent = whole;
		more.remove();
	}, { kind: 'small' });
	return [start, more];
}

/** @param {import('./api.js').Api} api @param {any} it */
export function edit(api, it) {
	const id = it.id ?? it.messageId;
	ask('Edit and approve', [{ name: 'body', label: 'Text', type: 'area', value: it.text, required: true, props: { rows: 12 } }], 'Approve', ({ body }) => api.post(`/messages/${id}/approve`, { body }));
}

/** @param {import('./api.js').Api} api @param {string} id */
export function discard(api, id) {
	confirm('Discard this draft?', 'It will never reach the customer.', 'Discard', () => api.post(`/messages/${id}/discard`));
}

/** @param {number} bytes */
export function size(bytes) {
	return bytes < 1_000 ? `${bytes} B` : bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
