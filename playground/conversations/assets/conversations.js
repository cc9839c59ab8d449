// The fold of conversations: what is shown and its branches, the list of all, and files in and out.
const count = el('span', { class: 'dc-count' });
const said = el('p', { class: 'dm-quiet', role: 'status', 'aria-live': 'polite', id: 'conversations_says' });
const branches = el('div', {}), list = el('ul', { class: 'dc-list', 'aria-label': 'Conversations' }), note = el('p', { class: 'dm-quiet' }), more = el('p', { class: 'dm-quiet' });
const search = el('input', { type: 'search', class: 'dc-search', maxlength: '200', 'aria-label': 'Search names and messages', placeholder: 'Search names and messages', oninput: () => later() });
const file = el('input', { type: 'file', accept: '.json,.md,application/json,text/markdown', class: 'dm-sr', tabindex: '-1', 'aria-label': 'A file of a conversation', onchange: () => take() });
const shownActs = el('div', { class: 'dm-row' },
  button('Download JSON', 'Download what is shown as JSON, with all branches', () => save('json'), 'json'),
  button('Download Markdown', 'Download what is shown as Markdown', () => save('markdown'), 'markdown'));
const undo = createUndo(bringBack, forget);
const fold = el('details', { class: 'dc-fold', ontoggle: () => { if (fold.open) look(); } },
  el('summary', {}, el('span', { text: 'Conversations' }), count),
  el('div', { class: 'dm-stack' },
    el('section', { 'aria-label': 'Branches of this conversation' }, el('h2', { text: 'Branches of this conversation' }), branches, shownActs),
    el('section', { 'aria-label': 'All conversations' }, el('h2', { text: 'All conversations' }),
      el('div', { class: 'dm-row' }, search, button('New', 'Begin a new conversation', () => open(''), 'new'), button('Open a file…', 'Open a file of a conversation', () => file.click(), 'file'), file),
      el('div', { class: 'dm-row dc-told' }, said, undo.node),
      list, more, note)));
root.replaceChildren(fold);
const state = { sid: '', version: -1, drawn: '', answer: null, timer: 0, asked: 0 };
let begun, session;
const noSession = () => { session = new Promise((resolve) => { begun = resolve; }); }; // what is asked meanwhile waits for the page's next one
noSession();
const desk = { renaming: null, open, edit, rename, remove };

async function call(what) {
  await session;
  const number = (state.asked += 1), sid = state.sid;
  let answer = null;
  try {
    const text = await server.ask(JSON.stringify({ sid, own: ownIds(), search: search.value, ...what }));
    answer = text ? JSON.parse(text) : { error: 'This page’s session has ended; reload the page to begin a new one.' };
  } catch (error) {
    answer = { error: 'The server did not answer; try again.' };
  }
  const moved = sid !== state.sid; // another conversation was opened meanwhile; a file is taken in all the same
  if (moved && what.do !== 'import') return null;
  if (answer.error || what.do !== 'look') setText(said, answer.error ?? answer.said ?? ''); // a look says nothing, and leaves what was said
  if (answer.error) return null;
  if (what.do !== 'look') undo.drop();
  if (what.do === 'rename' && desk.renaming === what.id) desk.renaming = null; // a name that was refused stays in its box
  if (answer.lines && number === state.asked && !moved) draw(answer);
  return answer;
}
const look = () => call({ do: 'look' });
function later() { clearTimeout(state.timer); state.timer = setTimeout(look, 200); }

function draw(answer) {
  if (answer.own) rememberId(state.sid);
  const drawn = JSON.stringify([answer, desk.renaming, search.value]);
  if (drawn === state.drawn) return;
  Object.assign(state, { drawn, answer });
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const { shown, lines } = answer;
  setText(count, shown ? shown.title : '');
  branches.replaceChildren(...(shown ? treeOf(shown.branches, go) : [el('p', { class: 'dm-quiet', text: 'It is kept from its first message on; its branches will stand here.' })]));
  for (const each of shownActs.children) each.disabled = !shown;
  setText(more, answer.more ? `The latest ${lines.length} are listed; search for others.` : '');
  setText(note, answer.note);
  const typing = desk.renaming && list.querySelector(`[data-id="${CSS.escape(desk.renaming)}"] .dc-name`);
  if (typing && state.searched === search.value) return; // a name is being typed: its box, and the lines around it, stay as they are
  state.searched = search.value;
  const none = search.value ? 'Nothing in names and messages contains this.' : 'No conversation is kept yet.';
  list.replaceChildren(...(lines.length ? lines.map((line) => lineOf(line, desk)) : [el('li', { class: 'dm-quiet', text: none })]));
  const box = list.querySelector('.dc-name');
  if (box && desk.renaming !== state.focusedName) { state.focusedName = desk.renaming; box.focus(); box.select(); }
  else if (focused) root.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function edit(id) {
  const before = desk.renaming;
  desk.renaming = id;
  state.focusedName = null;
  draw(state.answer);
  if (!id && before) list.querySelector(`[data-key="${CSS.escape(`rename-${before}`)}"]`)?.focus();
}
async function rename(line, name) {
  if (!await call({ do: 'rename', id: line.id, name })) return;
  list.querySelector(`[data-key="${CSS.escape(`rename-${line.id}`)}"]`)?.focus();
}
async function remove(line) {
  const answer = await call({ do: 'delete', id: line.id });
  if (!answer) return;
  forgetId(line.id);
  undo.offer(answer.deleted, Boolean(answer.gone));
  if (!answer.gone) return;
  noSession();
  open('', true);
}
async function bringBack(id, wasShown) {
  if (state.answer?.own) rememberId(id);
  const answer = await call({ do: 'restore', id });
  if (!answer) { forgetId(id); undo.drop(); return; }
  if (wasShown) open(id, true);
  else root.querySelector(`[data-key="${CSS.escape(`open-${id}`)}"]`)?.focus();
}
async function forget(id) {
  if (await call({ do: 'forget', id })) search.focus();
}
async function go(node) {
  if (await call({ do: 'switch', node })) trigger('input');
}
async function save(form) {
  const answer = await call({ do: 'export', form });
  if (answer) { saveAs(answer); setText(said, `Saved as ${answer.name}.`); }
}
async function take() {
  const chosen = file.files[0];
  file.value = '';
  if (!chosen) return;
  let text = '';
  try { text = await packed(chosen); } catch (problem) { setText(said, problem.message || 'The file could not be read.'); return; }
  const answer = await call({ do: 'import', file: text });
  if (answer) open(answer.open, true);
}
// `says`: what was just said stays, for it tells where the other conversation comes from.
function open(sid, says = false) {
  state.opening = says;
  trigger('select', { sid });
}

function follow() {
  const { sid = '', version = -1 } = given();
  if (!sid || (sid === state.sid && version === state.version)) return;
  if (sid !== state.sid) {
    if (state.sid && !state.opening) setText(said, '');
    Object.assign(state, { opening: false });
    desk.renaming = null;
  }
  Object.assign(state, { sid, version });
  begun();
  look();
}
watch('value', follow);
follow();
