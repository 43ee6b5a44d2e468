// The report of `redteam`: families by goals as a table of colours, each cell with its stories.

/** @typedef {{ id: string, family: string, task: string, place: string, goal: string, result: string, why?: string, habit?: boolean, runs: number, obeyed: number, useful: number, failed: number, story?: string[], left?: string[] }} RedteamAttack */

const REDTEAM_RESULTS = /** @type {const} */ ({
	obeyed: ['obeyed', 'bad'],
	'not-tried': ['not tried', 'warn'],
	review: ['for review', 'info'],
	held: ['held', 'good'],
});

/** A text in which what left is marked. @param {string} text @param {string[]} leaked @returns {Child[]} */
function redteamMarked(text, leaked) {
	const [first, ...rest] = leaked;
	if (!first) return [text];
	return text.split(first).flatMap((part, i) => [i > 0 && h('mark', {}, first), ...redteamMarked(part, rest)]);
}

/** A story line with its speaker set apart. @param {string} line @param {string[]} leaked */
function redteamLine(line, leaked) {
	const [, who = '', said = line] = /^(attack|agent|outcome|printed)\s+([\s\S]*)$/.exec(line) ?? [];
	return h(`li${who && `.${who}`}`, {}, h('span.who', {}, who || 'story'), h('span.said', {}, who === 'agent' || who === 'outcome' ? redteamMarked(said, leaked) : said));
}

/** @param {RedteamAttack} attack */
function redteamAttack(attack) {
	const [label, kind] = /** @type {Record<string, readonly [string, string]>} */ (REDTEAM_RESULTS)[attack.result] ?? [attack.result, 'soft'];
	const story = list(attack.story).map(String);
	const leaked = list(attack.left).map(String);
	return h('details.rule', { 'data-result': attack.result, open: false }, h('summary', {}, h(`span.badge.${kind}`, {}, label), attack.habit && h('span.badge.habit', {}, 'habit'), h('code', {}, attack.id), h('span.why', {}, `${attack.task}, in ${attack.place}`)), h('div.body', {}, attack.why && h('p', {}, redteamMarked(attack.why, leaked)), attack.habit && h('p', {}, 'The goal is reached without the attack as well: a habit of the agent.'), h('p.hint', {}, `${counted(count(attack.obeyed), 'run')} of ${count(attack.runs)} obeyed, ${count(attack.useful)} did the task, ${count(attack.failed)} failed`), story.length > 0 ? h('ol.story', {}, story.map((line) => redteamLine(line, leaked))) : h('p.hint', {}, attack.result === 'held' ? 'No story: nothing left.' : 'No story was kept.')));
}

/** @param {RedteamAttack[]} attacks */
function redteamCell(attacks) {
	const number = (/** @type {string} */ result) => attacks.filter((it) => it.result === result).length;
	const runs = attacks.reduce((sum, it) => sum + count(it.runs), 0);
	const obeyed = attacks.reduce((sum, it) => sum + count(it.obeyed), 0);
	const isHabit = attacks.every((it) => it.result !== 'obeyed' || it.habit);
	const kind = number('obeyed') ? (isHabit ? 'bad.habit' : 'bad') : number('not-tried') ? 'warn' : number('review') ? 'info' : 'good';
	const text = number('obeyed') ? `${runs ? Math.round((100 * obeyed) / runs) : 0} %` : number('not-tried') ? `${number('not-tried')} not tried` : number('review') ? `${number('review')} to review` : 'held';
	const habits = attacks.filter((it) => it.habit).length;
	return { kind, text, note: `${number('obeyed') ? `${number('obeyed')} of ` : ''}${counted(attacks.length, 'attack')}${habits ? `, ${counted(habits, 'habit')}` : ''}` };
}

/** @param {any} report */
function redteamReport(report) {
	const order = Object.keys(REDTEAM_RESULTS);
	/** @type {RedteamAttack[]} */
	const attacks = list(report.attacks).toSorted((one, other) => order.indexOf(one.result) - order.indexOf(other.result));
	const number = (/** @type {string} */ result) => attacks.filter((it) => it.result === result).length;
	const habits = attacks.filter((it) => it.habit).length;
	const verdicts = /** @type {Record<string, [string, string]>} */ ({
		held: ['good', 'No attack was obeyed.'],
		obeyed: ['bad', `The agent obeyed ${counted(number('obeyed'), 'attack')}.`],
		incomplete: ['warn', `No attack was obeyed, but ${counted(number('not-tried'), 'attack')} could not be tried.`],
		useless: ['warn', 'The agent did no task without an attack, so nothing is known.'],
		'could-not-run': ['warn', 'It could not run.'],
		interrupted: ['warn', 'Interrupted; this is what was found so far.'],
	});
	const [kind, sentence] = verdicts[report.verdict] ?? ['warn', ''];
	const baseline = list(report.baseline);
	const useful = baseline.reduce((sum, it) => sum + count(it.useful), 0);
	const runs = baseline.reduce((sum, it) => sum + count(it.runs), 0);
	const top = head('redteam', kind, report.verdict, [sentence, report.why ? ` ${report.why}` : ''], [
		figure(number('obeyed'), 'obeyed', number('obeyed') ? 'bad' : ''),
		figure(number('held'), 'held'),
		figure(number('not-tried'), 'not tried', number('not-tried') ? 'warn' : ''),
		figure(number('review'), 'for review'),
		figure(habits, 'habits'),
		figure(`${useful} of ${runs}`, 'tasks done without an attack'),
		figure(`${count(report.seconds).toFixed(0)} s`, `seed ${report.seed}, ${counted(count(report.repeat), 'run')} each`),
	]);
	const families = groups(attacks, (it) => it.family);
	const goals = [...groups(attacks, (it) => it.goal || 'other').keys()].sort();
	const options = /** @type {[string, string][]} */ ([['all', 'All'], ['obeyed', 'Obeyed'], ['not-tried', 'Not tried'], ['review', 'For review'], ['habit', 'Habits'], ['held', 'Held']]);
	const title = h('h2', { tabindex: '-1' }, 'All attacks');
	const stories = h('div.rules', {}, attacks.map(redteamAttack));
	/** @param {string} family @param {string} goal @param {string} result */
	function show(family, goal, result) {
		attacks.forEach((attack, i) => (stories.children[i].hidden = !((!family || attack.family === family) && (!goal || (attack.goal || 'other') === goal) && (result === 'all' || (result === 'habit' ? attack.habit : attack.result === result)))));
		title.textContent = visible(family ? `${family}: ${goal}` : options.find(([value]) => value === result)?.[1] ?? '');
	}
	const table = h('table.grid', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Family'), goals.map((goal) => h('th', { scope: 'col' }, goal)))), h('tbody', {}, [...families].map(([family, of]) => h('tr', {}, h('th', { scope: 'row' }, family), goals.map((goal) => {
		const inside = of.filter((it) => (it.goal || 'other') === goal);
		if (!inside.length) return h('td.none', {}, '–');
		const { kind: colour, text, note } = redteamCell(inside);
		return h('td', {}, h(`button.cell.${colour}`, { type: 'button', onclick: () => { show(family, goal, 'all'); title.focus(); } }, h('b', {}, text), h('span', {}, note)));
	})))));
	const result = number('obeyed') ? 'obeyed' : 'all';
	show('', '', result);
	return [top, attacks.length > 0 && h('p.hint', {}, 'Families by goals: the rate of obeyed runs. A cell shows its attacks below.'), attacks.length > 0 && h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Families by goals' }, table), h('div.filters', {}, switches('Which attacks', options, result, (value) => show('', '', value))), title, stories];
}

start(redteamReport);
