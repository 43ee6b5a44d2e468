// Every email that was sent or should have been; each opens as its recipient would get it.

import { fill, h, icon, part, patch, words } from './dom.js';
import { dayAndTime, when } from './clock.js';
import { WindowedList, whole } from './list.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { badge, copier, empty, facts, failed, traceLink } from './ui.js';

class Outbox extends Panel {
	/** @type {any[]} */
	mails = [];
	detail = h('section.pane.one-pane', { 'aria-label': 'Email' });
	head = h('div');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

	get heading() {
		return 'Outbox';
	}

	async load() {
		const mails = (await this.api.get('/outbox')).map((it, i) => ({ ...it, number: i + 1 })).reverse();
		const { id } = this.route;
		if (!id) return { mails };
		try {
			return { mails, one: await this.api.get(`/outbox/${encodeURIComponent(id)}`) };
		} catch (error) {
			return { mails, error };
		}
	}

	/** @param {{ mails: any[], one?: any, error?: unknown }} data */
	draw({ mails, one, error }) {
		this.mails = mails;
		this.classList.toggle('has-one', Boolean(this.route.id));
		this.list.choose(this.route.id ?? '');
		if (!this.list.isConnected) {
			this.append(h('section.pane.list-pane', { 'aria-label': 'Emails' }, this.head, this.list), this.detail);
			this.list.show({
				label: 'Emails',
				height: 84,
				fetch: whole(async () => this.mails),
				key: (it) => String(it.number),
				row: (it) => h('a.row', { href: at('outbox', String(it.number)) },
					h('span.first', {}, words(it.to, 'b'), badge(it.outcome), it.kind === 'reply' ? null : badge(it.kind, 'kind'), h('span.gap'), when(it.at)), h('span.second', {}, words(it.subject)), h('span.third', {}, words(it.text.slice(0, 200), 'span', { class: 'snippet' }))),
				empty: () => empty('out', 'No email was sent yet', 'Replies show here when their undo window has passed; move the clock to see that at once.'),
			});
		} else this.list.refresh();
		patch(this.head, [part('head', mails.length, () => h('header.panel-head', {}, h('h1', {}, 'Outbox'), h('p.hint', {}, mails.length ? `${mails.length === 1 ? '1 email' : `${mails.length} emails`}. The mock delivers none of them.` : '')))]);
		const { detail } = this;
		if (error) fill(detail, this.back(), failed(error, () => this.refresh()));
		else if (!one) fill(detail, empty('out', 'No email chosen', 'Choose one to see it as its recipient would get it.'));
		else {
			patch(detail, [part(String(this.route.id), one, () => this.one(one))]);
			this.opened(detail);
		}
	}

	back() {
		return h('a.back', { href: at('outbox') }, icon('back'), 'Outbox');
	}

	one(it) {
		return h('div.detail', {}, this.back(), h('header', {}, words(it.subject, 'h1'), badge(it.outcome), it.kind === 'reply' ? null : badge(it.kind, 'kind')),
			h('div.actions', {}, it.messageId ? traceLink(it.messageId, 'What led to it') : null, it.conversationId ? h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Open the conversation') : null, copier('Copy the source', () => it.source)),
			facts([['At', `${dayAndTime(it.at)} UTC`], ['From', words(it.headers.From)], ['To', words(it.to)]]),
			h('div.item', {}, words(it.text, 'p', { class: 'text' })), h('details', {}, h('summary', {}, 'Headers and source'), words(it.source, 'pre', { tabindex: 0 })));
	}
}
customElements.define('si-outbox', Outbox);
