// The list of conversations: open one, give it a name, delete it, and have it back.
const whenOf = (seconds) => {
  const then = new Date(1000 * seconds), today = new Date().toDateString() === then.toDateString();
  return today ? `today ${then.toLocaleTimeString([], { timeStyle: 'short' })}` : then.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
};
const button = (text, label, onclick, key, more = {}) =>
  el('button', { type: 'button', class: 'dm-button', text, 'aria-label': label, 'data-key': key, onclick, ...more });

// What was deleted can be had back for a while: two buttons beside the sentence that says so.
function createUndo(bringBack, forget) {
  const node = el('span', { class: 'dm-row dc-undo', hidden: true });
  let timer = 0;
  const drop = () => { clearTimeout(timer); node.hidden = true; node.replaceChildren(); };
  return {
    node,
    drop,
    offer({ id, title, seconds }, wasShown) {
      drop();
      const hours = seconds === 3600 ? 'an hour' : `${Math.round(seconds / 60)} minutes`;
      const back = button('Undo', `Undo: bring ${title} back`, () => bringBack(id, wasShown), 'undo');
      node.append(back, button('Forget now', `Forget ${title} for good now`, () => forget(id), 'forget'),
        el('span', { class: 'dm-quiet', text: `Gone for good in ${hours}, or when Draftscope ends.` }));
      node.hidden = false;
      timer = setTimeout(drop, 1000 * seconds);
      back.focus();
    },
  };
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
      button('Delete', `Delete ${line.title}`, () => desk.remove(line), `delete-${line.id}`)));
}
