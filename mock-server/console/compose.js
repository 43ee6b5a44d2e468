// Writing: as a customer, as a person of the team.

import { h } from './dom.js';
import { ask, attempt, button, toast } from './ui.js';

/** @typedef {import('./panel.js').Context} Context */

/**
 * A customer's mail, with everything that the mail system and the helpers could say about it.
 * @param {Context} context
 * @param {any} conversation the one that it answers, or null
 * @param {(id: string) => void} [then]
 */
export async function writeIn({ api, ready }, conversation, then) {
	if (conversation?.mailbox.sandbox) return writeToSandbox(api, ready, conversation);
	const mailboxes = (await api.get('/mailboxes')).filter((it) => !it.sandbox);
	const to = conversation?.mailbox.address ?? mailboxes[0]?.address;
	ask(conversation ? 'Write in as the customer' : 'Write in as a customer', [
		{ name: 'to', label: 'To', value: to, required: true, hint: 'An inbox, with or without a plus tag such as help+order-17@…', props: { list: 'inboxes' } },
		{ name: 'from', label: 'From', type: 'email', value: conversation?.contact.email ?? 'vera@customer.example', required: true },
		{ name: 'name', label: 'Name', value: conversation?.contact.name ?? (conversation ? '' : 'Vera Lind') },
		{ name: 'subject', label: 'Subject', value: conversation ? `Re: ${conversation.subject}` : '' },
		{ name: 'text', label: 'Text', type: 'area', required: true },
		{ name: 'file', label: 'Attachment', hint: 'The name of a file, such as invoice.pdf' },
		{ name: 'is', label: 'This email', type: 'checks', value: [], options: [['autoReply', 'is an automatic reply'], ['secure', 'came through a secure page'], ['fail', 'fails the DMARC check'], ['held', 'is held as a likely scam']] },
	], 'Send it in', async ({ file, is, ...mail }) => {
		const ending = String(file ?? '').split('.').pop()?.toLowerCase() ?? '';
		const types = ({ pdf: 'application/pdf', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', txt: 'text/plain', csv: 'text/csv' });
		const got = await api.post('/inbound', {
			...mail,
			conversationId: conversation?.id,
			attachments: file ? [{ filename: file, contentType: types[ending] ?? 'application/octet-stream', size: 48_213 }] : undefined,
			autoReply: is.includes('autoReply') || undefined,
			secure: is.includes('secure') || undefined,
			dmarc: is.includes('fail') ? 'fail' : undefined,
			held: is.includes('held') || undefined,
		});
		toast(got.created ? 'A new conversation has begun' : 'The email joined a conversation');
		then?.(got.conversationId);
	}, { intro: h('datalist', { id: 'inboxes' }, mailboxes.map((it) => h('option', { value: it.address }, it.name))) });
}

/** Mail in the sandbox comes through the service, with the test key. @param {import('./api.js').Api} api @param {any} ready @param {any} conversation */
function writeToSandbox(api, ready, conversation) {
	ask('Write in as the customer, in the sandbox', [
		{ name: 'from', label: 'From', type: 'email', value: conversation.contact.email ?? 'vera@customer.test', required: true, hint: 'An address at a .test domain' },
		{ name: 'name', label: 'Name', value: conversation.contact.name ?? '' },
		{ name: 'text', label: 'Text', type: 'area', required: true },
	], 'Send it in', async (mail) => {
		await api.sandbox(ready.keys.test, { ...mail, subject: `Re: ${conversation.subject}`, conversationId: conversation.id });
		toast('The email joined the conversation');
	});
}

/**
 * The place below a conversation where a person writes.
 * @param {Context} context
 * @param {string} id
 * @param {any} conversation
 */
export function composer({ api }, id, conversation) {
	/** @type {[string, string, string][]} */
	const kinds = [['replies', 'Reply', 'Write to the customer'], ['notes', 'Note', 'Write to the team; @FirstName mentions someone'], ['drafts', 'Draft', 'Write a draft, as the drafting helper does']];
	const place = `draft ${api.prefix} ${id}`;
	/** What was typed here before, in this tab. @type {{ kind?: string, text?: string }} */
	let kept = {};
	try {
		kept = JSON.parse(sessionStorage.getItem(place) ?? '{}');
	} catch {
		// Of another version.
	}
	let kind = kinds.find(([name]) => name === kept.kind) ?? kinds[0];
	const keep = () => (area.value ? sessionStorage.setItem(place, JSON.stringify({ kind: kind[0], text: area.value })) : sessionStorage.removeItem(place));
	const people = conversation.team.people.map((it) => /** @type {[string, string]} */ ([it.id.replace('user:', ''), it.name]));
	const area = h('textarea', { rows: 3, dir: 'auto', 'aria-label': 'Text', placeholder: kind[2], 'data-focus': 'composer', value: kept.text ?? '', oninput: keep, onkeydown: (/** @type {KeyboardEvent} */ event) => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send.click();
	} });
	const by = h('select', { 'aria-label': 'As' }, people.map((/** @type {[string, string]} */ [value, text]) => h('option', { value }, `as ${text}`)));
	const choose = (/** @type {[string, string, string]} */ it) => {
		kind = it;
		area.placeholder = it[2];
		send.textContent = it[1];
		box.className = `composer ${it[0]}`;
		by.hidden = it[0] === 'drafts' || people.length === 0;
		keep();
	};
	const choice = (/** @type {[string, string, string]} */ it) => h('label', {}, h('input', { type: 'radio', name: `kind-${id}`, checked: it === kind, onchange: () => choose(it) }), it[1]);
	const send = button('Reply', async () => {
		if (!area.value.trim()) return area.focus();
		const body = kind[0] === 'drafts' ? { body: area.value } : { body: area.value, by: by.value || undefined };
		const done = { replies: 'The reply leaves when the undo window has passed', notes: 'The note is in the timeline', drafts: 'The draft waits for approval' };
		const ok = await attempt(async () => (await api.post(`/conversations/${id}/${kind[0]}`, body)) ?? true, done[/** @type {'notes'} */ (kind[0])]);
		// What was written since then is the next text.
		if (ok && area.value === body.body) area.value = '';
		keep();
	}, { kind: 'primary', title: 'Ctrl and Enter' });
	const box = h('div.composer.replies', {}, h('div.kinds', { role: 'radiogroup', 'aria-label': 'What to write' }, kinds.map(choice), h('span.gap'), by), area, h('div.send', {}, h('span.hint', {}, 'Plain text. Ctrl + Enter sends.'), send));
	choose(kind);
	return box;
}
