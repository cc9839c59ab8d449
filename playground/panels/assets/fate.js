// Panel 1: what became of every draft, round by round.
const FATES = [null,
  { name: 'accepted', shape: 'solid', letter: 'A' }, { name: 'rejected', shape: 'hatch', letter: 'R' },
  { name: 'bonus', shape: 'dot', letter: 'B' }, { name: 'correction', shape: 'cross', letter: 'C' },
  { name: 'overshoot', shape: 'frame', letter: 'O' }, { name: 'dropped', shape: 'corners', letter: 'D' },
  { name: 'after stop', shape: 'dash', letter: 'S' }, { name: 'plain', shape: 'point', letter: 'P' }];
const fateColours = (c) => [null, c.accepted, c.rejected, c.bonus, c.correction, c.overshoot, c.dropped, c.idle, c.idle];
const isKept = (digit) => digit === '1' || digit === '5' || digit === '6';

const CHART = 184; // pixels: height of the cells

function createFatePanel(root, view) {
  const frame = createFrame(root, {
    name: 'fate', title: 'Draft fate', height: CHART + 68,
    about: 'One column a verify round. Rows 1, 2, … are the drafted tokens in order; the top row is the own token of the trunk, the model you chat with.',
    empty: 'Send a message: every round of drafts will appear here as a column.',
    key: (c) => FATES.flatMap((fate, i) => (fate ? [{ ...fate, colour: fateColours(c)[i] }] : [])),
  });
  const follow = el('button', { type: 'button', class: 'ds-button ds-follow', 'aria-pressed': 'true', text: 'Follow', onclick: () => view.goTo(null) });
  frame.tools.insertBefore(follow, frame.toggle);
  const slider = el('input', { type: 'range', class: 'ds-slider', step: '1', 'aria-label': 'Last round shown', oninput: () => view.endAt(Number(slider.value), frame.host.clientWidth) });
  const where = el('span', { class: 'ds-where' });
  const overview = createOverview(view, frame.host);
  frame.add(el('div', { class: 'ds-scrub' }, el('div', { class: 'ds-overview' }, overview.canvas, slider), where));
  frame.plot.on('plotly_relayout', view.onZoom);
  frame.plot.on('plotly_doubleclick', () => view.goTo(null));

  let rows = 1;
  function draw(colours) {
    const { rounds, s } = store.state;
    frame.setEmpty(!rounds.length);
    if (!rounds.length) rows = 1;
    const range = view.current(frame.host.clientWidth);
    const shown = view.rows(range);
    rows = Math.max(rows, s.draft_len ?? 0, ...shown.map((row) => row.fates.length - 1));
    const grid = fateGrid(shown, rows);
    const categories = FATES.map((fate, i) => fate && { ...fate, colour: fateColours(colours)[i] });
    const firstX = shown[0]?.r ?? 1;
    const left = frame.host.clientWidth < 480 ? 54 : laneMargin(colours);
    const cell = (frame.host.clientWidth - left - 14) / (range[1] - range[0]);
    const patterned = range[1] - range[0] <= 260;
    const data = {
      type: 'heatmap', name: 'draft fate', z: grid.map((line) => line.map((code) => code || null)), x0: firstX, dx: 1, y0: 0, dy: 1,
      hovertext: hoverGrid(shown, rows), hoverinfo: 'text', hoverongaps: false, opacity: patterned ? 0 : 1, ...categoryScale(categories),
    };
    const traces = patterned ? [patternTrace(grid, firstX, categories, cell, CHART / (rows + 1.2)), data] : [data];
    const ticks = Array.from({ length: rows }, (_, i) => i).filter((i) => rows <= 8 || i % 2 === 0);
    frame.plot.draw(traces, {
      dragmode: view.dragmode, margin: { l: left, t: 26, b: 42 }, shapes: turnLines(colours, range),
      xaxis: { range, title: { text: 'verify round' }, tickformat: 'd', showgrid: false, nticks: 8 },
      yaxis: { range: [-0.6, rows + 0.6], fixedrange: true, showgrid: false, tickvals: [...ticks, rows], ticktext: [...ticks.map((i) => `${i + 1}`), 'model’s'], title: { text: 'draft' } },
    }, colours);
    overview.draw(colours, range);
    controls(range);
    describe(frame, shown);
    frame.fillTable(['round', 'turn', 'drafted', 'accepted', 'trunk’s token', 'it is a', 'drafts'], (most) => (most === Infinity ? rounds : shown).slice(-most).reverse().map(tableRow));
  }
  function controls(range) {
    setAttr(follow, 'aria-pressed', String(view.follow));
    setAttr(slider, 'min', String(view.first()));
    setAttr(slider, 'max', String(view.last()));
    const end = Math.round(Math.min(view.last(), range[1] - 0.5));
    if (document.activeElement !== slider || view.follow) slider.value = String(end);
    setText(where, store.state.rounds.length ? `rounds ${Math.max(view.first(), Math.ceil(range[0]))}–${end} of ${view.last()}` : '');
  }
  return { frame, draw };
}

