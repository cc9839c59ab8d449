// The states of the session and what moved it between them, drawn: counts as width and in words, the present state filled.
const SVG = 'http://www.w3.org/2000/svg';
const STATE_NOTES = {
  FRESH: ['nothing yet', 'Nothing was said yet.'],
  PENDING: ['one token without a row', 'Its newest token is shown, and waits for the next step to be read.'],
  PREDICTED: ['the next token is known', 'Everything shown was read, and the next token is already known.'],
  FAILED: ['caches in doubt', 'An error left its memory in doubt; going back mends it.'],
};
const STATE_COLOURS = { FRESH: 'idle', PENDING: 'carry', PREDICTED: 'bonus', FAILED: 'rejected' };

function svgEl(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function createMachine() {
  const picture = svgEl('svg', { role: 'img', class: 'ds-machine-picture' });
  const says = el('p', { class: 'ds-about' });
  const alarm = el('p', { class: 'ds-alarm', role: 'alert', hidden: true });
  const node = el('div', { class: 'ds-machine' }, picture, alarm, says);
  let drawn = '', lastDrawn = null;

  function draw(colours) {
    const { g } = store.state;
    const map = node.clientWidth && node.clientWidth < 520 ? TALL_MAP : WIDE_MAP;
    const signature = JSON.stringify([g, store.state.rounds.length, colours, map.size, document.body.dataset.level]);
    if (signature === drawn) return;
    drawn = signature;
    const ways = waysOf(g, map);
    const [width, height] = map.size;
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, 'font-family': colours.font, 'aria-label': describeMachine(g, ways) })) setAttr(picture, name, value);
    const most = Math.max(1, ...ways.map((way) => way.moved));
    const lines = ways.map((way) => wayDrawing(way, most, g, colours));
    picture.replaceChildren(...lines.map((line) => line.line), ...Object.keys(map.nodes).map((name) => stateDrawing(name, map.nodes[name], g, colours)), ...lines.map((line) => line.words));
    setText(says, machineSentence(g));
    const wrong = g.broken ? alarmSentence(g) : '';
    alarm.hidden = !wrong;
    setText(alarm, wrong);
    pulse(g.last, lines);
  }
  function pulse(last, lines) {
    const key = JSON.stringify(last ?? []);
    const fresh = lastDrawn !== null && key !== lastDrawn;
    lastDrawn = key;
    if (!fresh || window.matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    lines.find((line) => line.isLast)?.line.animate([{ opacity: 0.25 }, { opacity: 1 }], { duration: 260, iterations: 2 });
  }
  // For a saved picture: the drawing is made of attributes alone, so it needs no style sheet.
  function asPicture() {
    const copy = picture.cloneNode(true);
    const [, , width, height] = picture.getAttribute('viewBox').split(' ').map(Number);
    for (const [name, value] of Object.entries({ width: width * PICTURE_SCALE, height: height * PICTURE_SCALE, xmlns: SVG })) copy.setAttribute(name, value);
    return { url: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`, width, height };
  }
  return { node, draw, asPicture, counts: () => machineCounts(store.state.g) };
}

// Every move made, with its count. Plain rounds are counted here: all but those that ended in a trim.
function machineCounts(g) {
  const rounds = (store.state.rounds.at(-1)?.r ?? 0) - (g['PENDING>trim>PREDICTED'] ?? 0);
  return Object.entries({ ...g, 'PENDING>round>PENDING': rounds }).filter(([key, count]) => key.includes('>') && count).map(([key, count]) => {
    const [from, move, to] = key.split('>');
    return { from, move, to, count };
  });
}

// The ways to draw, with the counts of their moves; one that no map foresees is in the sentence of the alarm only.
function waysOf(g, map) {
  const counted = machineCounts(g);
  const withCounts = (way) => {
    const counts = counted.filter(({ from, to }) => from === way.from && to === way.to);
    return { ...way, ...map.ways[`${way.from}>${way.to}`], counts, moved: sum(counts.filter(({ move }) => move !== 'round').map(({ count }) => count)) };
  };
  return [...STATE_WAYS.map(withCounts), ...RARE_WAYS.map(withCounts).filter((way) => way.counts.length)];
}

function wayDrawing(way, most, g, colours) {
  const [x0, y0, x1, y1, x2, y2, x3, y3] = way.curve;
  const gone = way.counts.length > 0;
  const isLast = g.last?.[0] === way.from && g.last?.[2] === way.to;
  const thick = gone ? 1.4 + 4.2 * (way.moved / most) : 1;
  const colour = isLast ? colours.text : gone ? colours.idle : colours.line;
  const angle = Math.atan2(y3 - y2, x3 - x2), size = 6 + thick;
  const corner = (turn) => `${(x3 - size * Math.cos(angle + turn)).toFixed(1)} ${(y3 - size * Math.sin(angle + turn)).toFixed(1)}`;
  const line = svgEl('g', { 'data-way': `${way.from}>${way.to}`, opacity: gone ? 1 : 0.75 },
    svgEl('path', { d: `M${x0} ${y0} C${x1} ${y1} ${x2} ${y2} ${x3} ${y3}`, fill: 'none', stroke: colour, 'stroke-width': thick.toFixed(2), 'stroke-dasharray': gone ? null : '3 4' }),
    svgEl('path', { d: `M${x3} ${y3} L${corner(0.45)} L${corner(-0.45)} Z`, fill: colour }));
  return { line, words: wayWords(way, isLast ? g.last[1] : null, colours), isLast };
}

// One move a line, or all on one where there is room; a move that was never made is named without a number.
function wayWords({ moves, counts, words: [x, y, anchor], line }, last, colours) {
  const made = counts.map(({ move, count }) => [move === 'round' ? `${count} round${count === 1 ? '' : 's'}` : `${move} ×${count}`, move]);
  const entries = made.length ? made : [[moves.filter((move) => move !== 'round').join(' · '), null]];
  const middle = anchor === 'middle';
  const part = ([text, move], i) => [
    ...(line && i ? [svgEl('tspan', {}, '  ·  ')] : []),
    svgEl('tspan', { x: line ? null : x, dy: line || i === 0 ? null : 15, 'font-weight': move && move === last ? 700 : 400, 'text-decoration': move && move === last ? 'underline' : null }, text)];
  const start = middle && !line && y < 100 ? y - 15 * (entries.length - 2) : y;
  const node = svgEl('text', { x, y: start, 'text-anchor': anchor, 'font-size': 12.5, fill: made.length ? colours.text : colours.idle, 'xml:space': 'preserve' }, ...entries.flatMap(part));
  node.prepend(svgEl('title', {}, document.createTextNode(moves.map((move) => `${move}: ${MOVE_NOTES[move]}`).join('\n'))));
  return node;
}

function stateDrawing(name, [x, y, width, height], g, colours) {
  const here = g.now === name, wrong = g.broken && g.bad?.[2] === name;
  const box = (grow, more) => svgEl('rect', { x: x - width / 2 - grow, y: y - height / 2 - grow, width: width + 2 * grow, height: height + 2 * grow, rx: height / 2 + grow, ...more });
  const colour = colours[STATE_COLOURS[name]];
  return svgEl('g', { 'data-state': name, 'data-here': here ? '1' : null },
    box(0, { fill: colours.paper }),
    box(0, { fill: colour, 'fill-opacity': here ? 0.34 : 0, stroke: colour, 'stroke-width': here ? 3 : 1.2, 'stroke-dasharray': here || name !== 'FAILED' ? null : '3 3' }),
    ...(wrong ? [box(6, { fill: 'none', stroke: '#d11a2a', 'stroke-width': 3, class: 'ds-wrong' })] : []),
    svgEl('text', { x, y: here || name === 'PENDING' ? y - 2 : y + 5, 'text-anchor': 'middle', 'font-size': 14, 'font-weight': here ? 700 : 500, fill: colours.text }, here ? `● ${name}` : name),
    ...(here || name === 'PENDING' ? [svgEl('text', { x, y: y + 13, 'text-anchor': 'middle', 'font-size': 10.5, fill: colours.text }, here ? 'now' : STATE_NOTES[name][0])] : []));
}

function describeMachine(g, ways) {
  const moves = ways.flatMap(({ counts }) => counts).map(({ from, move, to, count }) => `${from} to ${to} by ${move} ${count}`);
  return `States of the session. Now ${g.now || 'not known'}. ${moves.length ? `Moves: ${moves.join(', ')}.` : 'No move yet.'}`;
}

const roundName = (r) => (r < 0 ? 'before the first round' : `at round ${r + 1}`);

function machineSentence({ now, last }) {
  const student = document.body.dataset.level === 'student';
  const state = STATE_NOTES[now] ? `Now ${now}: ${STATE_NOTES[now][student ? 1 : 0]}${student ? '' : '.'}` : 'Some of this session’s events are no longer kept, so its state is not known here.';
  return last?.length ? `${state} Last move: ${last[1]}, ${roundName(last[3])} (${MOVE_NOTES[last[1]] ?? 'no known move'}).` : state;
}

function alarmSentence({ bad: [from, move, to, round], broken }) {
  return `✕ ${move === 'jump' ? `The session went from ${from} to ${to} without a move` : `${move} led from ${from} to ${to}`} ${roundName(round)}, which its rules do not allow${broken > 1 ? ` (${broken} such moves)` : ''}. `
    + 'Save the trace and report it: this is a fault of the engine or of the trace.';
}
