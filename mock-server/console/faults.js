// Bad luck on demand: rules that make requests go wrong, and how often they have struck.

import { h, part, patch, words } from './dom.js';
import { Panel } from './panel.js';
import { fields, inWords, rule } from './rules.js';
import { ask, attempt, badge, button, empty, EVENTS, table, toast } from './ui.js';

class Faults extends Panel {
	table = table('Rules', ['Rule', 'Struck', '']);

	get heading() {
		return 'Faults';
	}

	get hearsRequests() {
		return true;
	}

	async load() {
		const [faults, bundles] = await Promise.all([this.api.get('/faults'), this.api.get('/bundles')]);
		return { faults, bundles };
	}

	/** @param {{ faults: any[], bundles: any[] }} data */
	draw({ faults, bundles }) {
		patch(this, [
			part('head', faults.length > 0, () => h('header.panel-head', {}, h('h1', {}, 'Faults'), h('span.gap'), faults.length ? button('Remove all', () => attempt(() => this.api.remove('/faults'), 'Nothing goes wrong any more')) : null, button('Add a rule', () => this.make(), { kind: 'primary' }))),
			part('bundles', bundles, () => h('section.bundles', { 'aria-label': 'Bundles' }, bundles.map((it) => h('article.card', {}, h('header', {}, h('b', {}, it.title), h('span.gap'), it.on ? badge('on', 'failed') : null, it.on ? button('Switch off', () => attempt(() => this.api.remove(`/bundles/${it.name}`), `“${it.title}” is over`), { kind: 'small', 'data-focus': `bundle-${it.name}` }) : button('Switch on', () => attempt(() => this.api.post(`/bundles/${it.name}`), `“${it.title}” has begun`), { kind: 'small', 'data-focus': `bundle-${it.name}` })), h('p.hint', {}, it.about))))),
			faults.length ? part('table', 0, () => this.table.whole) : part('none', 0, () => empty('bolt', 'Nothing goes wrong', 'Switch on a bundle above, or add a rule of your own.')),
		]);
		patch(this.table.body, faults.map((it) => part(it.id, it, () => h('tr', {}, h('td', {}, words(inWords(it), 'span')), h('td', {}, badge(String(it.fired), it.fired ? 'failed' : 'kind')),
			h('td.end', {}, button('Remove', () => attempt(() => this.api.remove(`/faults/${it.id}`), 'Removed'), { kind: 'small', 'data-focus': `remove-${it.id}` }))))));
	}

	async make() {
		const [keys, webhooks] = await Promise.all([this.api.get('/keys'), this.api.get('/webhooks')]);
		ask('Make something go wrong', fields(keys, webhooks, EVENTS), 'Add', async (values) => {
			await this.api.post('/faults', rule(values));
			toast('The rule is on');
		});
	}
}
customElements.define('si-faults', Faults);
