// What makes a panel of rounds part of the whole: a click on a round or on a row of its table pins it, and it marks the pinned one.
const PINNABLE = ['fate', 'length', 'pending', 'speed', 'overshoot', 'counters'];

function makePinnable({ element, host, plot, table }) {
  const name = element.dataset.panel;
  if (!PINNABLE.includes(name)) return () => {};
  // Anywhere in a round's column counts, also where nothing is drawn; a drag is a zoom. Plotly covers the page while a button is down.
  host.addEventListener('pointerdown', (down) => {
    if (down.button !== 0 || down.target.closest('.modebar') || overRewindPoint(host)) return;
    window.addEventListener('pointerup', (up) => {
      if (Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY) < 4) chosen(placeAt(host, up));
    }, { once: true });
  });
  function chosen(at) {
    if (!at || !store.state.rounds.some(({ r }) => r === at.round)) return;
    document.activeElement?.blur(); // the chart leaves the focus where it was, and the arrow keys are for the rounds now
    pin.toggle({ round: at.round, column: name === 'fate' ? columnOf(host, at) : null });
  }
  table.choosable((row) => { if (roundOf(row)) pin.toggle({ round: roundOf(row) }); },
    'Click a row, or choose it with the arrow keys and press Enter, to pin its round.');
  plot.marks = (colours) => pinMark(colours);
  return () => {
    for (const row of element.querySelectorAll('.ds-table tbody tr')) {
      const pinned = pin.round() !== null && roundOf(row) === pin.round();
      row.classList.toggle('ds-pinned-row', pinned);
      if (pinned) setAttr(row, 'aria-current', 'true'); else row.removeAttribute('aria-current');
    }
  };
}

const roundOf = (row) => { const text = row.cells[0].textContent.trim(); return /^\d+$/.test(text) ? Number(text) : 0; };

const overRewindPoint = (host) => (host._hoverdata ?? []).some(({ data }) => data?.name === 'rewind point'); // these do something else

// The round and the height of a place in a chart; null beside the axes.
function placeAt(host, { clientX, clientY }) {
  const { xaxis, yaxis } = host._fullLayout ?? {};
  if (!xaxis) return null;
  const { left, top } = host.getBoundingClientRect();
  const x = clientX - left - xaxis._offset, y = clientY - top - yaxis._offset;
  return x < 0 || x > xaxis._length || clientY < top ? null : { round: Math.round(xaxis.p2d(x)), y: yaxis.p2d(y) };
}

// Draft fate has a row for each draft and one for the trunk's own token.
function columnOf(host, { round, y }) {
  const top = host.data.find(({ name }) => name === 'draft fate').z.length - 1, row = Math.round(y);
  const { fates } = store.state.rounds[round - store.state.rounds[0].r];
  if (row === top) return 'own';
  return row >= 0 && row < fates.length - 1 ? row + 1 : null;
}

function pinMark(colours) {
  const round = pin.round();
  if (!round) return [];
  const at = { type: 'rect', name: 'pinned round', x0: round - 0.5, x1: round + 0.5, yref: 'paper', y0: 0, y1: 1 };
  return [{ ...at, layer: 'below', fillcolor: colours.carry, opacity: 0.3, line: { width: 0 } }, { ...at, line: { color: colours.text, width: 2 } }];
}

// Lets the pin move the panels: into sight, in the middle, as wide as they are.
function linkPinTo(view, width) {
  pin.inSight = (round) => { const [low, high] = view.current(width()); return round > low && round < high; };
  pin.show = (round) => {
    const [low, high] = view.current(width());
    const start = Math.max(view.first() - 0.5, round - Math.round((high - low) / 2) - 0.5);
    view.goTo([start, start + (high - low)]);
  };
}
