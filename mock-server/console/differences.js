// What is different between two snapshots, as people read it: by conversation, without clock, counters and queue.

import { h, words } from './dom.js';
import { at } from './route.js';

/** What changes with every call, or follows from something else that is listed. */
const NOISE = /^(now|ids|jobs)\b|^webhooks\.count$|\.(lastMessageAt|number|sendsAt|nextAttemptAt)$/;

/** What a part of the world is called. @type {Record<string, string>} */
const NAMES = { users: 'People', mailboxes: 'Inboxes', documentRequests: 'Document requests', appMail: 'Recorded app mail', workspace: 'Workspace' };

/** @param {unknown} value */
function short(value) {
	const text = typeof value === 'string' ? value : JSON.stringify(value);
	return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** A thing that is new or gone, in a few words. @param {any} it */
function thing(it) {
	if (it === null || typeof it !== 'object') return short(it);
	const text = it.body ?? it.text ?? it.subject ?? it.name ?? it.filename ?? it.document?.filename ?? it.url ?? it.items?.map((item) => item.label).join(', ');
	const kind = [it.type ?? it.kind, typeof it.event === 'string' ? it.event : it.event?.type, it.status ?? it.outcome].filter((word) => typeof word === 'string').join(', ');
	return text === undefined ? kind || short(it) : `${kind ? `${kind}: ` : ''}“${short(text)}”`;
}

/** @param {any} change @param {string} place within its group */
function line({ was, is }, place) {
	const where = place ? [h('code', {}, place), ' '] : null;
	if (was === undefined) return h('li.new', {}, h('b', {}, 'new '), where, words(thing(is)));
	if (is === undefined) return h('li.gone', {}, h('b', {}, 'gone '), where, words(thing(was)));
	return h('li', {}, where, words(short(was)), ' → ', words(short(is)));
}

/**
 * @param {any[]} changes @param {string} text all of them, a line each @param {any[]} conversations @param {() => void} leave
 */
export function differences(changes, text, conversations, leave) {
	const shown = changes.filter((it) => !NOISE.test(it.path));
	/** @type {Map<string, HTMLElement[]>} */
	const groups = new Map();
	for (const change of shown) {
		const [, part, id, rest] = /^(\w+)(?:\[([^\]]+)\])?\.?(.*)$/.exec(change.path) ?? ['', change.path, '', ''];
		const about = part === 'conversations' ? id : (change.is ?? change.was)?.conversationId ?? (change.is ?? change.was)?.conversation;
		const group = typeof about === 'string' ? about : part;
		// What is new or gone says itself what it is.
		const whole = change.was === undefined || change.is === undefined;
		const within = whole ? rest.replace(/^timeline\[[^\]]+\]$/, '').replace(/\[[^\]]+\]$/, '').replace(/^log\.\d+$/, 'event') : rest.replace(/^timeline\[msg_[^\]]+\]\./, 'message ');
		const place = part === 'conversations' ? within : [typeof about === 'string' ? part : '', whole && !rest ? '' : id, within].filter(Boolean).join(' ');
		groups.set(group, [...(groups.get(group) ?? []), line(change, place)]);
	}
	const heading = (/** @type {string} */ name) => {
		if (!name.startsWith('cnv_')) return NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
		const it = conversations.find((one) => one.id === name);
		const title = it ? [it.contact.name ?? it.contact.email, it.subject || '(no subject)'].filter(Boolean).join(' · ') : name;
		return it ? h('a', { href: at('inbox', name, { view: 'all' }), onclick: leave }, words(title)) : title;
	};
	return h('div.differences', {},
		shown.length ? [...groups].map(([name, lines]) => h('section', {}, h('h3', {}, heading(name)), h('ul', {}, lines))) : h('p', {}, 'Nothing has changed.'),
		changes.length ? h('details', {}, h('summary', {}, `All ${changes.length} differences, with the clock, counters and queued jobs`), words(text, 'pre', { tabindex: 0, class: 'diff' })) : null);
}
