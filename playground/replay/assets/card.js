// The tab itself: choose a file, see how far it is, what it holds, and what was wrong with it.
function createCard(open, act) {
  const file = el('input', { type: 'file', accept: '.jsonl,.gz,.jsonl.gz,application/gzip,application/x-ndjson', class: 'dm-sr', tabindex: '-1', 'aria-label': 'A trace file', onchange: () => choose(file.files[0]) });
  const pick = el('button', { type: 'button', class: 'dm-button rp-pick', text: 'Open a trace…', onclick: () => file.click() });
  const says = el('p', { class: 'dm-refusal', role: 'alert', id: 'replay_refusal' });
  const bar = el('span'), track = el('div', { class: 'dm-track', hidden: true }, bar), phase = el('p', { class: 'dm-quiet', role: 'status', 'aria-live': 'polite', id: 'replay_phase' });
  const holds = el('dl', { class: 'rp-facts' }), about = el('p', { class: 'dm-quiet' });
  const again = el('button', { type: 'button', class: 'dm-button', onclick: () => act() });
  const card = el('section', { class: 'dm-card dm-stack', 'aria-label': 'The open trace', hidden: true }, el('div', { class: 'dm-row' }, el('h2', { style: 'flex: 1; overflow-wrap: anywhere; min-width: 0' }), again), holds, about);
  const drop = el('div', { class: 'dm-empty rp-drop' }, el('p', {}, pick, file), el('p', { class: 'dm-quiet', text: 'or drop a .jsonl.gz or .jsonl file here. “Download trace”, under the chat, makes one; it opens in any installation, without the model.' }));
  root.replaceChildren(el('div', { class: 'dm-stack' },
    el('p', { class: 'dm-intro', text: 'A trace is everything a session did, round by round. Opened here it is read-only: the panels show it instead of the live session, you can play it and go to any point of it, and the live session goes on meanwhile.' }),
    drop, track, phase, says, card));
  const choose = (chosen) => { file.value = ''; if (chosen) open(chosen); };
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle('rp-over', on); };
  drop.addEventListener('dragover', over(true));
  drop.addEventListener('dragleave', over(false));
  drop.addEventListener('drop', (event) => { over(false)(event); choose(event.dataTransfer.files[0]); });

  const fact = (name, value) => el('div', {}, el('dt', { text: name }), el('dd', { text: value }));
  return {
    busy(share) { // undefined: done
      const done = share === undefined;
      pick.disabled = !done;
      track.hidden = done;
      bar.style.width = `${100 * (share ?? 1)}%`;
      setText(phase, done ? '' : share === null ? 'Reading the trace…' : `Sending the file: ${percent(share)}`);
      if (!done) setText(says, '');
    },
    refuse(sentence) { setText(says, sentence); },
    holds(name, facts) {
      card.hidden = false;
      setText(card.querySelector('h2'), name);
      holds.replaceChildren(fact('model', facts.model), fact('turns', facts.turns.toLocaleString('en')), fact('rounds', facts.rounds.toLocaleString('en')),
        fact('events', facts.events.toLocaleString('en')), fact('length', seconds(facts.seconds)));
      const missing = facts.missing ? `The ${plural(facts.missing, 'oldest event')} of the session had gone before it was saved. ` : '';
      const bare = facts.texts ? '' : 'The file has no texts, so tokens are shown by their numbers. ';
      setText(about, `${missing}${bare}${facts.about.length ? `Recorded with ${facts.about.join(', ')}. ` : ''}Waits longer than ${facts.longest_wait} s are played as ${facts.longest_wait} s.`);
    },
    shown(on) { setText(again, on ? 'Back to the live session' : 'Open again'); },
  };
}
