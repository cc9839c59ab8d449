// Two lanes on one clock: each token appears at the time on its own lane's clock, so what one sees is the true race.
// While it runs the clock follows what both lanes have reached; afterwards it plays to the end, and again when asked.
const CATCH_UP = 0.35, LAST_STRETCH = 3;

function createLanes(host) {
  const lanes = [createLane('plain', 'Plain decoding'), createLane('spec', 'With drafts')];
  const clock = el('span', { class: 'dm-clock', text: '0.00 s' });
  const scrub = el('input', { class: 'dm-scrub', type: 'range', min: '0', max: '1000', value: '0', 'aria-label': 'Time on both clocks', disabled: true, oninput: () => {
    pause();
    go((end() * scrub.value) / 1000);
  } });
  const button = el('button', { type: 'button', class: 'dm-button', text: 'Replay', disabled: true, onclick: () => (playing ? pause() : replay()) });
  const speed = el('select', { class: 'dm-button', 'aria-label': 'Speed of the replay' },
    ...[['0.5', 'half speed'], ['1', 'true speed'], ['4', 'four times']].map(([value, text]) => el('option', { value, text, ...(value === '1' ? { selected: true } : {}) })));
  host.append(el('div', { class: 'dm-row dm-time' }, clock, scrub, button, speed), el('div', { class: 'dm-lanes' }, ...lanes.map((lane) => lane.node)),
    el('p', { class: 'dm-quiet' }, 'Underlined: ', el('span', { class: 'dm-guessed', text: 'guessed by the drafter' }), ' and kept by the model.'));

  let now = 0, ended = false, playing = false, catching = false, frame = 0, last = 0;
  const end = () => Math.max(...lanes.map((lane) => lane.last()));
  // How far both are known: a lane that has ended holds nobody up.
  const known = () => {
    const open = lanes.filter((lane) => !lane.ended);
    return open.length ? Math.min(...open.map((lane) => lane.last())) : end();
  };
  function go(to) {
    now = to;
    lanes.forEach((lane) => lane.show(now));
    setText(clock, `${now.toFixed(2)} s`);
    if (end() > 0) scrub.value = String(Math.round((1000 * now) / end()));
    scrub.setAttribute('aria-valuetext', `${now.toFixed(2)} seconds`);
  }
  function tick(at) {
    frame = 0;
    const dt = Math.min(0.1, (at - last) / 1000);
    last = at;
    const goal = ended || playing ? end() : known();
    if (calm.matches && !playing) now = goal;
    else if (playing) now = Math.min(goal, now + dt * Number(speed.value));
    else if (ended) now = Math.min(goal, now + dt * rate);
    else if (goal > now) now += (goal - now) * (1 - Math.exp(-dt / CATCH_UP));
    go(now);
    if (playing && now >= goal) pause();
    if (ended && !playing && now >= goal) catching = false;
    if (playing || catching) request();
  }
  let rate = 1;
  function request() {
    if (frame) return;
    frame = requestAnimationFrame((at) => { if (!last || at - last > 200) last = at - 16; tick(at); });
  }
  function pause() {
    playing = catching = false;
    cancelAnimationFrame(frame);
    frame = 0;
    setText(button, 'Replay');
  }
  function replay() {
    catching = false;
    playing = true;
    setText(button, 'Pause');
    if (now >= end()) go(0);
    last = 0;
    request();
  }
  return {
    begin() {
      now = last = 0;
      ended = playing = false;
      lanes.forEach((lane) => lane.begin());
      scrub.disabled = button.disabled = true;
      setText(button, 'Replay');
      go(0);
    },
    take(parts, over, atOnce) {
      parts.forEach((part, i) => lanes[i].take(part));
      if (over && !ended) {
        rate = Math.max(1, (end() - now) / LAST_STRETCH);
        scrub.disabled = button.disabled = end() === 0;
      }
      ended = over;
      lanes.forEach((lane) => { lane.ended = lane.ended || over; });
      if (atOnce || document.hidden) go(over ? end() : known());
      catching = true;
      request();
    },
    seen: () => lanes.map((lane) => lane.pieces.length),
  };
}

function createLane(kind, first) {
  const title = el('h2', { text: first });
  const count = el('dd', { text: '0' }), rate = el('dd', { text: '—' }), time = el('dd', { text: '—' });
  const pane = el('div', { class: 'dm-pane', tabindex: '0', role: 'region', 'aria-label': `${first}: text` });
  const bar = el('span');
  const node = el('section', { class: `dm-card dm-lane dm-lane-${kind}`, 'data-lane': kind }, title,
    el('dl', { class: 'dm-lane-figures' }, ...[['tokens', count], ['tokens/s', rate], ['ended', time]].map(([name, value]) => el('div', {}, el('dt', { text: name }), value))),
    el('div', { class: 'dm-track', 'aria-hidden': 'true' }, bar), pane);
  const lane = {
    node, pieces: [], ended: false,
    last: () => lane.pieces.at(-1)?.[0] ?? 0,
    begin() { lane.pieces = []; lane.ended = false; shown = 0; pane.replaceChildren(); draw(0); },
    take(part) {
      setText(title, part.name[0].toUpperCase() + part.name.slice(1));
      pane.setAttribute('aria-label', `${part.name}: text`);
      most = part.most;
      if (part.from <= lane.pieces.length) lane.pieces.push(...part.new.slice(lane.pieces.length - part.from));
      lane.ended = part.ended;
    },
    show(now) {
      let upTo = shown;
      while (upTo < lane.pieces.length && lane.pieces[upTo][0] <= now + 1e-9) upTo += 1;
      while (upTo > 0 && lane.pieces[upTo - 1][0] > now + 1e-9) upTo -= 1;
      if (upTo < shown) { pane.replaceChildren(); shown = 0; }
      const follow = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 30;
      for (; shown < upTo; shown += 1) pane.append(el('span', { class: lane.pieces[shown][2] ? 'dm-guessed' : '', text: lane.pieces[shown][1] }));
      if (follow) pane.scrollTop = pane.scrollHeight;
      draw(now);
    },
  };
  let shown = 0, most = 1;
  function draw(now) {
    setText(count, shown.toLocaleString('en'));
    const start = lane.pieces[0]?.[0] ?? 0, over = lane.ended && shown === lane.pieces.length && shown > 0;
    const upTo = over ? lane.last() : now, after = lane.pieces.slice(0, shown).filter((piece) => piece[0] > start).length;
    setText(rate, after && upTo > start ? (after / (upTo - start)).toFixed(1) : '—');
    setText(time, over ? `${lane.last().toFixed(2)} s` : '—');
    bar.style.width = `${(100 * shown) / most}%`;
  }
  return lane;
}
