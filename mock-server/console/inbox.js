// Conversations of all inboxes, as the people of the team see them: the list, and one of them beside it.

import { h, icon, part, patch, words } from './dom.js';
import { when } from './clock.js';
import './conversation.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined, replace } from './route.js';
import { badge, button, choose, empty, searchField, tabs } from './ui.js';
import { writeIn } from './compose.js';

/** @type {[string, string][]} */
const VIEWS = [['open', 'Open'], ['waiting', 'Waiting'], ['snoozed', 'Snoozed'], ['closed', 'Closed'], ['all', 'All']];

class Inbox extends Panel {
	get heading() {
		return 'Inbox';
	}

	listed = '';
	bar = h('div.filters');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));
	one = /** @type {Panel} */ (document.createElement('si-conversation'));

	get filters() {
		const { view = 'open', mailbox = '', tag = '', q = '' } = this.route.query;
		return { view, mailbox, tag, q };
	}

	/** @param {Record<string, string>} change */
	with(change) {
		const { view, ...others } = { ...this.filters, ...change };
		return at('inbox', this.route.id, { view: view === 'open' ? '' : view, ...others });
	}

	async load() {
		const [mailboxes, tags] = await Promise.all([this.api.get('/mailboxes'), this.api.get('/tags')]);
		return { mailboxes, tags };
	}

	/** @param {{ mailboxes: any[], tags: any[] }} data */
	draw({ mailboxes, tags }) {
		if (!this.list.isConnected) {
			this.one.context = this.context;
			this.append(h('section.pane.list-pane', { 'aria-label': 'Conversations' }, h('h1.unseen', {}, 'Inbox'), this.bar, this.list), this.one);
		}
		const { view, mailbox, tag, q } = this.filters;
		this.classList.toggle('has-one', Boolean(this.route.id));
		this.classList.toggle('has-start', !this.context.called);
		const count = (it) => `${it.name}${it.sandbox ? ' (sandbox)' : it.owner ? ' (private)' : ''} · ${it.open}`;
		patch(this.bar, [
			part('search', [], () => h('div.search', {}, searchField('Search mail', 'Search mail', (words) => replace(refined({ q: words }))), button([icon('plus'), 'Mail'], () => this.write(), { kind: 'primary', title: 'Write in as a customer' }))),
			part('views', [view, mailbox, tag, q, this.route.id], () => tabs('View', VIEWS, view, (value) => this.with({ view: value }))),
			part('chosen', [mailboxes, tags, mailbox, tag, this.route], () => h('div.selects', {},
				choose('Inbox', [['', 'All inboxes'], ...mailboxes.map((it) => /** @type {[string, string]} */ ([it.id, count(it)]))], mailbox, (value) => go(refined({ mailbox: value }))),
				choose('Tag', [['', 'Any tag'], ...tags.map((it) => /** @type {[string, string]} */ ([it.name, `${it.name} · ${it.count}`]))], tag, (value) => go(refined({ tag: value }))))),
		]);
		searchField.show(this.bar);
		const wanted = JSON.stringify(this.filters);
		this.list.chosen = this.route.id ?? '';
		if (wanted !== this.listed) {
			this.listed = wanted;
			this.list.show({
				label: 'Conversations',
				height: 84,
				fetch: (offset, limit, signal) => this.api.page('/conversations', { ...this.filters, offset, limit }, signal),
				key: (it) => it.id,
				row: (it) => this.row(it),
				empty: () => q || tag || mailbox
					? empty('inbox', 'Nothing fits', 'No conversation fits these filters.', h('a.button', { href: at('inbox', null, { view: 'all' }) }, 'Show all'))
					: empty('inbox', view === 'open' ? 'All done' : 'Nothing here', 'When a customer writes, it shows here at once.', button('Write in as a customer', () => this.write(), { kind: 'primary' })),
			});
		} else {
			this.list.choose(this.route.id ?? '');
			this.list.refresh();
		}
		this.one.show(this.route);
	}

	write() {
		return writeIn(this.context, null, (id) => go(at('inbox', id, { view: 'all' })));
	}

	row(it) {
		const who = it.contact.name || it.contact.email || 'Somebody';
		return h('a.row.conversation-row', { href: at('inbox', it.id, this.addressed()) },
			h('span.first', {}, words(who, 'b'), it.messageCount > 1 ? h('span.number', { title: 'Messages' }, it.messageCount) : null, h('span.gap'), when(it.lastMessageAt)),
			h('span.second', {}, words(it.subject || '(no subject)')),
			h('span.third', {}, it.risk ? badge(it.risk, 'risk') : null, it.drafts ? badge(it.drafts === 1 ? 'draft' : `${it.drafts} drafts`, 'draft') : null,
				it.urgency === 'high' ? badge('urgent', 'high') : null, it.sandbox ? badge('sandbox', 'sandbox') : null, this.filters.view === 'all' ? badge(it.snoozedUntil ? 'snoozed' : it.status) : null,
				it.tags.slice(0, 2).map((tag) => h('span.tag', {}, words(tag))), words(it.snippet, 'span', { class: 'snippet' })));
	}

	addressed() {
		const { view, ...others } = this.filters;
		return { view: view === 'open' ? '' : view, ...others };
	}
}
customElements.define('si-inbox', Inbox);
