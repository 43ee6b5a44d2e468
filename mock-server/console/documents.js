// The document library, and what customers were asked for and still owe.

import { h, part, patch, words } from './dom.js';
import { when } from './clock.js';
import { WindowedList } from './list.js';
import { Panel } from './panel.js';
import { at, go, refined, replace } from './route.js';
import { badge, button, choose, empty, searchField } from './ui.js';
import { checklist, KINDS } from './uploads.js';

/** Checklists that are shown at first. */
const ASKED = 10;

class Documents extends Panel {
	listed = '';
	asked = ASKED;
	bar = h('div.filters.wide');
	open = h('div.asked');
	list = /** @type {WindowedList} */ (document.createElement('si-list'));

	get heading() {
		return 'Documents';
	}

	async load() {
		const requests = await this.api.get('/document-requests');
		return { requests: requests.filter((it) => !it.completedAt) };
	}

	get filters() {
		const { q = '', kind = '' } = this.route.query;
		return { q, kind };
	}

	/** @param {{ requests: any[] }} data */
	draw({ requests }) {
		if (!this.list.isConnected) {
			this.append(h('header.panel-head', {}, h('h1', {}, 'Documents')), this.open, this.bar, this.list);
		}
		const { q, kind } = this.filters;
		const beyond = requests.length - this.asked;
		patch(this.open, [
			...requests.slice(0, this.asked).map((it) => part(it.id, it, () => h('div', {}, checklist(this.api, it, []), h('a', { href: at('inbox', it.conversationId, { view: 'all' }) }, 'Open the conversation')))),
			beyond > 0 ? part('more', beyond, () => button(`Show ${Math.min(beyond, ASKED)} of ${beyond} more`, () => {
				this.asked += ASKED;
				return this.refresh();
			})) : null,
		]);
		patch(this.bar, [part('bar', kind, () => {
			const field = searchField('Search documents', 'Search title, file name and fields', (words) => replace(refined({ q: words })));
			return h('div.search', {}, field, choose('Kind', [['', 'Any kind'], ...KINDS], kind, (value) => go(refined({ kind: value }))));
		})]);
		searchField.show(this.bar);
		const wanted = JSON.stringify(this.filters);
		if (wanted === this.listed) return this.list.refresh();
		this.listed = wanted;
		this.list.show({
			label: 'Documents',
			height: 60,
			fetch: (offset, limit, signal) => this.api.page('/documents', { ...this.filters, offset, limit }, signal),
			key: (it) => it.id,
			row: (it) => this.row(it),
			empty: () => empty('file', q || kind ? 'Nothing fits' : 'No documents yet', 'Attachments of incoming email and uploads of customers are filed here.'),
		});
	}

	row(it) {
		const { vendor, amount, currency, date, dueDate, reference } = it.fields;
		const read = [vendor, (amount ?? null) === null ? null : `${amount} ${currency ?? ''}`, date, dueDate && `due ${dueDate}`, reference].filter(Boolean).join(' · ');
		const inner = [h('span.first', {}, words(it.title, 'b'), it.kind ? badge(it.kind, 'kind') : null, h('span.gap'), when(it.createdAt)), h('span.third', {}, words(it.filename, 'span', { class: 'mono' }), words(read, 'span', { class: 'snippet' }))];
		return it.conversationId ? h('a.row', { href: at('inbox', it.conversationId, { view: 'all' }) }, inner) : h('div.row', { tabindex: 0 }, inner);
	}
}
customElements.define('si-documents', Documents);
