// Panel 4: the pending carry. Where each round's column 0 came from, the state it left, and every transition, counted.
const TRANSITIONS = ['carry', 'consume', 'promote', 'flush', 'drop'];
const TRANSITION_NOTES = {
  carry: 'a burst ended with an emitted token that has no row yet', consume: 'the next burst’s first round took it as column 0',
  promote: 'a known prediction was emitted and became the pending token', flush: 'the token got its row without drafts behind it', drop: 'a rewind or a trim let the token go',
};
const CARRY_CODES = [null,
  { name: 'FRESH', shape: 'dash', colour: 'idle' }, { name: 'PENDING', shape: 'bar', colour: 'carry' }, { name: 'PREDICTED', shape: 'frame', colour: 'bonus' }, { name: 'FAILED', shape: 'cross', colour: 'rejected' },
  { name: 'the round before', shape: 'dash', colour: 'idle' }, { name: 'a prefill', shape: 'dot', colour: 'bonus' }, { name: 'the burst before (carried)', shape: 'solid', colour: 'carry' }, { name: 'a stored prediction (promoted)', shape: 'frame', colour: 'bonus' },
  { name: 'transition', shape: 'stub', colour: 'text' }];
const LANES = [...TRANSITIONS].reverse();
const SOURCE_LANE = 5, STATE_LANE = 6, TRANSITION_CODE = 9, LANES_HEIGHT = 168;

function createPendingPanel(root, view) {
  const frame = createFrame(root, {
    name: 'pending', title: 'Pending carry', height: LANES_HEIGHT + 68,
    about: 'A burst’s last token is emitted before it has a row. Here is how each round got its first column, what it left, and where a token was carried over.',
    empty: 'Carries appear once a turn runs in more than one burst.',
    key: (c) => CARRY_CODES.flatMap((code, i) => (code && i < TRANSITION_CODE ? [{ ...code, name: i < 5 ? code.name : `column 0: ${code.name}`, colour: c[code.colour] }] : [])),
  });
  frame.add(
    legend('ds-key', 'Marks of column 0', [['after-stop', 'column 0: from the round before'], ['bonus', 'from a prefill'], ['carry', 'from the burst before: carried'], ['predicted', 'a stored prediction, promoted']]),
    legend('ds-key', 'Marks of the state', [['bar', 'state: PENDING'], ['predicted', 'PREDICTED'], ['after-stop', 'FRESH'], ['failed', 'FAILED']]));
  const machine = createMachine();
  frame.beside(machine.node);
  frame.pictures.push(machine.asPicture);
  frame.also = () => ({ state: store.state.g.now, moves: machine.counts() });
  frame.plot.on('plotly_relayout', view.onZoom);
  view.addPill(frame);
  frame.plot.on('plotly_doubleclick', () => view.goTo(null));

  function draw(colours) {
    const { rounds, pending, c, s } = store.state;
    frame.setEmpty(!rounds.length);
    machine.draw(colours);
    const range = view.current(frame.host.clientWidth);
    const shown = view.rows(range);
    const { grid, hover } = carryGrid(shown, pending);
    const categories = CARRY_CODES.map((code) => code && { ...code, colour: colours[code.colour] });
    const firstX = shown[0]?.r ?? 1, left = laneMargin(colours);
    const cell = (frame.host.clientWidth - left - 14) / (range[1] - range[0]);
    frame.plot.draw([
      patternTrace(grid, firstX, categories, cell, LANES_HEIGHT / 7.2),
      { type: 'heatmap', name: 'pending carry', z: grid.map((line) => line.map((code) => code || null)), x0: firstX, dx: 1, y0: 0, dy: 1, hovertext: hover, hoverinfo: 'text', hoverongaps: false, opacity: 0, ...categoryScale(categories) },
    ], {
      dragmode: view.dragmode, margin: { l: left, t: 26, b: 42 }, shapes: turnLines(colours, range),
      xaxis: { range, title: { text: 'verify round' }, tickformat: 'd', showgrid: false, nticks: 8 },
      yaxis: { range: [-0.6, 6.6], fixedrange: true, showgrid: false, tickvals: [0, 1, 2, 3, 4, 5, 6], ticktext: laneNames() },
    }, colours);
    const counted = TRANSITIONS.map((name) => `${name} ${c[name] ?? 0}`).join(', ');
    frame.describe(`State now ${s.state ?? 'FRESH'}. Transitions so far: ${counted}.`);
    frame.fillTable(['round', 'transition', 'token', 'id', 'via'], (most) => pending.slice(-most).reverse().map(([r, code, id, via]) => [r, TRANSITIONS[code], tableCell(glyphs(tokenText(id)), tokenText(id)), id, via]));
  }
  return { frame, draw };
}

const laneNames = () => [...LANES.map((name) => `${name} ×${store.state.c[name] ?? 0}`), 'column 0', 'state after'];

// Left margin of panels 1 and 4, in pixels: room for the longest lane name, and the same in both, so that rounds line up.
function laneMargin(colours) {
  const pen = (laneMargin.pen ??= document.createElement('canvas').getContext('2d'));
  pen.font = `12px ${colours.font}`;
  return Math.max(84, Math.ceil(Math.max(...laneNames().map((name) => pen.measureText(name).width))) + 16);
}

function carryGrid(shown, pending) {
  const { states, sources } = store.state;
  const grid = Array.from({ length: 7 }, () => new Array(shown.length).fill(0));
  const hover = Array.from({ length: 7 }, () => new Array(shown.length).fill(''));
  const first = shown[0]?.r ?? 1;
  const quote = (id) => (id === undefined ? '' : `<br>“${escapeText(glyphs(tokenText(id)))}” · id ${id}`);
  shown.forEach((row, i) => {
    const source = 5 + (sources.get(row.r) ?? 0), state = 1 + (states.get(row.r) ?? 1);
    grid[SOURCE_LANE][i] = source;
    hover[SOURCE_LANE][i] = `<b>round ${row.r}: column 0 came from ${CARRY_CODES[source].name}</b>${quote(row.pending)}${row.pos === undefined ? '' : `<br>read at position ${row.pos}`}`;
    grid[STATE_LANE][i] = state;
    hover[STATE_LANE][i] = `<b>after round ${row.r}: ${CARRY_CODES[state].name}</b>`;
  });
  for (const [r, code, id, via] of pending) {
    const i = r - first;
    if (i < 0 || i >= shown.length) continue;
    const lane = LANES.indexOf(TRANSITIONS[code]);
    grid[lane][i] = TRANSITION_CODE;
    hover[lane][i] = `<b>round ${r}: ${TRANSITIONS[code]}</b> (via ${escapeText(String(via))})<br>${TRANSITION_NOTES[TRANSITIONS[code]]}${quote(id)}`;
  }
  return { grid, hover };
}