// grid[0] is draft 1; the last line is the trunk's own token.
function fateGrid(shown, rows) {
  const grid = Array.from({ length: rows + 1 }, () => new Array(shown.length).fill(0));
  shown.forEach(({ fates }, column) => {
    const drafts = fates.length - 1;
    for (let i = 0; i < drafts; i += 1) grid[i][column] = Number(fates[i]);
    grid[rows][column] = Number(fates[drafts]);
  });
  return grid;
}

function hoverGrid(shown, rows) {
  const texts = Array.from({ length: rows + 1 }, () => new Array(shown.length).fill(''));
  shown.forEach((row, column) => {
    row.hover ??= hoverTexts(row);
    const drafts = row.fates.length - 1;
    for (let i = 0; i < drafts; i += 1) texts[i][column] = row.hover[i];
    texts[rows][column] = row.hover[drafts];
  });
  return texts;
}

function hoverTexts(row) {
  const drafts = row.fates.length - 1;
  const quote = (id) => (id === undefined || id === null ? '' : `“${escapeText(glyphs(tokenText(id)))}” · id ${id}`);
  const tail = row.ids ? `<br>turn ${row.turn + 1} · burst ${row.burst + 1} · ${sum(row.ms).toFixed(1)} ms` : '<br>token ids of this old round are not kept in the page';
  const own = row.bonus === null ? '' : quote(row.bonus);
  return [...row.fates].map((digit, i) => {
    const fate = FATES[Number(digit)]?.name ?? '';
    const place = i < drafts ? `draft ${i + 1}` : 'the trunk’s own token';
    const note = digit === '2' && own ? `<br>the trunk goes on with ${own}` : '';
    const test = i < drafts ? acceptTest(row.r, i + 1) : '';
    return `<b>round ${row.r} · ${place} · ${fate}</b><br>${row.ids ? quote(i < drafts ? row.ids[i] : row.bonus) : ''}${test && `<br>${test}`}${note}${tail}`;
  });
}

// Those of a range; with its width in pixels, only as many as stand apart: each is a node of the page.
function turnLines(colours, [low, high], width) {
  const gap = width ? (6 * (high - low)) / width : 0;
  let last = -Infinity;
  return store.state.marks.filter((mark) => mark[1] === 'turn' && mark[0] >= low && mark[0] <= high)
    .filter((mark) => { const apart = mark[0] - last >= gap; if (apart) last = mark[0]; return apart; })
    .map((mark) => ({ type: 'line', x0: mark[0], x1: mark[0], yref: 'paper', y0: 0, y1: 1, line: { color: colours.idle, width: 1, dash: 'dot' } }));
}

function describe(frame, shown) {
  const all = shown.map((row) => row.fates.slice(0, -1)).join('');
  const kept = [...all].filter(isKept).length;
  frame.describe(shown.length ? `${shown.length} rounds shown; ${kept} of ${all.length} drafts accepted.` : 'No rounds yet.');
}

function tableRow(row) {
  const drafts = row.fates.slice(0, -1);
  const kept = [...drafts].filter(isKept).length;
  const own = FATES[Number(row.fates.at(-1))]?.name ?? 'none: stopped';
  const tokens = [...drafts].map((digit, i) => ({ id: row.ids?.[i] ?? null, text: row.ids ? tokenText(row.ids[i]) : null, fate: FATES[Number(digit)].name }));
  const texts = row.ids ? tokens.map(({ text, fate }) => `${glyphs(text)} (${fate})`).join(', ') : '';
  const has = row.bonus !== null && row.bonus !== undefined;
  return [row.r, row.turn === undefined ? '' : row.turn + 1, drafts.length, kept, tableCell(has ? glyphs(tokenText(row.bonus)) : '—', has ? { id: row.bonus, text: tokenText(row.bonus) } : null), own, tableCell(texts, tokens)];
}
