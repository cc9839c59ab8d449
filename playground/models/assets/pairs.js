// The curated pairs as a table; Choose puts one into the boxes above it.
const FITS = { fits: ['✓', 'Fits'], unload: ['↻', 'Unload first'], no: ['✗', 'Too large'] };

function show() {
  const { rows = [] } = given();
  const large = rows.filter((row) => row.fit === 'no'), others = rows.filter((row) => row.fit !== 'no');
  const parts = [];
  if (others.length) parts.push(tableOfPairs('Pairs that suit this machine', others));
  if (large.length) parts.push(el('details', { open: !others.length }, el('summary', { text: `Too large for this machine: ${large.length}` }), tableOfPairs('Pairs that are too large', large)));
  root.replaceChildren(el('div', { class: 'dm-stack' }, ...parts));
}

function tableOfPairs(caption, rows) {
  const head = ['Model', 'Weights', 'Drafter', 'Memory'];
  return el('table', { class: 'mo-table' }, el('caption', { text: caption }),
    el('thead', {}, el('tr', {}, ...head.map((text) => el('th', { scope: 'col', text })), el('td'))),
    el('tbody', {}, ...rows.map(rowOf)));
}

function rowOf(row) {
  const [glyph, word] = FITS[row.fit];
  const tags = [row.running ? ['running', 'Running'] : null, row.here ? ['here', 'On this machine'] : null, row.gated ? ['gated', 'Gated'] : null].filter(Boolean);
  return el('tr', { 'data-pair': row.key },
    el('th', { scope: 'row' }, el('span', { class: 'mo-name', text: row.name }), ...tags.map(([kind, text]) => el('span', { class: `mo-tag mo-${kind}`, text })),
      el('span', { class: 'mo-note', text: row.licence })),
    el('td', { 'data-label': 'Weights' }, el('b', { text: row.weights }), el('span', { class: 'mo-note', text: `${row.params} in ${row.dtype}` })),
    el('td', { 'data-label': 'Drafter' }, el('span', { text: row.drafter }), el('span', { class: 'mo-note', text: row.why })),
    el('td', { 'data-label': 'Memory' }, el('span', { class: `mo-fit mo-fit-${row.fit}` }, el('span', { 'aria-hidden': 'true', text: glyph }), ` ${word}`),
      el('span', { class: 'mo-note', text: row.fits })),
    el('td', { class: 'mo-do' }, el('button', { type: 'button', class: 'dm-button', text: 'Choose', 'aria-label': `Choose ${row.name}`, onclick: () => choose(row.key) })));
}

function choose(pair) {
  trigger('select', { pair });
  document.getElementById('models_form')?.scrollIntoView({ block: 'nearest', behavior: calm.matches ? 'auto' : 'smooth' });
}

watch('value', show);
show();
