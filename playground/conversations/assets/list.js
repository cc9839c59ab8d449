// The list of conversations: open one, give it a name, delete it after a second press.
const SURE_MS = 5000;
const whenOf = (seconds) => {
  const then = new Date(1000 * seconds), today = new Date().toDateString() === then.toDateString();
  return today ? `today ${then.toLocaleTimeString([], { timeStyle: 'short' })}` : then.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
};
const button = (text, label, onclick, key, more = {}) =>
  el('button', { type: 'button', class: 'dm-button', text, 'aria-label': label, 'data-key': key, onclick, ...more });

// Two presses within some seconds: the first only asks.
function sureButton(title, key, act) {
  const name = `Delete ${title}`;
  return button('Delete', name, (event) => {
    const own = event.currentTarget;
    if (own.dataset.sure) { act(); return; }
    own.dataset.sure = '1';
    setText(own, 'Delete for good');
    own.setAttribute('aria-label', `${name} for good, with all its branches`);
    setTimeout(() => { if (own.isConnected) { delete own.dataset.sure; setText(own, 'Delete'); own.setAttribute('aria-label', name); } }, SURE_MS);
  }, key);
}

function nameForm(line, save, cancel) {
  const box = el('input', { type: 'text', class: 'dc-name', maxlength: '120', 'aria-label': `New name of ${line.title}`, placeholder: 'Without a name, its first words' });
  box.value = line.name || line.title;
  return el('form', { class: 'dm-row', onsubmit: (event) => { event.preventDefault(); save(box.value); }, onkeydown: (event) => { if (event.key === 'Escape') cancel(); } },
    box, el('button', { type: 'submit', class: 'dm-button', text: 'Save name' }), button('Cancel', 'Leave the name as it is', cancel, 'cancel'));
}

function lineOf(line, desk) {
  const facts = [line.here ? 'shown now' : '', whenOf(line.when), plural(line.turns, 'turn'), line.model].filter(Boolean).join(' · ');
  if (desk.renaming === line.id) return el('li', { 'data-id': line.id }, nameForm(line, (name) => desk.rename(line, name), () => desk.edit(null)));
  return el('li', { 'data-id': line.id, class: line.here ? 'dc-here' : '' },
    el('button', { type: 'button', class: 'dc-open', 'data-key': `open-${line.id}`, 'aria-label': `Open ${line.title}`, 'aria-current': line.here ? 'true' : null, onclick: () => { if (!line.here) desk.open(line.id); } },
      el('span', { class: 'dc-label', text: line.title }), el('small', { text: facts })),
    el('div', { class: 'dc-acts' }, button('Rename', `Rename ${line.title}`, () => desk.edit(line.id), `rename-${line.id}`),
      sureButton(line.title, `delete-${line.id}`, () => desk.remove(line))));
}
