// Rewind points that can be chosen: a click on one in the chart, or a button beneath it, selects it under the chat in 'Go back'.
const WAYS_BACK = 8; // buttons; the table has the rest
const SHOWN_POINTS = 40; // of those that are no longer kept: each is a node of the page

const waysBack = () => (store.guest ? [] : store.state.s.rewind_points ?? []); // a recorded session cannot go back
const isKeptPoint = (pos) => waysBack().includes(pos);
const pointRole = (role) => (role === 'header' ? 'before the assistant header' : 'at the end of the prompt');

// Two traces: diamonds to see, and points to hit, small ones, for among equals Plotly takes the smallest mark and then the last.
function pointTraces(marks, colours) {
  const all = marks.filter((mark) => mark[1] === 'point');
  const points = all.filter((mark, i) => i >= all.length - SHOWN_POINTS || isKeptPoint(mark[2]));
  const kept = points.map((m) => isKeptPoint(m[2]));
  const at = { type: 'scatter', mode: 'markers', x: points.map((m) => m[0]), y: points.map((m) => m[2]) };
  return [{
    ...at, name: 'rewind points', hoverinfo: 'skip', marker: { symbol: kept.map((is) => (is ? 'diamond' : 'diamond-open')), size: kept.map((is) => (is ? 11 : 8)), color: kept.map((is) => (is ? colours.text : colours.idle)), line: { width: 1.6, color: kept.map((is) => (is ? colours.paper : colours.idle)) } },
  }, {
    ...at, name: 'rewind point', hoverinfo: 'text', marker: { size: 6, opacity: 0 },
    hovertext: points.map((m, i) => `<b>rewind point at ${m[2]}</b><br>${pointRole(m[3])}<br>${kept[i] ? 'click to go back here' : 'no longer kept'}`),
  }];
}

function backButton(pos, text, label) {
  return el('button', { type: 'button', class: 'ds-button', 'data-back': pos, text, 'aria-label': label ?? null, disabled: Boolean(store.state.s.running), onclick: () => chooseBack(pos) });
}

function createWayBack() {
  const list = el('div', { class: 'ds-choice' });
  const node = el('div', { class: 'ds-back', role: 'group', 'aria-label': 'Go back to a rewind point', hidden: true }, el('span', { class: 'ds-counted', text: 'Go back to' }), list);
  let shown = '';
  function draw() {
    const { marks, s } = store.state;
    const kept = keptPoints(marks).slice(-WAYS_BACK);
    const signature = JSON.stringify([kept, Boolean(s.running)]);
    if (signature === shown) return;
    shown = signature;
    node.hidden = !kept.length;
    list.replaceChildren(...kept.map(({ pos, role, turn }) => backButton(pos, `${pos}${turn ? ` · turn ${turn}` : ''}`, `Go back to ${pos} tokens, ${pointRole(role)}${turn ? ` of turn ${turn}` : ''}`)));
  }
  function follow({ host, plot }) {
    const clicked = (points) => points.find(({ data, y }) => data.name === 'rewind point' && isKeptPoint(y));
    plot.on('plotly_click', ({ points }) => { const point = clicked(points); if (point) chooseBack(point.y); });
    plot.on('plotly_hover', ({ points }) => host.classList.toggle('ds-clickable', Boolean(clicked(points))));
    plot.on('plotly_unhover', () => host.classList.remove('ds-clickable'));
  }
  return { node, draw, follow };
}

// What the session retains, ascending, with what the marks say of each: the latest mark at a position is the one that stands.
function keptPoints(marks) {
  const told = new Map();
  let turn = 0;
  for (const mark of marks) {
    if (mark[1] === 'turn') turn = mark[2] + 1;
    else if (mark[1] === 'point') told.set(mark[2], { role: mark[3], turn });
  }
  return waysBack().map((pos) => ({ pos, ...told.get(pos) }));
}

// The server selects the point in the list under the chat and unfolds it; then the button there has the focus.
function chooseBack(pos) {
  if (store.state.s.running) return;
  trigger('select', { pos });
  const until = performance.now() + 5000;
  const look = () => {
    const button = document.getElementById('rewind'), field = document.querySelector('#rewind_point input');
    if (button?.offsetParent && field?.value.includes(`: ${pos} rows`)) {
      button.scrollIntoView({ block: 'center', behavior: window.matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
      button.focus({ preventScroll: true });
    } else if (performance.now() < until) setTimeout(look, 100);
  };
  look();
}
