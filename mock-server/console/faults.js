// Failures on demand: rules that make requests and webhooks fail, and how often they have fired.

import { clock } from './clock.js';
import { h, part, patch, words } from './dom.js';
import { Panel } from './panel.js';
import { at } from './route.js';
import { fields, inWords, rule } from './rules.js';
import { ask, attempt, badge, button, empty, EVENTS, table, toast } from './ui.js';

class Faults extends Panel {
	table = table('Rules', ['Rule', 'State', 'Fired', '']);

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
			part('head', faults.length > 0, () => h('header.panel-head', {}, h('h1', {}, 'Faults'), h('span.gap'), faults.length ? button('Remove all', () => attempt(() => this.api.remove('/faults'), 'All rules are removed')) : null, button('Add a rule', () => this.make(), { kind: 'primary' }))),
			part('bundles', bundles, () => h('section.bundles', { 'aria-label': 'Bundles' }, bundles.map((it) => h('article.card', {}, h('header', {}, h('b', {}, it.title), h('span.gap'), it.on ? badge('on', 'failed') : null, it.on ? button('Switch off', () => attempt(() => this.api.remove(`/bundles/${it.name}`), `“${it.title}” is over`), { kind: 'small', 'data-focus': `bundle-${it.name}` }) : button('Switch on', () => attempt(() => this.api.post(`/bundles/${it.name}`), `“${it.title}” has begun`), { kind: 'small', 'data-focus': `bundle-${it.name}` })), h('p.hint', {}, it.about))))),
			faults.length ? part('table', 0, () => this.table.whole) : part('none', 0, () => empty('bolt', 'No rules', 'Switch on a bundle above, or add a rule of your own.')),
		]);
		const { id } = this.route;
		const title = (/** @type {string} */ name) => bundles.find((it) => it.name === name)?.title ?? name;
		this.table.fill(faults.map((it) => part(it.id, [it, over(it), it.id === id], () => h(`tr${it.id === id ? '.this' : ''}${over(it) ? '.over' : ''}`, {}, h('td', {}, words(inWords(it), 'span'), h('p.hint', {}, h('code', {}, it.id), it.bundle ? ` · part of “${title(it.bundle)}”` : '')), h('td', {}, over(it) ? badge(over(it), 'kind') : badge('active', 'failed')), h('td', {}, it.fired && !it.webhook ? h('a', { href: at('requests', null, { fault: it.id }) }, times(it.fired)) : it.fired ? times(it.fired) : ['never', h('p.hint', {}, it.matched ? `${it.matched} matched` : 'nothing matched it')]),
			h('td.end', {}, button('Remove', () => attempt(() => this.api.remove(`/faults/${it.id}`), 'Removed'), { kind: 'small', 'data-focus': `remove-${it.id}` }))), true)));
	}

	async make() {
		const [keys, webhooks] = await Promise.all([this.api.get('/keys'), this.api.get('/webhooks')]);
		ask('Add a fault rule', fields(keys, webhooks, EVENTS), 'Add', async (values) => {
			await this.api.post('/faults', rule(values));
			toast('The rule is active');
		});
	}
}
customElements.define('si-faults', Faults);

/** Why a rule fires no more; empty while it may. @param {any} it */
function over(it) {
	if (it.times !== null && it.fired >= it.times) return 'used up';
	return it.until && Date.parse(it.until) <= clock.now() ? 'over' : '';
}

/** @param {number} count */
function times(count) {
	return count === 1 ? 'once' : `${count} times`;
}
