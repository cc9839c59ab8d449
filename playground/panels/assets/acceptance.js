const RECENT = [10, 20, 50, 100, 200, 500, 1000, 0]; // rounds counted; 0 is all of them

// Panel 2: how often the draft at each position survives, per round and given that it was reached.
function createAcceptancePanel(root) {
  const frame = createFrame(root, {
    name: 'acceptance', title: 'Acceptance by draft position', height: 236,
    about: 'Bars: kept in how many of the rounds that drafted. Diamonds: kept when all drafts before it were.',
    empty: 'Acceptance appears with the first round that drafts.',
    key: (c) => [{ name: 'kept, of the rounds that drafted, with the 95% interval of Wilson', shape: 'solid', colour: c.accepted }, { name: 'kept, when all drafts before it were', shape: 'frame', colour: c.text }],
  });
  let recent = 0;
  const slider = el('input', { type: 'range', class: 'ds-slider', min: '0', max: String(RECENT.length - 1), step: '1', value: String(RECENT.length - 1), 'aria-label': 'Rounds counted', oninput: () => {
    recent = RECENT[Number(slider.value)];
    clock.redraw();
  } });
  const where = el('span', { class: 'ds-counted' });
  frame.add(el('div', { class: 'ds-scrub' }, slider, where));

  function draw(colours) {
    const counts = recent ? countRecent(recent) : store.state.a;
    const positions = counts.tested.map((_, i) => i + 1);
    frame.setEmpty(!counts.n);
    const counted = recent ? `last ${Math.min(recent, store.state.rounds.length)} rounds` : 'all rounds';
    setText(where, counted);
    setAttr(slider, 'aria-valuetext', counted);
    const share = (k, n) => (n ? k / n : null);
    const perRound = counts.accepted.map((k) => share(k, counts.n));
    const reached = counts.accepted.map((k, i) => share(k, counts.tested[i]));
    const bands = counts.accepted.map((k) => wilson(k, counts.n));
    const hover = positions.map((p, i) => `<b>draft ${p}</b><br>${counts.accepted[i]} of ${counts.n} rounds that drafted: ${percent(counts.accepted[i], counts.n)} (95% interval ${bands[i].map((end) => percent(end, 1)).join('–')})`
      + `<br>${counts.accepted[i]} of ${counts.tested[i]} times it was reached: ${percent(counts.accepted[i], counts.tested[i])}<br>bar = kept ÷ rounds that drafted; diamond = kept ÷ times reached`);
    const narrow = frame.host.clientWidth - 62 < 50 * positions.length; // pixels for "n=1234" beside its neighbours
    frame.plot.draw([
      { type: 'bar', name: 'per round', x: positions, y: perRound, marker: { color: colours.accepted }, width: 0.62, hovertext: hover, hoverinfo: 'text',
        error_y: { type: 'data', symmetric: false, array: bands.map((b, i) => b[1] - (perRound[i] ?? 0)), arrayminus: bands.map((b, i) => (perRound[i] ?? 0) - b[0]), color: colours.idle, thickness: 1.2, width: 3 } },
      { type: 'scatter', mode: 'lines+markers', name: 'given reached', x: positions, y: reached, line: { color: colours.text, width: 1.2, dash: 'dash' },
        marker: { symbol: 'diamond-open', size: 9, color: colours.text, line: { width: 1.6 } }, hovertext: hover, hoverinfo: 'text' },
      ...sameChance(counts, positions, colours),
    ], {
      margin: { l: 48, b: narrow ? 42 : 58 }, bargap: 0.3, dragmode: false,
      xaxis: { tickvals: positions, ticktext: positions.map((p, i) => (narrow ? `${p}` : `${p}<br>n=${counts.tested[i]}`)), range: [0.4, Math.max(1, positions.length) + 0.6], fixedrange: true, showgrid: false, title: { text: 'draft position' } },
      yaxis: { range: [-0.035, 1.06], tickformat: '.0%', fixedrange: true, nticks: 6 },
    }, colours);
    frame.describe(counts.n ? `Over ${counts.n} rounds: ${positions.map((p, i) => `draft ${p} ${percent(counts.accepted[i], counts.n)}`).join(', ')}.` : 'Nothing counted yet.');
    frame.fillTable(['position', 'accepted', 'rounds that drafted', 'per round', 'reached', 'given reached'], () => positions.map((p, i) => [p, counts.accepted[i], counts.n, shareCell(counts.accepted[i], counts.n), counts.tested[i], shareCell(counts.accepted[i], counts.tested[i])]));
  }
  return { frame, draw };
}

// For who learns it: what the bars would be if every draft stood the same chance, alpha, given that it was reached.
function sameChance(counts, positions, colours) {
  const tested = sum(counts.tested);
  if (document.body.dataset.level !== 'student' || !tested) return [];
  const alpha = sum(counts.accepted) / tested;
  return [{ type: 'scatter', mode: 'lines', name: 'same chance', x: positions, y: positions.map((p) => alpha ** p), line: { color: colours.idle, width: 1.5, dash: 'dot', shape: 'spline' }, hoverinfo: 'text',
    hovertext: positions.map((p) => `<b>if every guess were right ${percent(alpha, 1)} of the time</b><br>guess ${p} would stand in ${percent(alpha ** p, 1)} of the rounds`) }];
}

function countRecent(most) {
  const counts = { n: 0, tested: [], accepted: [] };
  for (const { fates } of store.state.rounds.slice(-most)) {
    const drafts = fates.slice(0, -1);
    counts.n += drafts.length > 0;
    let reached = true;
    for (let i = 0; i < drafts.length; i += 1) {
      counts.tested[i] ??= 0;
      counts.accepted[i] ??= 0;
      counts.tested[i] += reached;
      reached = reached && isKept(drafts[i]);
      counts.accepted[i] += reached;
    }
  }
  return counts;
}

// The 95% interval of Wilson for k of n.
function wilson(k, n) {
  if (!n) return [0, 0];
  const z = 1.96, p = k / n, base = 1 + (z * z) / n;
  const middle = (p + (z * z) / (2 * n)) / base;
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / base;
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
