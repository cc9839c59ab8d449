// The whole session under the first panel, as a strip: drag in it to go back, drag to its end to follow again. The slider beneath does the same by keyboard.
const STRIP = 30; // pixels

function createOverview(view, chart) {
  const canvas = el('canvas', { class: 'ds-session', 'aria-hidden': 'true', title: 'The whole session: drag to go back' });
  let held = false;

  const width = () => canvas.clientWidth;
  const span = () => Math.max(1, view.last() - view.first() + 1);
  const roundAt = (x) => view.first() - 0.5 + (Math.max(0, Math.min(width(), x)) / Math.max(1, width())) * span();
  const place = (round) => ((round - view.first() + 0.5) / span()) * width();

  function drag(event) {
    const box = canvas.getBoundingClientRect();
    const [low, high] = view.current(chart.clientWidth);
    const shown = high - low, middle = roundAt(event.clientX - box.left);
    if (middle + shown / 2 >= view.last() + 0.5) { view.goTo(null); return; }
    const start = Math.max(view.first() - 0.5, middle - shown / 2);
    view.goTo([start, start + shown]);
  }
  canvas.addEventListener('pointerdown', (event) => { held = true; canvas.setPointerCapture(event.pointerId); drag(event); });
  canvas.addEventListener('pointermove', (event) => { if (held) drag(event); });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, () => { held = false; });

  function draw(colours, [low, high]) {
    const wide = width(), scale = window.devicePixelRatio || 1;
    if (!wide) return;
    if (canvas.width !== Math.round(wide * scale)) canvas.width = Math.round(wide * scale);
    if (canvas.height !== STRIP * scale) canvas.height = STRIP * scale;
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, STRIP);
    if (!store.state.rounds.length) return;
    paintBins(pen, wide, colours);
    pen.fillStyle = colours.idle;
    for (const mark of store.state.marks) if (mark[1] === 'turn') pen.fillRect(Math.round(place(mark[0])), 0, 1, 5);
    const [from, to] = [Math.max(0, place(low + 0.5) - wide / span()), Math.min(wide, place(high - 0.5))];
    pen.fillStyle = colours.paper;
    pen.globalAlpha = 0.62;
    pen.fillRect(0, 0, Math.max(0, from), STRIP);
    pen.fillRect(to, 0, wide - to, STRIP);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.text;
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(0.75, from), 0.75, Math.max(3, to - Math.max(0.75, from) - 0.75), STRIP - 1.5);
  }
  return { canvas, draw };
}

// Per column of the strip the mean of its rounds: accepted drafts from the bottom, rejected ones, paler, above them.
function paintBins(pen, wide, colours) {
  const { rounds } = store.state;
  const bins = Math.min(rounds.length, Math.floor(wide));
  const kept = new Float64Array(bins), drafted = new Float64Array(bins), counted = new Uint32Array(bins);
  let most = 1;
  for (let i = 0; i < rounds.length; i += 1) {
    const bin = Math.floor((i * bins) / rounds.length), drafts = rounds[i].fates.length - 1;
    kept[bin] += keptOf(rounds[i].fates);
    drafted[bin] += drafts;
    counted[bin] += 1;
    if (drafts > most) most = drafts;
  }
  const step = wide / bins, unit = (STRIP - 4) / most, gap = step > 4 ? 1 : 0;
  for (let bin = 0; bin < bins; bin += 1) {
    const low = (kept[bin] / counted[bin]) * unit, all = (drafted[bin] / counted[bin]) * unit, x = bin * step;
    pen.fillStyle = colours.rejected;
    pen.globalAlpha = 0.45;
    pen.fillRect(x, STRIP - 2 - all, step - gap, all - low);
    pen.fillStyle = colours.accepted;
    pen.globalAlpha = 1;
    pen.fillRect(x, STRIP - 2 - low, step - gap, low);
  }
}

// Accepted drafts of a round, counted once for each string of fates.
const keptSeen = new Map();
function keptOf(fates) {
  let found = keptSeen.get(fates);
  if (found === undefined) {
    found = [...fates.slice(0, -1)].filter(isKept).length;
    keptSeen.set(fates, found);
  }
  return found;
}
