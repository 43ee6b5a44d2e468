// The first ten seconds: what this is, and the three things to do next.

import { clock } from './clock.js';
import { writeIn } from './compose.js';
import { curlList } from './copy.js';
import { h } from './dom.js';
import { at, go } from './route.js';
import { attempt, button, copier, facts, toast } from './ui.js';

/** @param {import('./panel.js').Context} context @param {() => void} [done] called when one of the things is begun */
export function guide(context, done) {
	const { base_url, mcp_url, control_url, keys } = context.ready;
	const value = (/** @type {string} */ text, /** @type {string} */ name) => h('div.with-button', {}, h('code', {}, text), copier('Copy', () => text, `Copy the ${name}`));
	const command = curlList(base_url, keys.live);
	return h('section.start', { 'aria-label': 'Start here' },
		h('p', {}, h('b', {}, 'This is a mock of the shared inbox.'), ' It behaves like the service, holds everything in memory, and sends no email. Calls of your app appear under ', h('a', { href: at('requests') }, 'Requests'), ' as they happen.'),
		h('ol', {},
			h('li', {}, h('h2', {}, 'Point your app here'), facts([['Base URL', value(base_url, 'base URL')], ['Live key', value(keys.live, 'live key')], ['Test key', value(keys.test, 'test key')], ['MCP', value(mcp_url, 'MCP address')], ['Control API', value(control_url, 'control address')]]),
				h('div.with-button', {}, h('pre', { tabindex: 0 }, command), copier('Copy', () => command, 'Copy the command'))),
			h('li', {}, h('h2', {}, 'Be a customer'), h('p', {}, 'Write in, and your app has something to reply to.'), button('Write in as a customer', () => {
				done?.();
				return writeIn(context, null, (id) => go(at('inbox', id, { view: 'all' })));
			})),
			h('li', {}, h('h2', {}, 'Move time'), h('p', {}, 'Replies leave after their undo window, reminders after days: ', clock.stands ? 'the clock stands until you move it.' : 'the clock runs, and you can move it ahead.'),
				button('Ten minutes ahead', () => attempt(async () => {
					const { fired, now } = await context.api.post('/clock', { advanceSeconds: 600 });
					clock.set({ now, mode: clock.stands ? 'manual' : 'real' });
					toast(fired.length ? `${fired.length} ${fired.length === 1 ? 'job' : 'jobs'} ran` : 'Nothing was due');
				})), ' ', h('a', { href: at('time'), onclick: done }, 'What happens next'))));
}
