// Panel, folded: where the random numbers go. Two counters that never turn back, and what each round used of them.
const COUNTERS = [
  { key: 'sctr', name: 'draws', colour: 'accepted', note: 'sctr: random numbers that tokens are drawn with' },
  { key: 'uctr', name: 'accept tests', colour: 'bonus', note: 'uctr: random numbers of accept tests' },
];
const JUMP = 2 ** 20; // a coupled answer begins at a multiple of it
const COUNTER_POINTS = 2000;

function createCountersPanel(root, view, isOpen) {
  const frame = createFrame(root, {
    name: 'counters', title: 'Random counters', height: 270,
    about: 'How many random numbers sampling has used, and below, how many in each round. A rewind does not turn the counters back: no number is used twice.',
    empty: 'Greedy decoding draws nothing, so there is nothing to count. Set a temperature above 0, under Sampling, to see the counters move.',
    key: (c) => COUNTERS.map(({ note, colour }) => ({ name: note, shape: 'solid', colour: c[colour] })),
  });
  const now = el('p', { class: 'ds-about ds-now' });
  const exact = el('p', { class: 'ds-about ds-exact' });
  frame.element.insertBefore(now, frame.element.querySelector('.ds-chart'));
  frame.element.insertBefore(exact, now);
  frame.also = () => ({ replay: exact.textContent });
  frame.add(legend('ds-key', 'Counters', COUNTERS.map(({ colour, note }) => [`stage-${colour}`, note])));
  frame.plot.on('plotly_relayout', view.onZoom);
  view.addPill(frame);
  frame.plot.on('plotly_doubleclick', () => view.goTo(null));

  function draw(colours) {
    if (!isOpen()) return;
    const { steps, jumped } = counterSteps(store.state.draws);
    frame.setEmpty(!steps.length);
    setText(now, nowLine(steps, jumped));
    setText(exact, replayBadge(store.state));
    const range = view.current(frame.host.clientWidth);
    const near = steps.filter((step) => step.x >= range[0] - 1 && step.x <= range[1] + 1);
    const shown = near.length ? near : steps.slice(-1);
    const low = Math.min(...shown.map((step) => Math.min(step.sctr[0], step.uctr[0]))), high = Math.max(1, ...shown.map((step) => Math.max(step.sctr[1], step.uctr[1])));
    const used = near.filter((step) => Number.isInteger(step.x));
    frame.plot.draw([
      ...COUNTERS.map((counter, i) => stepLine(counter, i, steps, colours)),
      rewindMarks(steps, colours),
      ...COUNTERS.map(({ key, name, colour }, i) => ({
        type: 'bar', name, yaxis: 'y2', x: used.map((step) => step.x), y: used.map((step) => step[key][1] - step[key][0]), width: 0.36, offset: i ? 0.02 : -0.38,
        hoverinfo: 'text', hovertext: used.map(stepText), marker: { color: colours[colour], pattern: { shape: i ? '/' : '', fgcolor: colours.paper, size: 5, solidity: 0.3, fillmode: 'overlay' } },
      })),
    ], {
      dragmode: view.dragmode, margin: { l: 62, r: 44, b: 42 }, shapes: turnLines(colours, range), annotations: names(steps, range, colours),
      xaxis: { range, title: { text: 'verify round' }, tickformat: 'd', showgrid: false, nticks: 8, anchor: 'y2' },
      yaxis: { domain: [0.4, 1], range: [low - 0.06 * (high - low), high + 0.1 * (high - low) + 0.5], tickformat: 'd', fixedrange: true, nticks: 5, title: { text: 'used so far' } },
      yaxis2: axis(colours, { domain: [0, 0.3], rangemode: 'tozero', tickformat: 'd', fixedrange: true, nticks: 3, title: { text: 'per round' } }),
    }, colours);
    const last = steps.at(-1);
    frame.describe(last ? `${nowLine(steps, jumped)} In the last round shown: ${stepText(last).replace(/<[^>]+>/g, ' ')}.` : 'Nothing is drawn in greedy decoding.');
    frame.fillTable(['round', 'mode', 'seed', 'sctr', 'draws', 'uctr', 'accept tests'], (most) => steps.slice(-most).reverse().map((step) => [
      tableCell(Number.isInteger(step.x) ? step.x : `before ${Math.ceil(step.x)}: ${step.cause}`, step.x), step.rule.mode ?? '', step.rule.seed ?? '', step.from, step.sctr[1] - step.sctr[0], step.uctr[0], step.uctr[1] - step.uctr[0]]));
  }
  return { frame, draw };
}

