// The report of `explore`: what was tried, and each finding as a timeline with lanes.

/** The lanes, and the first words of lines that belong to them. @type {[string, RegExp][]} */
const EXPLORE_LANES = [
	['customer', /^(customer|mail)/],
	['app', /^(app|job|run|server)/],
	['service', /^(service|time|fault|response|the trouble)/],
	['people', /^(person|people|helper)/],
	['webhooks', /^(webhook|delivery|event)/],
];

/** @param {string} line */
function exploreLane(line) {
	const found = EXPLORE_LANES.findIndex(([, words]) => words.test(line.trimStart()));
	return found < 0 ? 1 : found;
}

/** @param {any} finding @param {string} name */
function exploreTimeline(finding, name) {
	const lines = list(finding.timeline).map(String);
	const used = new Set(lines.map(exploreLane));
	const lanes = EXPLORE_LANES.map(([name], at) => ({ name, at })).filter(({ at }) => used.has(at));
	const marks = groups(list(finding.marks), (mark) => String(mark.line));
	/** What the app printed belongs to the line above it. @type {{ text: string, lane: number, marks: string[], printed: string[] }[]} */
	const entries = [];
	lines.forEach((line, i) => {
		const printed = /^\s+\| ?(.*)$/s.exec(line);
		const last = entries.at(-1);
		if (printed && last) last.printed.push(printed[1]);
		else entries.push({ text: line.trim().replace(/^\S+\s{2,}/, ''), lane: exploreLane(line), marks: (marks.get(String(i)) ?? []).map((mark) => mark.kind), printed: [] });
	});
	const rows = entries.map(({ text, lane, marks, printed }) => {
		const [isTrouble, isBroken] = [marks.includes('trouble'), marks.includes('broken')];
		const said = h('span', {}, text, printed.length > 0 && h('pre', { tabindex: '0' }, printed.join('\n')), isTrouble && h('span.badge.warn', {}, 'trouble'), isBroken && h('span.badge.bad', {}, 'rule broken here'));
		return h(`tr${isTrouble ? '.trouble' : ''}${isBroken ? '.broken' : ''}`, {}, lanes.map(({ name, at }) => h(`td${at === lane ? '.here' : ''}`, { 'data-lane': name }, at === lane && said)));
	});
	return h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': `Timeline of ${name}` }, h('table.lanes', {}, h('thead', {}, h('tr', {}, lanes.map(({ name }) => h(`th${name === 'app' ? '.wide' : ''}`, { scope: 'col' }, name)))), h('tbody', {}, rows)));
}

/** @param {any} finding @param {string} name One that no other finding has. */
function exploreFinding(finding, name) {
	const tests = Object.entries(finding.tests ?? {}).filter(([, text]) => text);
	const again = finding.reproduced === '0 of 0' ? '; it was not run again' : [finding.reproduced && `; reproduced ${finding.reproduced}`, finding.withoutTrouble && `, without trouble ${finding.withoutTrouble}`];
	const shell = finding.tests?.shell || (finding.replay && `shared-inbox-mock explore --scenario FILE --replay ${finding.replay} -- COMMAND`);
	return h('section.finding', { 'aria-label': name }, h('h2', {}, h('span.badge.bad', {}, finding.oracle), ' ', finding.summary), h('p.hint', {}, `${counted(list(finding.steps).length, 'step')}, shrunk from ${count(finding.shrunkFrom)}`, again), exploreTimeline(finding, name), shell && h('div.replay', {}, h('h3', {}, 'Replay it'), h('div.with-button', {}, h('pre', { tabindex: '0' }, shell), copyButton(shell))), tests.length > 0 && h('details.rule', {}, h('summary', { 'aria-label': `As a test: ${name}` }, 'As a test'), h('div.body', {}, tests.map(([language, text]) => h('div', {}, h('h3', {}, language), h('pre', { tabindex: '0' }, text), copyButton(String(text)))))));
}

