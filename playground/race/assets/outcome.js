// The end of a race: are the tokens the same, how much faster, and where the time went.
const PARTS = [['prefill', 'reading the prompt'], ['draft', 'guessing the next tokens'], ['verify', 'the model’s forward over the guesses'],
  ['accept', 'deciding what stays'], ['host', 'bookkeeping inside a round'], ['rest', 'between rounds and bursts']];
const MARKS = { identical: '✓', different: '✗', distribution: '≈', unknown: '?' };

function createOutcome(host) {
  const mark = el('span', { class: 'dm-mark', 'aria-hidden': 'true' }), sentence = el('span');
  const verdict = el('p', { class: 'dm-verdict', id: 'race_verdict' }, mark, sentence);
  const speed = el('dd'), whole = el('dd');
  const bars = el('div', { class: 'dm-bars', role: 'img' });
  const why = el('div', { class: 'dm-sentences', id: 'race_why' });
  const numbers = el('div');
  const key = el('ul', { class: 'dm-key', 'aria-label': 'Where the time went' },
    ...PARTS.map(([name, note]) => el('li', { title: note }, el('i', { class: `dm-${name}`, 'aria-hidden': 'true' }), name)));
  const box = el('div', { class: 'dm-card dm-results', hidden: true, id: 'race_outcome' }, verdict,
    el('dl', { class: 'dm-big' }, el('div', {}, el('dt', { text: 'as fast, decoding alone' }), speed), el('div', {}, el('dt', { text: 'as fast, with the prompt and the first token' }), whole)),
    el('div', { class: 'dm-stack' }, el('h2', { text: 'Where the time went' }), bars, key), why,
    el('details', {}, el('summary', { text: 'All numbers as a table' }), numbers));
  host.append(box);
  return {
    hide() { box.hidden = true; },
    show(outcome, names) {
      box.hidden = !outcome;
      if (!outcome) return;
      const { verdict: said, plain, other } = outcome;
      verdict.className = `dm-verdict dm-${said.same}`;
      setText(mark, MARKS[said.same]);
      setText(sentence, said.sentence);
      setText(speed, times(outcome.speed_up));
      setText(whole, times(outcome.whole_speed_up));
      const longest = Math.max(...[plain, other].map(total));
      bars.replaceChildren(...[[names[0], plain], [names[1], other]].map(([name, lane]) => barOf(name, lane, longest)));
      bars.setAttribute('aria-label', [[names[0], plain], [names[1], other]].map(([name, lane]) => `${name}: ${PARTS.map(([part]) => `${part} ${percent(lane.stages[part] / total(lane))}`).join(', ')}.`).join(' '));
      why.replaceChildren(...outcome.sentences.map((text) => el('p', { class: 'dm-quiet', text })));
      numbers.replaceChildren(numbersOf(names, plain, other));
    },
  };
}

const total = (lane) => PARTS.reduce((sum, [part]) => sum + lane.stages[part], 0) || 1;

function barOf(name, lane, longest) {
  const all = total(lane);
  const bar = el('div', { class: 'dm-bar', style: `width: ${(100 * all) / longest}%` }, ...PARTS.filter(([part]) => lane.stages[part] > 0).map(([part]) => {
    const ms = lane.stages[part];
    return el('span', { class: `dm-${part}`, style: `flex: ${ms} 1 0`, title: `${part}: ${ms.toFixed(0)} ms, ${percent(ms / all)}`, text: ms / longest > 0.14 ? part : '' });
  }));
  return el('div', { class: 'dm-barline' }, el('span', { text: name }), el('div', {}, bar), el('b', { text: `${(all / 1000).toFixed(2)} s` }));
}

function numbersOf(names, plain, other) {
  const both = (name, of) => [name, of(plain), of(other)];
  return tableOf('The race in numbers', ['', ...names], [
    both('tokens', (lane) => lane.tokens),
    both('first token', (lane) => fixed(lane.first_s, 3, ' s')),
    both('last token', (lane) => fixed(lane.last_s, 3, ' s')),
    both('tokens/s, decoding', (lane) => fixed(lane.rate, 1)),
    both('tokens/s, with the first', (lane) => fixed(lane.whole_rate, 1)),
    both('rounds', (lane) => lane.rounds),
    both('tokens per round', (lane) => fixed(lane.tokens_per_round, 2)),
    both('drafts accepted', (lane) => percent(lane.acceptance)),
    ...PARTS.map(([part, note]) => both(`${part}: ${note}`, (lane) => fixed(lane.stages[part], 1, ' ms'))),
  ]);
}
