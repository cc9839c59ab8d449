// The bar above the panels: whose trace this is, the way back, the scrubber with a mark for each turn, and the player's keys.
const seconds = (s) => (s < 100 ? `${s.toFixed(1)} s` : `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, '0')} min`);

// `send` takes what is asked of the player, `leave` the way back.
function createBar(place, send, leave, round) {
  let facts = null, at = null, held = false;
  const title = el('b'), says = el('span', { class: 'dm-quiet', role: 'status', 'aria-live': 'polite' });
  const back = el('button', { type: 'button', class: 'dm-button rp-back', text: 'Back to the live session', onclick: leave });
  const step = (by, over, text, label) => el('button', { type: 'button', class: 'dm-button', text, title: label, 'aria-label': label, onclick: () => send({ do: 'step', by, over }) });
  const play = el('button', { type: 'button', class: 'dm-button rp-play', text: 'Play', onclick: () => toggle() });
  const speed = el('select', { class: 'dm-button', 'aria-label': 'Speed', title: 'Times the session’s own pace', onchange: () => send({ do: 'play', on: at?.playing ?? false, speed: Number(speed.value) }) });
  const scrub = el('input', { type: 'range', class: 'rp-scrub', min: 0, step: 1, 'aria-label': 'Position in the trace',
    title: 'Left and right: a round. With Shift: an event. Page up and down: a turn. Space: play or pause.' });
  const marks = el('div', { class: 'rp-marks', 'aria-hidden': 'true' });
  const where = el('span', { class: 'rp-where' });
  const node = el('section', { class: 'rp-bar', 'aria-label': 'Replay', hidden: true },
    el('div', { class: 'dm-row rp-banner' }, el('span', { class: 'rp-dot', 'aria-hidden': 'true' }), el('p', {}, 'Replaying ', title, ', read-only'), says, back),
    el('div', { class: 'dm-row' },
      el('div', { class: 'rp-keys', role: 'group', 'aria-label': 'Player' }, step(-1, 'round', '◂ Round', 'One round back'), play, step(1, 'round', 'Round ▸', 'One round on'), speed),
      el('div', { class: 'rp-track' }, scrub, marks), where));
  place.replaceChildren(node);

  const toggle = () => send({ do: 'play', on: !(at?.playing) });
  scrub.addEventListener('input', () => { held = true; send({ do: 'go', to: Number(scrub.value) }); });
  scrub.addEventListener('change', () => { held = false; });
  node.addEventListener('keydown', (event) => {
    if (event.target === speed || event.altKey || event.ctrlKey || event.metaKey) return;
    const over = event.shiftKey ? 'event' : 'round';
    const keys = {
      ArrowLeft: () => send({ do: 'step', by: -1, over }), ArrowRight: () => send({ do: 'step', by: 1, over }),
      PageUp: () => send({ do: 'step', by: -1, over: 'turn' }), PageDown: () => send({ do: 'step', by: 1, over: 'turn' }),
      Home: () => send({ do: 'go', to: 0 }), End: () => send({ do: 'go', to: facts.events }),
    };
    if (event.key === ' ' && event.target.tagName !== 'BUTTON') keys[' '] = () => { if (!event.repeat) toggle(); };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });

  function tellWhere(to) {
    const now = round();
    setText(where, `${now ? `round ${now.toLocaleString('en')} · ` : ''}event ${to.toLocaleString('en')} of ${facts.events.toLocaleString('en')} · ${seconds(at?.s ?? 0)} of ${seconds(facts.seconds)}`);
    setAttr(scrub, 'aria-valuetext', where.textContent);
  }
  const markOf = ([place, turn]) => {
    const share = facts.events ? place / facts.events : 0;
    return el('i', { style: `left: calc(8px + (100% - 16px) * ${share.toFixed(5)})`, title: `turn ${turn} begins`, onclick: () => send({ do: 'go', to: place }) });
  };
  return {
    begin(name, told) {
      facts = told;
      at = null;
      held = false;
      node.hidden = false;
      setText(title, name);
      setText(says, '');
      scrub.max = facts.events;
      speed.replaceChildren(...facts.speeds.map((times) => el('option', { value: times, text: `${times}×` })));
      speed.value = '1';
      marks.replaceChildren(...facts.marks.map(markOf));
    },
    show(told) {
      at = told;
      if (!held) scrub.value = at.at;
      setText(play, at.playing ? 'Pause' : 'Play');
      play.classList.toggle('rp-on-air', at.playing);
      if (document.activeElement !== speed) speed.value = String(at.speed);
      tellWhere(at.at); // what the panels show; the handle is where the hand is
    },
    say: (text) => setText(says, text),
    focus: () => scrub.focus({ preventScroll: true }),
    end() { node.hidden = true; },
  };
}
