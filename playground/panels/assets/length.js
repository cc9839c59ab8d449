// Panel 3: committed length over the whole session, with turns, rewind points, overshoot and rewinds.
function createLengthPanel(root, view) {
  const frame = createFrame(root, {
    name: 'length', title: 'Committed length', height: 236,
    about: 'Tokens that have a row in the caches, after each round. A step up before a turn is its prompt; a drop is a rewind.',
    empty: 'The length of the session will be drawn here, with every rewind.',
  });
  const back = createWayBack();
  frame.add(back.node);
  back.follow(frame);
  let range = null, dragmode = 'zoom';
  const pill = followPill(frame, () => { range = null; clock.redraw(); });
  frame.plot.on('plotly_relayout', (change) => {
    if (change.dragmode) dragmode = change.dragmode;
    const zoom = zoomOf(change);
    if (zoom !== undefined) { range = zoom; clock.redraw(); }
  });
  frame.plot.on('plotly_doubleclick', () => { range = null; clock.redraw(); });

  function draw(colours) {
    const { rounds, marks } = store.state;
    frame.setEmpty(!rounds.length && !marks.length);
    const rewinds = marks.filter((mark) => mark[1] === 'rewind');
    const over = marks.filter((mark) => mark[1] === 'over');
    const whole = [Math.min(view.first(), marks[0]?.[0] ?? 1) - 0.7, Math.max(view.last() * 1.02, 8) + 1];
    frame.plot.draw([
      lengthLine(colours), rewindLine(rewinds, colours), heldLine(marks, whole[1], colours),
      { type: 'scatter', mode: 'markers', name: 'overshoot', x: over.map((m) => m[0]), y: over.map((m) => m[3]), hoverinfo: 'text',
        hovertext: over.map((m) => `<b>past the burst’s budget: ${m[2]} token${m[2] === 1 ? '' : 's'}</b><br>${m[4] === 'kept' ? 'kept in the caches, and shown if the answer goes on' : 'trimmed at once'}, round ${m[0]}`),
        marker: { symbol: 'square-open', size: 10, color: colours.overshoot, line: { width: 2.5 } } },
      ...pointTraces(marks, colours),
    ], {
      dragmode, shapes: [windowShape(view, frame, colours), ...turnLines(colours, range ?? whole, frame.host.clientWidth - 76), ...retainedLines(colours)], annotations: [...turnNames(marks, colours, range ?? whole, frame.host.clientWidth - 76), ...rewindNames(rewinds, colours, range ?? whole, frame.host.clientWidth - 76)],
      margin: { t: 26, b: 42 },
      xaxis: { range: range ?? whole, title: { text: 'verify round' }, tickformat: 'd', nticks: 8 },
      yaxis: { rangemode: 'tozero', autorange: true, tickformat: 'd', nticks: 6, fixedrange: true, title: { text: 'tokens' } },
    }, colours);
    const last = rounds.at(-1)?.length ?? 0;
    frame.describe(`${store.state.s.committed ?? last} tokens committed; ${rewinds.length} rewinds, ${over.length} bursts with overshoot.`);
    pill.hidden = range === null;
    back.draw();
    frame.fillTable(['after round', 'what', 'length', 'detail'], (most) => markRows(marks, most));
  }
  return { frame, draw, begin: () => { range = null; } };
}

const LINE_POINTS = 1200;

// Rounds and what moves the length between them, merged in the order of x; thinned evenly when long.
function lengthLine(colours) {
  const { rounds, marks } = store.state;
  const moves = marks.flatMap((m) => (m[1] === 'fill' || m[1] === 'flush' ? [[m[0], m[2], m[4] === 'undone' ? 'prefill cancelled' : `prefill of ${m[3] ?? 1} tokens`]] : m[1] === 'rewind' ? [[m[0], m[3], `rewind (${m[4]})`]] : []));
  const steps = rounds.filter((row) => row.length !== undefined).map((row) => [row.r, row.length, `round ${row.r}`]);
  const every = Math.ceil(steps.length / LINE_POINTS);
  const kept = every > 1 ? steps.filter((_, i) => i % every === 0 || i === steps.length - 1) : steps;
  const all = [...kept, ...moves].sort((a, b) => a[0] - b[0]);
  return {
    type: 'scatter', mode: 'lines', name: 'committed length', x: all.map((p) => p[0]), y: all.map((p) => p[1]), hoverinfo: 'text',
    hovertext: all.map((p) => `<b>${p[1]} tokens</b><br>${p[2]}`), line: { shape: 'hv', color: colours.accepted, width: 2 }, fill: 'tozeroy', fillcolor: colours.grid,
  };
}

function rewindLine(rewinds, colours) {
  const hover = rewinds.map((m) => `<b>rewind (${m[4]})</b><br>${CAUSES[m[4]]?.[1] ?? ''}<br>from ${m[2]} to ${m[3]}: ${m[2] - m[3]} rows dropped, ${m[3]} kept`);
  return {
    type: 'scatter', mode: 'lines+markers', name: 'rewind', hoverinfo: 'text', connectgaps: false,
    x: rewinds.flatMap((m) => [m[0], m[0], null]), y: rewinds.flatMap((m) => [m[2], m[3], null]), hovertext: hover.flatMap((text) => [text, text, '']),
    line: { color: colours.rewind, width: 3 },
    marker: { color: colours.rewind, size: rewinds.flatMap(() => [0.1, 11, 0.1]), symbol: 'triangle-down' },
  };
}

