// The parts of the inspector: the strip of a round's tokens, the choices of a place, and the test of a draft.
const FATE_WORDS = {
  accepted: ['accepted', '✓'], rejected: ['rejected', '✗'], unread: ['not looked at', '–'], 'after-stop': ['after the end', '–'], trimmed: ['let go', '✂'],
  bonus: ['bonus', '+'], correction: ['correction', '↻'], plain: ['plain', '•'],
};
const asPercent = (chance) => (chance > 0 && chance < 0.001 ? '<0.1 %' : `${(100 * chance).toFixed(chance < 0.1 ? 1 : 0)} %`);
const quoted = (text) => `“${glyphs(text)}”`;
const forEngineer = (text) => el('span', { class: 'for-engineer ds-raw', text });
const bothWords = (says) => [el('span', { class: 'for-engineer', text: says.engineer }), el('span', { class: 'for-student', text: says.student })];
const columnName = (found, i) => (i < drafts(found) ? i + 1 : 'own');
const drafts = ({ columns }) => columns.filter(({ fate }) => !['bonus', 'correction', 'plain'].includes(fate)).length;
const placeName = (column) => (column === 'own' ? 'the model’s own' : `draft ${column}`);

// What the round would have emitted had every draft been right, and what came of it: kept, or struck.
function roundStrip(found, chosen, choose) {
  const chip = (column, i) => {
    const name = columnName(found, i), [word, sign] = FATE_WORDS[column.fate];
    return el('button', {
      type: 'button', class: `ds-step ds-f-${column.fate}${column.kept ? '' : ' ds-struck'}`, 'aria-pressed': String(name === chosen), 'data-column': name,
      'aria-label': `${placeName(name)}, ${quoted(column.text)}, ${word}`, onclick: () => choose(name),
    }, el('span', { class: 'ds-step-text', text: glyphs(column.text), translate: 'no' }), el('span', { class: 'ds-step-fate', text: `${sign} ${word}` }));
  };
  return el('div', { class: 'ds-strip', role: 'group', 'aria-label': 'The tokens of the round' },
    el('span', { class: 'ds-step ds-step-before', title: 'The token that the round began with' }, el('span', { class: 'ds-step-text', text: glyphs(found.pending[1]), translate: 'no' }), el('span', { class: 'ds-step-fate', text: 'before' })),
    ...found.columns.map(chip));
}

// Bars of the most probable tokens; `marks` are [id, word] of those that played a part.
function choices(title, rows, marks, silence) {
  const top = Math.max(...rows.map(([, , chance]) => chance), 0.0001);
  const lines = rows.map(([id, text, chance]) => {
    const roles = marks.filter(([marked]) => marked === id).map(([, word]) => word);
    const bar = el('span', { class: 'ds-bar', 'aria-hidden': 'true' }, el('span'));
    bar.firstChild.style.width = `${Math.max(1, (100 * chance) / top)}%`;
    return el('li', { class: roles.length ? 'ds-marked' : '' }, el('span', { class: 'ds-choice-text', text: glyphs(text), translate: 'no' }), forEngineer(`id ${id}`), bar,
      el('span', { class: 'ds-chance', text: asPercent(chance) }), el('span', { class: 'ds-role', text: roles.join(', ') }));
  });
  const left = 1 - sum(rows.map(([, , chance]) => chance));
  if (rows.length && left > 0.0005) lines.push(el('li', { class: 'ds-rest' }, el('span', { text: 'all others' }), el('span', { class: 'ds-chance', text: asPercent(left) })));
  return el('div', { class: 'ds-choices' }, el('h4', { text: title }), rows.length ? el('ol', {}, ...lines) : el('p', { class: 'ds-about', text: silence }));
}

// The accept test with its numbers. For chances: the part of the line in which u keeps the draft, and where u fell.
function testOf({ test }) {
  if (!test) return null;
  const verdict = test.passed ? 'accepted' : 'rejected';
  if (test.kind !== 'chance') {
    const equal = test.passed ? '=' : '≠', what = test.kind === 'argmax' ? 'argmax' : 'draw with shared noise';
    return el('p', { class: 'ds-test for-engineer' }, `accept test: draft ${quoted(test.draft[1])} (id ${test.draft[0]}) ${equal} ${what} ${quoted(test.choice[1])} (id ${test.choice[0]}): ${verdict}`);
  }
  const share = test.q > 0 ? Math.min(1, test.p / test.q) : 1;
  const line = el('div', { class: 'ds-odds', role: 'img', 'aria-label': `Kept up to ${share.toFixed(3)}; u fell on ${test.u.toFixed(3)}` }, el('span', { class: 'ds-odds-kept' }), el('span', { class: 'ds-odds-u' }));
  line.firstChild.style.width = `${100 * share}%`;
  line.lastChild.style.left = `${100 * test.u}%`;
  const number = (value) => Number(value.toPrecision(4));
  return el('div', { class: 'ds-test' }, line,
    el('p', { class: 'for-engineer', text: `accept test: u < p/q, with p = ${number(test.p)}, q = ${number(test.q)}, p/q = ${number(share)}, u = ${number(test.u)}: ${verdict}` }),
    el('p', { class: 'for-student', text: `The dice showed ${number(test.u)}; up to ${number(share)} the guess is kept.` }));
}