/** @param {string} label @param {any} part */
function exploreBar(label, part) {
	const [tried, of] = [count(part?.tried), count(part?.of)];
	return h('div.bar', {}, h('span', {}, label), h('progress', { value: String(tried), max: String(Math.max(of, 1)), 'aria-label': label }), h('span', {}, `${tried} of ${of}`));
}

/** Single steps by place and kind. @param {{ place: string, kind: string, tried: number, of: number }[]} cells */
function exploreGrid(cells) {
	const order = ['failure', 'kill', 'delivery', 'customer', 'person', 'time'];
	const kinds = [...groups(cells, (it) => it.kind).keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
	const rows = [...groups(cells, (it) => it.place)].map(([place, of]) => h('tr', {}, h('th', { scope: 'row' }, place), kinds.map((kind) => {
		const cell = of.find((it) => it.kind === kind);
		if (!cell) return h('td.none', {}, '–');
		return h('td', {}, h(`span.cell.${cell.tried >= cell.of ? 'info' : cell.tried ? 'part' : 'warn'}`, {}, h('b', {}, `${cell.tried} of ${cell.of}`)));
	})));
	return [h('p.hint', {}, 'Single steps by place and kind: how many were tried, of those that there are.'), h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Single steps by place and kind' }, h('table.grid', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Place'), kinds.map((kind) => h('th', { scope: 'col' }, kind)))), h('tbody', {}, rows)))];
}

/** @param {any} report */
function exploreReport(report) {
	const [findings, unstable, notJudged] = [list(report.findings), list(report.unstable), list(report.notJudged)];
	const verdicts = /** @type {Record<string, [string, string]>} */ ({
		held: ['good', 'Nothing that was tried broke a rule.'],
		broken: ['bad', `${counted(findings.length, 'finding')}: the app broke under trouble that happens.`],
		'could-not-run': ['warn', 'It could not run.'],
		interrupted: ['warn', 'Interrupted; this is what was found so far.'],
	});
	const [kind, sentence] = verdicts[report.verdict] ?? ['warn', ''];
	const coverage = report.coverage ?? {};
	const top = head('explore', kind, report.verdict, [sentence, report.why ? ` ${report.why}` : '', report.note ? ` ${report.note}` : ''], [
		figure(findings.length, findings.length === 1 ? 'finding' : 'findings', findings.length ? 'bad' : ''),
		figure(`${count(coverage.singles?.tried)} of ${count(coverage.singles?.of)}`, 'single steps tried'),
		figure(count(report.schedules), 'schedules'),
		figure(count(report.states), 'states reached'),
		figure(notJudged.length, 'not judged', notJudged.length ? 'warn' : ''),
		figure(`${count(report.seconds).toFixed(0)} s`, `seed ${report.seed}`),
	]);
	const grid = list(coverage.grid);
	return [
		top,
		findings.map((it, i) => exploreFinding(it, `finding ${i + 1}`)),
		h('section.tried', { 'aria-label': 'What was tried' }, h('h2', {}, 'What was tried'), h('p.hint', {}, `${counted(count(coverage.requests), 'request')} in the undisturbed run.`), exploreBar('Single steps', coverage.singles), exploreBar('Pairs', coverage.pairs), count(coverage.random) > 0 && h('p', {}, `${counted(count(coverage.random), 'schedule')} at random`), grid.length > 0 && exploreGrid(grid)),
		notJudged.length > 0 && h('section', { 'aria-label': 'Not judged' }, h('h2', {}, 'Not judged'), h('ul.plain', {}, notJudged.map((it) => h('li', {}, h('span.badge.warn', {}, it.rule), ' ', it.part ? `${it.part}: ` : '', it.why)))),
		list(report.varies).length > 0 && h('p', {}, 'Varies without trouble: ', list(report.varies).map((part) => [h('code', {}, part), ' '])),
		unstable.length > 0 && h('section', { 'aria-label': 'Not beyond chance' }, h('h2', {}, 'Not beyond chance'), unstable.map((it, i) => exploreFinding(it, `unstable finding ${i + 1}`))),
	];
}

start(exploreReport);