// What each kind of rewind is called beside its mark, and why it was.
const CAUSES = {
  checkpoint: ['rewind', 'back to a rewind point'], prompt: ['new prompt', 'the next prompt differs from here on'], prime: ['read anew', 'nothing of the former rows could be used'],
  overshoot: ['overshoot', 'tokens past the budget were let go'], stop: ['stop string', 'a stop string ended the answer'], unpark: ['unpark', 'a flushed token is carried again'], clear: ['clear', 'the conversation was cleared'],
};

// Rows in the cache, where they are not the committed ones: none from the moment they were given up until a turn computes them again.
function heldLine(marks, end, colours) {
  const x = [], y = [], hover = [];
  const add = (at, rows, text) => { x.push(at); y.push(rows); hover.push(text); };
  let since = null;
  for (const [at, kind, action, rows] of marks) {
    if (kind !== 'context' || (action !== 'evicted' && action !== 'reprimed')) continue;
    const text = action === 'evicted' ? `<b>no rows held</b><br>${rows} rows were given up; the next turn computes them again` : `<b>${rows} rows held again</b><br>computed anew from the tokens`;
    if (action === 'evicted') add(at, rows, text);
    add(at, 0, text);
    if (action === 'reprimed') { add(at, rows, text); add(null, null, ''); }
    since = action === 'evicted' ? at : null;
  }
  if (since !== null) add(end, 0, '<b>no rows held</b>');
  return { type: 'scatter', mode: 'lines+markers', name: 'rows held', x, y, hoverinfo: 'text', hovertext: hover, connectgaps: false,
    line: { color: colours.overshoot, width: 1.6, dash: 'dot' }, marker: { symbol: 'circle-open', size: 6, color: colours.overshoot } };
}

function windowShape(view, frame, colours) {
  const [low, high] = view.current(frame.host.clientWidth);
  return { type: 'rect', layer: 'below', x0: low, x1: Math.min(high, view.last() + 0.5), yref: 'paper', y0: 0, y1: 1, line: { width: 0 }, fillcolor: colours.grid, opacity: store.state.rounds.length > 40 ? 0.55 : 0 };
}

function retainedLines(colours) {
  return (store.state.s.rewind_points ?? []).map((y) => ({ type: 'line', xref: 'paper', x0: 0, x1: 1, y0: y, y1: y, line: { color: colours.idle, width: 1, dash: 'dash' } }));
}

// From the newest back, those with room beside them.
function rewindNames(rewinds, colours, [low, high], width) {
  const place = (m) => ((m[0] - low) / (high - low)) * width, named = [];
  for (const m of rewinds.filter((mark) => mark[2] > mark[3] && mark[0] >= low && mark[0] <= high).reverse()) {
    if (!named.length || place(m) + REWIND_WIDTH <= place(named.at(-1))) named.push(m);
  }
  return named.map((m) => ({ x: m[0], y: m[3], yanchor: 'top', xanchor: place(m) + REWIND_WIDTH > width ? 'right' : 'left', xshift: place(m) + REWIND_WIDTH > width ? -6 : 6, text: CAUSES[m[4]]?.[0] ?? m[4], showarrow: false, font: { size: 10.5, color: colours.text } }));
}

const REWIND_WIDTH = 70; // pixels for the longest of their names
const NAME_WIDTH = 58; // pixels for "turn 12" and a gap

// From the newest back, those that do not run into the one after them; `width` is the axis in pixels.
function turnNames(marks, colours, [low, high], width) {
  const place = (m) => ((m[0] - low) / (high - low)) * width;
  const named = [];
  for (const m of marks.filter((mark) => mark[1] === 'turn' && mark[0] >= low - 1 && mark[0] <= high).reverse()) {
    if (!named.length || place(m) + NAME_WIDTH <= place(named.at(-1))) named.push(m);
  }
  return named.map((m) => ({ x: m[0], y: 1, yref: 'paper', yanchor: 'bottom', xanchor: 'left', text: `turn ${m[2] + 1}`, showarrow: false, font: { size: 11, color: colours.text } }));
}

function markRows(marks, most) {
  const names = { turn: 'turn', fill: 'prefill', rewind: 'rewind', point: 'rewind point', over: 'overshoot', flush: 'flush', drafter: 'drafter', context: 'context', error: 'error', check: 'check' };
  return marks.slice(-most).reverse().map(([x, kind, ...rest]) => {
    const length = { fill: rest[0], flush: rest[0], rewind: rest[1], point: rest[0], over: rest[1] }[kind] ?? '';
    const detail = { turn: `turn ${rest[0] + 1}: ${rest[1]}, ${rest[3]} of ${rest[2]} prompt tokens reused. ${rest[4] ?? ''}`, fill: `${rest[1]} tokens`, rewind: `from ${rest[0]} (${rest[2]})`, point: rest[1],
      over: `${rest[0]} tokens ${rest[2]}`, drafter: `${rest[0]}, up to ${rest[1]} drafts: ${rest[2]}. ${rest[3] ?? ''}`, context: `${rest[0]} at ${rest[1]}`, error: rest[0], check: `${rest[0]}, ${rest[1]} tokens compared with plain decoding` }[kind] ?? '';
    return [tableCell(x < 1 ? 'none yet' : Math.floor(x), Math.floor(x)), names[kind] ?? kind, length, kind === 'point' && isKeptPoint(length) ? tableCell(detail, detail, () => backButton(length, `${detail}: go back here`)) : detail];
  });
}
