// The report of `conform`: sections with their rules; request, expected and received side by side; what changed.

/** @typedef {{ id: string, section: string, kind: string, result: string, cause?: string, why?: string, request?: string, expected?: string, received?: string, controlCalls?: string[] }} ConformRule */

/** @param {ConformRule} rule */
function conformState(rule) {
	if (rule.result === 'not-tried') return rule.cause === 'failed' ? 'failed' : 'left-out';
	if (rule.result === 'differs') return rule.kind === 'observation' ? 'observed' : 'differs';
	return 'holds';
}

const CONFORM_STATES = /** @type {const} */ ({
	differs: ['differs', 'bad'],
	failed: ['not tried: failed', 'warn'],
	observed: ['seen otherwise', 'info'],
	'left-out': ['not tried: settings', 'soft'],
	holds: ['holds', 'good'],
});

/** @param {ConformRule} rule */
function conformRule(rule) {
	const state = conformState(rule);
	const [label, kind] = CONFORM_STATES[state];
	const isTried = rule.result !== 'not-tried';
	const summary = h('summary', {}, h(`span.badge.${kind}`, {}, label), h('code', {}, rule.id), h('span.why', {}, isTried ? rule.why : rule.why?.split(': ')[0]));
	const sides = [
		(state === 'differs' || state === 'observed') && h('div.sides', {}, quote(state === 'observed' ? 'The mock' : 'Expected', rule.expected), quote('Received', rule.received)),
		state === 'failed' && rule.received && quote('Received', rule.received),
	];
	const calls = list(rule.controlCalls);
	return h('details.rule', { 'data-state': state, open: state === 'differs' || (state === 'failed' && Boolean(rule.request)) }, summary, h('div.body', {}, !isTried && h('p', {}, rule.why), rule.request && quote('Request', rule.request), sides, calls.length > 0 && h('p.hint', {}, 'Control calls: ', calls.map((call) => [h('code', {}, call), ' '])), state === 'holds' && rule.received && quote('Received', rule.received)));
}

/** @param {string} section @param {ConformRule[]} rules */
function conformSection(section, rules) {
	const states = groups(rules, conformState);
	const part = (/** @type {string} */ state) => states.get(state)?.length ?? 0;
	const said = /** @type {(keyof typeof CONFORM_STATES)[]} */ (Object.keys(CONFORM_STATES)).filter((state) => part(state) > 0).map((state) => h(`span.badge.${CONFORM_STATES[state][1]}`, {}, `${part(state)} ${CONFORM_STATES[state][0]}`));
	return h('details.section', {}, h('summary', {}, h('h2', {}, `Section ${section}`), h('span.badges', {}, said)), h('div.rules', {}, rules.map(conformRule)));
}

/** @param {{ id: string, old?: string | null, new?: string | null }[]} changes */
function conformChanges(changes) {
	return h('section.changes', { 'aria-label': 'What changed' }, h('h2', {}, changes.length ? `${counted(changes.length, 'rule')} changed` : 'Nothing changed'), changes.map((change) => h('details.rule', { open: changes.length < 30 }, h('summary', {}, h('code', {}, change.id)), h('div.body', {}, h('div.sides', {}, quote('Before', change.old ?? 'not in the report'), quote('Now', change.new ?? 'not in the report'))))));
}

/** @param {any} report */
function conformReport(report) {
	/** @type {ConformRule[]} */
	const rules = list(report.rules);
	const states = groups(rules, conformState);
	const number = (/** @type {string} */ state) => states.get(state)?.length ?? 0;
	const verdicts = /** @type {Record<string, [string, string]>} */ ({
		conforms: ['good', 'Nothing that the document demands differs.'],
		differs: ['bad', `${counted(number('differs'), 'demanded rule')} ${number('differs') === 1 ? 'does' : 'do'} not hold.`],
		incomplete: ['warn', `Nothing that was tried differs, but ${counted(number('failed'), 'rule')} could not be tried because something failed.`],
	});
	const [kind, sentence] = verdicts[report.verdict] ?? ['warn', ''];
	const tried = rules.filter((rule) => rule.result !== 'not-tried').length;
	const top = head('conform', kind, report.verdict, [sentence, ' ', h('code', {}, report.baseUrl)], [
		figure(`${tried} of ${rules.length}`, 'rules tried'),
		figure(number('differs'), 'differ', number('differs') ? 'bad' : ''),
		figure(number('failed'), 'not tried: something failed', number('failed') ? 'warn' : ''),
		figure(number('left-out'), 'not tried: settings'),
		figure(number('observed'), 'observations unlike the mock'),
		figure(count(report.requests), `requests in ${count(report.seconds).toFixed(1)} s`),
	]);
	const order = Object.keys(CONFORM_STATES);
	const sections = [...groups(rules, (rule) => rule.section)].map(([section, of]) => conformSection(section, of.toSorted((one, other) => order.indexOf(conformState(one)) - order.indexOf(conformState(other)))));
	const shown = h('p.hint', { role: 'status' });
	const problems = number('differs') + number('failed') > 0;
	let [state, words] = [problems ? 'problems' : 'all', ''];
	function filter() {
		let visibleRules = 0;
		for (const section of sections) {
			let any = false;
			for (const rule of section.querySelectorAll('.rule')) {
				const fits = (state === 'all' || (state === 'problems' ? ['differs', 'failed'].includes(rule.dataset.state) : rule.dataset.state === state)) && rule.textContent.toLowerCase().includes(words);
				rule.hidden = !fits;
				any ||= fits;
				visibleRules += fits ? 1 : 0;
			}
			section.hidden = !any;
			section.open = words || state !== 'all' ? any : false;
		}
		shown.textContent = `${visibleRules} of ${counted(rules.length, 'rule')} shown`;
	}
	const search = h('input', { type: 'search', placeholder: 'Find a rule', 'aria-label': 'Find a rule', oninput: () => { words = search.value.toLowerCase(); filter(); } });
	filter();
	const options = /** @type {[string, string][]} */ ([['problems', 'Problems'], ['all', 'All'], ['observed', 'Seen otherwise'], ['left-out', 'Left out'], ['holds', 'Holds']]);
	return [top, Array.isArray(report.changes) && conformChanges(report.changes), h('div.filters', {}, switches('Which rules', options, state, (value) => { state = value; filter(); }), search, shown), sections];
}

start(conformReport);