// What each round or draw used: counters before and after. `sctr` leaves out the jumps between coupled answers, `from` does not.
function counterSteps(draws) {
  const steps = [];
  let rule = {}, uctr = draws.find((row) => row.uctr !== undefined)?.uctr ?? 0, next = null, skipped = 0, jumped = false;
  for (const row of draws) {
    if (row.mode) { rule = row; continue; }
    if (next === null) skipped = row.sctr - (row.sctr % JUMP);
    else skipped += row.sctr - next;
    jumped ||= skipped > 0;
    next = row.sctr + row.used;
    const tested = row.tests ?? 0;
    uctr = row.uctr ?? uctr;
    steps.push({ x: row.x, cause: row.cause, rule, from: row.sctr, sctr: [row.sctr - skipped, next - skipped], uctr: [uctr, uctr + tested] });
    uctr += tested;
  }
  return { steps, jumped };
}

function stepLine({ key, note, colour }, i, steps, colours) {
  const every = Math.ceil(steps.length / COUNTER_POINTS) || 1;
  const kept = steps.filter((_, place) => place % every === 0 || place === steps.length - 1);
  const first = steps[0];
  return {
    type: 'scatter', mode: 'lines', name: note, hoverinfo: 'text', line: { shape: 'hv', width: 2, color: colours[colour], dash: i ? 'dot' : 'solid' },
    x: first ? [first.x - 0.4, ...kept.map((step) => step.x)] : [], y: first ? [first[key][0], ...kept.map((step) => step[key][1])] : [],
    hovertext: first ? ['before', ...kept.map(stepText)] : [],
  };
}

function rewindMarks(steps, colours) {
  const marks = store.state.marks.filter((mark) => mark[1] === 'rewind' && steps.length && mark[0] >= steps[0].x);
  const at = (x) => (steps.findLast((step) => step.x <= x) ?? steps[0]).sctr[1];
  return {
    type: 'scatter', mode: 'markers', name: 'rewind', x: marks.map((mark) => mark[0]), y: marks.map((mark) => at(mark[0])), hoverinfo: 'text',
    hovertext: marks.map((mark) => `<b>rewind (${mark[4]}) from ${mark[2]} to ${mark[3]} rows</b><br>the counters go on from where they were`), marker: { symbol: 'triangle-down', size: 11, color: colours.rewind },
  };
}

function stepText(step) {
  const [draws, tests] = [step.sctr, step.uctr].map(([before, after]) => after - before);
  const what = Number.isInteger(step.x) ? `round ${step.x}` : step.cause === 'first' ? 'the first token of an answer' : 'a token at the begin of a burst';
  return `<b>${what}: ${draws} draw${draws === 1 ? '' : 's'}, ${tests} accept test${tests === 1 ? '' : 's'}</b><br>sctr ${step.from} → ${step.from + draws}<br>uctr ${step.uctr[0]} → ${step.uctr[1]}`
    + (step.rule.mode ? `<br>${step.rule.mode}, seed ${step.rule.seed}` : '');
}

// The names of the lines at their ends, so that they need not be looked up.
function names(steps, [, high], colours) {
  const last = steps.findLast((step) => step.x <= high);
  const above = (key) => last[key][1] >= last[key === 'sctr' ? 'uctr' : 'sctr'][1] && (key === 'sctr' || last.sctr[1] !== last.uctr[1]);
  return last ? COUNTERS.map(({ key, colour }) => ({ x: Math.min(last.x, high), y: last[key][1], xanchor: 'left', yanchor: above(key) ? 'bottom' : 'top', xshift: 4, text: key, showarrow: false, font: { size: 12, color: colours[colour] } })) : [];
}

function nowLine(steps, jumped) {
  const rule = store.state.draws.findLast((row) => row.mode);
  if (!steps.length) return '';
  const last = steps.at(-1);
  const on = Object.entries(rule?.on ?? {}).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`).join(', ');
  const mode = !rule ? '' : rule.mode === 'greedy' ? 'Now greedy, nothing is drawn. ' : `Now ${rule.mode}, seed ${rule.seed}; ${on}. `;
  const jumps = jumped ? ` Coupled answers each begin at a multiple of ${JUMP.toLocaleString('en')}; the line leaves these jumps out.` : '';
  const [draws, tests] = [last.from + last.sctr[1] - last.sctr[0], last.uctr[1]].map((count) => count.toLocaleString('en'));
  return `${mode}sctr ${draws}, uctr ${tests}.${jumps}`;
}
