// Panel: where the time goes. Milliseconds of every round by stage, stacked, and tokens per second beside them.
const STAGES = [['draft', 'overshoot'], ['verify', 'accepted'], ['accept', 'bonus'], ['host', 'correction']];
const msCell = (ms) => tableCell(ms.toFixed(2), ms);
const FLAG = 'more than a fifth for the host';
const SMOOTH = 8, SPEED_POINTS = 2000;

function createSpeedPanel(root, view) {
  const frame = createFrame(root, {
    name: 'speed', title: 'Speed and time by stage', height: 250,
    about: 'Bars: milliseconds of each round, by stage. Line: tokens a second, over the last rounds. The engine’s own clock.',
    empty: 'The time of each round will be drawn here.',
    key: (c) => [...STAGES.map(([name, colour]) => ({ name, shape: 'solid', colour: c[colour] })), { name: FLAG, shape: 'flag', colour: c.overshoot }],
  });
  const gain = ['engineer', 'student'].map((level) => el('p', { class: `ds-forecast ds-gain for-${level}` }));
  frame.add(legend('ds-key', 'Stages', [...STAGES.map(([name, colour]) => [`stage-${colour}`, name]), ['flag', FLAG, 'the host held the round up: the model waited']]), ...gain);
  frame.also = () => ({ gain: gain[0].textContent });
  frame.plot.on('plotly_relayout', view.onZoom);
  view.addPill(frame);
  frame.plot.on('plotly_doubleclick', () => view.goTo(null));

  function draw(colours) {
    const timed = store.state.rounds.filter((row) => Array.isArray(row.ms));
    frame.setEmpty(!timed.length);
    const range = view.current(frame.host.clientWidth);
    const near = view.rows(range).filter((row) => Array.isArray(row.ms));
    const line = speedLine(timed);
    const tallest = quantile(near.map((row) => sum(row.ms)), 0.98) || 1;
    const plain = measuredPlain(), heavy = near.filter(hostHeavy);
    frame.plot.draw([
      ...STAGES.map(([name, colour], i) => ({
        type: 'bar', name, x: near.map((row) => row.r), y: near.map((row) => row.ms[i]), width: 0.8, marker: { color: colours[colour] }, hoverinfo: 'text',
        hovertext: near.map((row) => `<b>round ${row.r}: ${sum(row.ms).toFixed(1)} ms</b><br>${STAGES.map(([stage], s) => `${stage} ${row.ms[s].toFixed(2)} ms`).join('<br>')}<br>${emitted(row)} token${emitted(row) === 1 ? '' : 's'}`),
      })),
      { type: 'scatter', mode: 'lines', name: 'tokens a second', yaxis: 'y2', x: line.map((p) => p[0]), y: line.map((p) => p[1]), hoverinfo: 'text',
        hovertext: line.map((p) => `<b>${p[1].toFixed(1)} tokens a second</b><br>over ${SMOOTH} rounds up to ${p[0]}`), line: { color: colours.text, width: 1.8 } },
      { type: 'scatter', mode: 'markers', name: FLAG, x: heavy.map((row) => row.r), y: heavy.map((row) => Math.min(sum(row.ms), tallest * 1.15) + tallest * 0.05), hoverinfo: 'text',
        hovertext: heavy.map((row) => `<b>round ${row.r}: host ${percent(row.ms[3], sum(row.ms))}</b><br>${FLAG}: the model waited for it`), marker: { symbol: 'triangle-down', size: 8, color: colours.overshoot, line: { width: 1, color: colours.text } } },
      ...(plain ? [{ type: 'scatter', mode: 'lines', name: 'plain decoding', yaxis: 'y2', x: range, y: [plain.rate, plain.rate], hoverinfo: 'text', hovertext: [plainText(plain), plainText(plain)], line: { color: colours.text, width: 1.6, dash: 'dash' } }] : []),
    ], {
      barmode: 'stack', dragmode: view.dragmode, margin: { l: 62, r: 54, b: 42 }, shapes: turnLines(colours, range), annotations: plain ? [{ xref: 'paper', x: 0, y: plain.rate, yref: 'y2', xanchor: 'left', yanchor: 'bottom', text: `plain ${plain.rate.toFixed(1)}/s`, showarrow: false, font: { size: 11, color: colours.text }, bgcolor: colours.paper }] : [],
      xaxis: { range, title: { text: 'verify round' }, tickformat: 'd', showgrid: false, nticks: 8 },
      yaxis: { range: [0, tallest * 1.25], fixedrange: true, nticks: 5, title: { text: 'ms' } },
      yaxis2: { overlaying: 'y', side: 'right', rangemode: 'tozero', fixedrange: true, showgrid: false, zeroline: false, nticks: 4, tickmode: 'auto', automargin: false, title: { text: 'tokens/s', standoff: 4 } },
    }, colours);
    const all = STAGES.map((_, i) => timed.reduce((total, row) => total + row.ms[i], 0));
    const said = gainSentences(gainOf(timed, plain), plain);
    gain.forEach((node, i) => setText(node, said[i]));
    frame.describe(timed.length ? `${timed.length} rounds: ${STAGES.map(([name], i) => `${name} ${percent(all[i], sum(all))}`).join(', ')} of the time.${plain ? ` ${plainText(plain)}.` : ''}` : 'Nothing timed yet.');
    frame.fillTable(['round', ...STAGES.map(([name]) => `${name} ms`), 'round ms', 'tokens'], (most) => timed.slice(-most).reverse().map((row) => [row.r, ...row.ms.map(msCell), msCell(sum(row.ms)), emitted(row)]));
  }
  return { frame, draw };
}

// What plain decoding gave in a race of this very model; null without one.
function measuredPlain() {
  const { plain, state } = store;
  return plain && plain.model === state.y.model ? plain : null;
}
const plainText = ({ race, rate }) => `Plain decoding: ${rate.toFixed(1)} tokens a second, measured by race ${race}`;

// Tokens that a round gave out, less what a trim let go; counted once for each string of fates.
const emittedSeen = new Map();
function emitted({ fates, trimmed = 0 }) {
  if (!emittedSeen.has(fates)) {
    emittedSeen.set(fates, [...fates].filter((fate, i, all) => (i === all.length - 1 ? fate !== '0' : isKept(fate))).length);
  }
  return emittedSeen.get(fates) - trimmed;
}

// Tokens a second of decoding over the last rounds, thinned when long.
function speedLine(timed) {
  const every = Math.ceil(timed.length / SPEED_POINTS);
  const points = [];
  for (let i = 0; i < timed.length; i += 1) {
    if (i % every && i !== timed.length - 1) continue;
    const last = timed.slice(Math.max(0, i + 1 - SMOOTH), i + 1);
    const seconds = last.reduce((total, row) => total + sum(row.ms), 0) / 1000;
    points.push([timed[i].r, seconds ? last.reduce((total, row) => total + emitted(row), 0) / seconds : 0]);
  }
  return points;
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
