// Panel: what was verified and not used. Per round, downwards, tokens past the budget and drafts behind a stop; a line has their share.
const WASTE = [
  { code: '5', name: 'overshoot', colour: 'overshoot', note: 'past the budget: in the caches, not shown yet' },
  { code: '6', name: 'dropped', colour: 'dropped', note: 'past the budget and let go again' },
  { code: '7', name: 'after a stop', colour: 'idle', note: 'drafted behind an accepted stop token' },
];

function createOvershootPanel(root, view) {
  const frame = createFrame(root, {
    name: 'overshoot', title: 'Overshoot', height: 210,
    about: 'Tokens that a round computed past the budget or behind a stop. A round without any is left empty, so every mark is a finding.',
    empty: 'Overshoot appears when a round emits more than the answer had room for.',
    key: (c) => WASTE.map(({ name, colour }, i) => ({ name, shape: ['frame', 'cross', 'dash'][i], colour: c[colour] })),
  });
  frame.plot.on('plotly_relayout', view.onZoom);
  view.addPill(frame);
  frame.plot.on('plotly_doubleclick', () => view.goTo(null));

  function draw(colours) {
    const found = wasted();
    frame.setEmpty(!found.rows.length);
    const range = view.current(frame.host.clientWidth);
    const near = found.rows.filter((row) => row.r >= range[0] - 1 && row.r <= range[1] + 1);
    const deepest = Math.max(4, ...near.map((row) => row.total));
    frame.plot.draw([
      ...WASTE.map(({ name, colour, note }, i) => ({
        type: 'bar', name, x: near.map((row) => row.r), y: near.map((row) => -row.counts[i]), base: near.map((row) => -sum(row.counts.slice(0, i))),
        hoverinfo: 'text', hovertext: near.map((row) => `<b>round ${row.r}: ${row.counts[i]} ${name}</b><br>${note}`),
        width: 0.72, marker: { color: 'rgba(0,0,0,0)', line: { color: colours[colour], width: 2 }, pattern: { shape: ['', 'x', '-'][i], fgcolor: colours[colour], size: 5, solidity: 0.35 } },
      })),
      { type: 'scatter', mode: 'lines', name: 'share of verified work', yaxis: 'y2', x: found.share.map((p) => p[0]), y: found.share.map((p) => p[1]), hoverinfo: 'text',
        hovertext: found.share.map((p) => `<b>after round ${p[0]}</b><br>${p[2]} of ${p[3]} verified tokens: ${percent(p[2], p[3])}`), line: { shape: 'hv', width: 1.4, color: colours.text, dash: 'dot' } },
    ], {
      barmode: 'overlay', dragmode: view.dragmode, margin: { l: 62, r: 54, b: 42 }, shapes: turnLines(colours, range),
      xaxis: { range, title: { text: 'verify round' }, tickformat: 'd', showgrid: false, nticks: 8 },
      yaxis: { range: [-deepest - 0.4, 0.4], fixedrange: true, tickformat: 'd', nticks: 5, title: { text: 'tokens' } },
      yaxis2: { overlaying: 'y', side: 'right', range: [0, Math.max(0.05, ...found.share.map((p) => p[1])) * 1.1], tickformat: '.0%', fixedrange: true, showgrid: false, zeroline: false, nticks: 4, automargin: false, title: { text: 'of all verified', standoff: 4 } },
    }, colours);
    const last = found.share.at(-1);
    frame.describe(last ? `${last[2]} of ${last[3]} verified tokens were past the budget or behind a stop.` : `0 of ${found.verified} verified tokens were past the budget or behind a stop.`);
    frame.fillTable(['round', ...WASTE.map(({ name }) => name)], (most) => found.rows.slice(-most).reverse().map((row) => [row.r, ...row.counts]));
  }
  return { frame, draw };
}

// Counted once for each string of fates: there are few, and thousands of rounds.
const wasteSeen = new Map();
function wasteOf(fates) {
  let found = wasteSeen.get(fates);
  if (!found) {
    const counts = WASTE.map(({ code }) => fates.split(code).length - 1);
    found = { counts, total: sum(counts) };
    wasteSeen.set(fates, found);
  }
  return found;
}

// Rounds with any of it, and its running share of all columns verified; points only where it changes, and at the end.
function wasted() {
  const rows = [], share = [];
  let waste = 0, all = 0;
  const { rounds } = store.state;
  for (const { r, fates } of rounds) {
    const { counts, total } = wasteOf(fates);
    all += fates.length;
    waste += total;
    if (!total) continue;
    rows.push({ r, counts, total });
    share.push([r, waste / all, waste, all]);
  }
  if (rows.length && share.at(-1)[0] !== rounds.at(-1).r) share.push([rounds.at(-1).r, waste / all, waste, all]);
  return { rows, verified: all, share: share.length > 2000 ? share.filter((_, i) => i % Math.ceil(share.length / 2000) === 0) : share };
}
