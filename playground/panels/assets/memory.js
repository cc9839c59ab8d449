// Panel, folded: what this session takes of the memory. One bar a cache against its limit, how long the room lasts, and who has slots.
const NEARLY = 0.85; // of the limit: from here on a cache is nearly full

function createMemoryPanel(root, isOpen) {
  const frame = createFrame(root, {
    name: 'memory', title: 'Memory and context', height: 170,
    about: 'Rows used in each cache of this session, against the rows it may use. Striped: the last 15 % before the limit. Crossed: rows past it, kept for the columns of a last round.',
    empty: 'The caches of this session will be drawn here once it has said something.',
    key: (c) => [{ name: 'used', shape: 'solid', colour: c.accepted }, { name: 'nearly full', shape: 'hatch', colour: c.overshoot }, { name: 'past the limit', shape: 'cross', colour: c.rejected }],
  });
  const slots = el('p', { class: 'ds-slots' });
  const back = ['engineer', 'student'].map((level) => el('button', { type: 'button', class: `ds-button for-${level}`, text: BACK[level], title: BACK_NOTE, onclick: () => trigger('clear', {}) }));
  const free = el('div', { class: 'ds-scrub', hidden: true }, ...back);
  const facts = el('dl', { class: 'ds-facts for-engineer' });
  const forecast = ['engineer', 'student'].map((level) => el('p', { class: `ds-forecast for-${level}` }));
  frame.add(...forecast, slots, free, facts);
  frame.also = () => ({ forecast: forecast[0].textContent, slots: slots.textContent, facts: Object.fromEntries(memoryFacts(store.state.y)) });

  function draw(colours) {
    if (!isOpen()) return;
    const caches = cachesOf(store.state.y);
    frame.setEmpty(!caches.length);
    const names = caches.map((cache) => cache.name).reverse();
    const wide = Math.max(1, ...caches.map((cache) => Math.max(cache.reserved, cache.limit)));
    frame.plot.draw([
      zone(caches, colours, 'free', (cache) => [0, NEARLY * cache.limit], colours.grid),
      zone(caches, colours, 'nearly full', (cache) => [NEARLY * cache.limit, cache.limit], colours.overshoot, '/'),
      zone(caches, colours, 'past the limit', (cache) => [cache.limit, Math.max(cache.limit, cache.reserved)], colours.rejected, 'x'),
      { type: 'bar', orientation: 'h', name: 'used', y: caches.map((cache) => cache.name), x: caches.map((cache) => cache.used), width: 0.3, hoverinfo: 'text', hovertext: caches.map((cache) => cacheText(cache)),
        text: caches.map((cache) => `${usedShare(cache)} used`), textposition: 'outside', cliponaxis: false, textfont: { color: colours.text },
        marker: { color: caches.map((cache) => colours[usedColour(cache)]), line: { width: 1, color: colours.paper }, pattern: { shape: caches.map((cache) => ({ accepted: '', overshoot: '/', rejected: 'x' })[usedColour(cache)]), fgcolor: colours.paper, fillmode: 'overlay', size: 6, solidity: 0.25 } } },
      { type: 'scatter', mode: 'markers', name: 'limit', y: caches.map((cache) => cache.name), x: caches.map((cache) => cache.limit), hoverinfo: 'text', hovertext: caches.map((cache) => `<b>limit: ${thousands(cache.limit)} rows</b>`),
        marker: { symbol: 'line-ns', size: 34, line: { width: 2.5, color: colours.text } } },
    ], {
      barmode: 'overlay', dragmode: false, margin: { l: 94, r: 20, t: 12, b: 42 },
      xaxis: { range: [0, wide * 1.03], fixedrange: true, tickformat: ',d', nticks: 7, title: { text: 'rows (one a token)' } },
      yaxis: { fixedrange: true, showgrid: false, type: 'category', categoryorder: 'array', categoryarray: names, range: caches.length === 1 ? [-0.9, 0.9] : [-0.55, caches.length - 0.45] },
    }, colours);
    const said = forecasts(caches, store.state);
    forecast.forEach((node, i) => setText(node, said[i]));
    setText(slots, slotSentence(store.state));
    free.hidden = !holdsRows(store.state);
    for (const button of back) button.disabled = Boolean(store.state.s.running);
    showFacts(facts, memoryFacts(store.state.y));
    frame.describe(caches.length ? `${caches.map((cache) => `${cache.name}: ${thousands(cache.used)} of ${thousands(cache.limit)} rows used`).join('; ')}. ${said[0]}` : 'Nothing is held yet.');
    frame.fillTable(['cache', 'rows used', 'limit', 'reserved', 'share used', 'bytes', 'kept as'], () => caches.map((cache) => (
      [cache.name, cache.used, cache.limit, cache.reserved, shareCell(cache.used, cache.limit), tableCell(bytesText(cache.bytes), cache.bytes), cache.dtype])));
  }
  return { frame, draw };
}

