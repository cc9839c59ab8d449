// What is pinned, always in sight, with the way to the rounds beside it and the way out.
function createPinChip(toDetails) {
  const button = (label, text, onclick) => el('button', { type: 'button', class: 'ds-button', 'aria-label': label, title: label, text, onclick });
  const earlier = button('Round before (left arrow)', '◂', () => pin.step(-1));
  const later = button('Round after (right arrow)', '▸', () => pin.step(1));
  const name = el('b'), about = el('span', { class: 'ds-pin-about' });
  const show = button('Bring the round into sight in the panels', 'Show', () => pin.show(pin.round()));
  const details = button('Go to the inspector', 'Details', toDetails);
  const release = button('Release the pin (Escape)', 'Release', pin.release);
  const node = el('div', { id: 'ds-pin', class: 'ds-root ds-pin', role: 'group', 'aria-label': 'Pinned round', hidden: true }, earlier,
    el('p', { role: 'status' }, name, about), later, show, details, release);
  document.getElementById('ds-pin')?.remove();
  document.querySelector('.gradio-container')?.append(node); // outside the columns, or the right one would cover it
  return function draw() {
    node.hidden = !pin.at;
    document.body.classList.toggle('ds-has-pin', Boolean(pin.at));
    if (!pin.at) return;
    const { rounds } = store.state, round = pin.round(), row = pin.row();
    setText(name, nameOf(pin.at));
    setText(about, row ? keptOf(row) : '');
    earlier.disabled = !rounds.length || (round ?? pin.at.after ?? 0) <= rounds[0].r - (round ? 0 : 1);
    later.disabled = !rounds.length || (round ?? pin.at.after ?? 0) >= rounds.at(-1).r;
    show.hidden = !round || pin.inSight(round);
  };
}

function keptOf({ fates }) {
  const drafts = [...fates.slice(0, -1)];
  return drafts.length ? `${drafts.filter((fate) => fate !== '2' && fate !== '7').length} of ${drafts.length} drafts kept` : 'no drafts';
}
