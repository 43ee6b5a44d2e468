// Worlds side by side, and this one as a whole: put back, saved, loaded.

import { dayAndTime } from './clock.js';
import { differences } from './differences.js';
import { h, part, patch } from './dom.js';
import { Panel } from './panel.js';
import { size } from './timeline.js';
import { ask, attempt, badge, button, confirm, copier, dialog, table, toast } from './ui.js';

class Worlds extends Panel {
	table = table('Worlds', ['World', 'Live key', 'Control API', '']);
	kept = table('Snapshots', ['Name', 'Taken at', 'Size', '']);

	get heading() {
		return 'Worlds';
	}

	async load() {
		const [worlds, snapshots] = await Promise.all([this.api.ask('GET', '/worlds', { anyWorld: true }).then((it) => it.json()), this.api.get('/snapshots')]);
		return { worlds, snapshots };
	}

	/** @param {{ worlds: any[], snapshots: any[] }} data */
	draw({ worlds, snapshots }) {
		patch(this, [
			part('head', 0, () => h('header.panel-head', {}, h('h1', {}, 'This world'), h('p', {}, 'Everything in it is one document: save it, load it, or begin again.'))),
			part('this', 0, () => h('div.actions', {}, button('Reset', () => confirm('Put this world back to its start?', 'What happened since is gone: email, keys, webhooks, the journal, faults, the time.', 'Reset', async () => {
				await this.api.post('/reset');
				toast('The world is reset');
			})), button('Download', () => attempt(() => this.download())), button('Upload', () => this.upload()))),
			part('kept', 0, () => h('header.panel-head', {}, h('h2', {}, 'Snapshots'), h('p', {}, 'The world as it is now, under a name, to come back to and to compare with.'), button('Take a snapshot', () => ask('Take a snapshot', [{ name: 'name', label: 'Name', value: 'before', required: true, hint: 'Letters, digits, - _ and .', props: { pattern: '[A-Za-z0-9._\\-]{1,80}' } }], 'Take', (values) => this.api.post('/snapshots', values).then(() => this.refresh()))))),
			snapshots.length ? part('snapshots', 0, () => this.kept.whole) : null,
			part('all', 0, () => h('header.panel-head', {}, h('h2', {}, 'Worlds of this server'), h('p', {}, 'Each has its own keys, data, clock, faults and journal. Test workers take one each.'), button('Make a world', () => this.make(), { kind: 'primary' }))),
			part('table', 0, () => this.table.whole),
		]);
		this.kept.fill(snapshots.map((it) => part(it.name, [it, snapshots.length], () => h('tr', {}, h('td', {}, h('b', {}, it.name)), h('td', {}, dayAndTime(it.at)), h('td', {}, size(it.bytes)), h('td.end', {}, button('Compare', () => this.compare(it.name, snapshots), { kind: 'small' }), button('Restore', () => confirm(`Go back to ${it.name}?`, 'What happened since is gone.', 'Restore', () => this.api.post(`/snapshots/${it.name}/restore`)), { kind: 'small' }), button('Delete', () => attempt(() => this.api.remove(`/snapshots/${it.name}`).then(() => this.refresh())), { kind: 'small', 'aria-label': `Delete ${it.name}` }))))));
		this.table.fill(worlds.slice(0, 500).map((it) => part(it.id ?? 'main', it, () => h('tr', {}, h('td', {}, h('b', {}, it.id ?? 'main world'), ' ', (it.id ?? null) === this.api.world ? badge('this one', 'draft') : null), h('td', {}, copier('Copy', () => it.keys.live)), h('td', {}, h('code', {}, new URL(it.control_url).pathname)),
			h('td.end', {}, (it.id ?? null) === this.api.world ? null : h('a.button.small', { href: it.id ? `/?world=${encodeURIComponent(it.id)}#/inbox` : '/#/inbox', 'aria-label': `Switch to ${it.id ?? 'the main world'}` }, 'Switch to it'),
				it.id && it.id !== this.api.world ? button('Delete', () => confirm(`Delete ${it.id}?`, 'Its keys get 401 from then on.', 'Delete', () => this.api.ask('DELETE', `/worlds/${it.id}`, { anyWorld: true }).then(() => this.refresh())), { kind: 'small', 'aria-label': `Delete ${it.id}` }) : null)))));
	}

	/** @param {string} from @param {any[]} snapshots */
	compare(from, snapshots) {
		const others = snapshots.map(({ name }) => /** @type {[string, string]} */ ([name, name])).filter(([name]) => name !== from);
		ask(`Compare ${from}`, [{ name: 'to', label: 'With', type: 'select', options: [['', 'the world as it is now'], ...others] }], 'Compare', async ({ to }) => {
			const { changes, text } = await this.api.get(`/snapshots/${from}/diff`, { to });
			const conversations = changes.length ? await this.api.get('/conversations', { limit: 1_000 }) : [];
			const until = to ? ` and “${to}”` : ' and now';
			dialog(`Between “${from}”${until}`, differences(changes, text, conversations, () => document.querySelector('dialog')?.close()));
		});
	}

	make() {
		ask('Make a world', [
			{ name: 'start', label: 'Starts with', type: 'select', options: [['demo', 'the demo workspace'], ['empty', 'nothing in it'], ['copy', 'a copy of this world']], required: true },
			{ name: 'clock', label: 'Clock', type: 'select', options: [['manual', 'stands still until it is moved'], ['real', 'runs']], required: true },
		], 'Make', async ({ start, clock }) => {
			const seed = start === 'copy' ? await this.api.get('/state') : undefined;
			const made = await (await this.api.ask('POST', '/worlds', { anyWorld: true, body: { clock, empty: start === 'empty' || undefined, seed } })).json();
			toast(`World ${made.id} was created`);
			await this.refresh();
		});
	}

	async download() {
		const text = await (await this.api.ask('GET', '/state')).text();
		const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
		h('a', { href: url, download: `${this.api.world ?? 'world'}.json` }).click();
		setTimeout(() => URL.revokeObjectURL(url), 10_000);
	}

	upload() {
		ask('Load a world document', [{ name: 'file', label: 'File', type: 'file', required: true, hint: 'As “Download” gives it. The world becomes exactly that.', props: { accept: 'application/json,.json' } }], 'Load', async ({ file }) => {
			await this.api.ask('PUT', '/state', { text: await file.text() });
			toast('The document is loaded');
		});
	}
}
customElements.define('si-worlds', Worlds);