const BACK = { engineer: 'Give this session’s rows back', student: 'Free this conversation’s memory' };
const BACK_NOTE = 'Makes room for others. The next message computes the rows again, and answers the same.';
const holdsRows = ({ y }) => !store.guest && Boolean(y.slots?.[2]) && sum(y.used ?? []) > 0; // a recorded session holds none here
const thousands = (number) => number.toLocaleString('en');
const usedShare = (cache) => percent(cache.used, cache.limit);
const cachesOf = (y) => (y.caches ?? []).map(([name, reserved, limit, bytes, dtype], i) => ({ name, reserved, limit, bytes, dtype, used: y.used[i] }));
const usedColour = ({ used, limit }) => (used >= limit ? 'rejected' : used >= NEARLY * limit ? 'overshoot' : 'accepted');

function zone(caches, colours, name, ends, colour, shape = '') {
  const at = caches.map(ends);
  return {
    type: 'bar', orientation: 'h', name, y: caches.map((cache) => cache.name), base: at.map(([low]) => low), x: at.map(([low, high]) => high - low), width: 0.62, hoverinfo: 'text', hovertext: caches.map((cache) => cacheText(cache)),
    marker: { color: shape ? 'rgba(0,0,0,0)' : colour, line: { width: shape ? 1 : 0, color: colour }, pattern: { shape, fgcolor: colour, size: 6, solidity: 0.25 } },
  };
}

function cacheText(cache) {
  const kept = cache.reserved ? `${thousands(cache.reserved)} rows reserved: ${bytesText(cache.bytes)}, ${cache.dtype}` : 'nothing reserved at this moment';
  const { free, device } = store.state.y;
  return `<b>${cache.name}: ${thousands(cache.used)} of ${thousands(cache.limit)} rows (${usedShare(cache)})</b><br>${kept}${free ? `<br>${bytesText(free)} free on ${escapeText(device)}` : ''}`;
}

function bytesText(bytes) {
  const [unit, name] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB'];
  const amount = bytes / unit;
  return `${amount >= 100 || bytes < 1e3 ? amount.toFixed(0) : amount.toFixed(1)} ${name}`;
}

// How long the room lasts at the rate so far, for either reader. The fullest cache of the trunk decides; drafting may end before.
function forecasts([trunk], { y, s, f }) {
  if (!trunk) return ['', ''];
  const held = s.committed ?? trunk.used;
  const left = Math.max(0, trunk.limit - held);
  const each = y.turns ? held / y.turns : 0;
  const turns = each ? Math.floor(left / each) : 0;
  const rate = Number.parseFloat(f.tokens_per_second);
  const time = Number.isFinite(rate) ? `, or ${timeText(left / rate)} of decoding at ${rate} tokens/s` : '';
  const draft = cachesOf(y)[1];
  const ends = draft && draft.limit < trunk.limit ? ` Drafting ends at ${thousands(draft.limit)} rows.` : '';
  return [
    `Room for about ${thousands(left)} more tokens: at this rate ${thousands(turns)} turn${turns === 1 ? '' : 's'} of ${thousands(Math.round(each))} rows, as those so far${time}.${ends}`,
    left ? `There is room for about ${thousands(left)} more tokens, which is some ${thousands(turns)} more message${turns === 1 ? '' : 's'} and answer${turns === 1 ? '' : 's'} like those so far.` : 'The memory of this conversation is full: go back, or clear it.',
  ];
}

const timeText = (seconds) => (seconds >= 5400 ? `${(seconds / 3600).toFixed(1)} hours` : seconds >= 90 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds)} s`);

function slotSentence({ y, s }) {
  if (!y.slots) return '';
  const [used, all, own] = y.slots;
  const mine = own ? 'This session has a slot' : s.committed ? `This session’s rows are not kept at this moment: the next turn computes all ${thousands(s.committed)} again` : 'This session has no slot yet';
  return `${'■'.repeat(Math.min(used, 32))}${'□'.repeat(Math.max(0, Math.min(all, 32) - used))} ${mine}; ${used} of ${all} slot${all === 1 ? ' is' : 's are'} in use.`;
}

function memoryFacts(y) {
  if (!y.caches) return [];
  const [weights, draftWeights, slotBytes] = y.bytes;
  const caches = cachesOf(y).filter((cache) => cache.reserved);
  return [
    ...caches.map((cache) => [`${cache.name} cache`, `${bytesText(cache.bytes)} reserved, ${bytesText((cache.bytes / cache.reserved) * cache.used)} of it holds rows; ${thousands(Math.round(cache.bytes / cache.reserved))} bytes a row, ${cache.dtype}`]),
    ['all slots', bytesText(slotBytes)],
    ['weights', draftWeights ? `${bytesText(weights)}, and ${bytesText(draftWeights)} of draft models` : bytesText(weights)],
    ['device', y.free ? `${y.device}, ${bytesText(y.free)} free` : y.device],
    ['graphs', y.graphs],
    ...(y.reads === null || y.reads === undefined ? [] : [['waits for the device', thousands(y.reads)]]),
  ];
}

function showFacts(node, facts) {
  const text = facts.flat().join('\n');
  if (node.dataset.says === text) return;
  node.dataset.says = text;
  node.replaceChildren(...facts.flatMap(([name, value]) => [el('dt', { text: name }), el('dd', { text: value })]));
}
