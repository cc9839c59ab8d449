// The list of runs: open, compare with what is shown, download, delete; and a file of a run from elsewhere.
const SURE_MS = 5000;

function createLibrary(host, view) {
  const list = el('div'), note = el('p', { class: 'dm-quiet' }), said = el('p', { class: 'dm-quiet', role: 'status', 'aria-live': 'polite', id: 'sweep_library_says' });
  const file = el('input', { type: 'file', accept: '.json,application/json', class: 'dm-sr', tabindex: '-1', 'aria-label': 'A file of a sweep', onchange: () => take() });
  const pick = el('button', { type: 'button', class: 'dm-button', text: 'Open a file…', onclick: () => file.click() });
  host.append(el('section', { class: 'dm-card dm-stack', id: 'sweep_library', 'aria-label': 'Sweeps' },
    el('div', { class: 'dm-row' }, el('h2', { text: 'Sweeps', style: 'flex: 1' }), pick, file), list, el('div', {}, note, said)));
  let lines = [], shown = '';

  async function call(what) {
    let answer = null;
    try {
      const text = await server.library(JSON.stringify({ sid: view.sid(), ...what }));
      answer = text ? JSON.parse(text) : { error: 'This page’s session has ended; reload the page to begin a new one.' };
    } catch (error) {
      answer = { error: 'The server did not answer; try again.' };
    }
    setText(said, answer.error ?? '');
    return answer.error ? null : answer;
  }

  async function refresh() {
    const answer = await call({ do: 'list' });
    if (answer) draw(answer);
  }

  function draw(answer) {
    lines = answer.lines;
    setText(note, answer.note);
    list.replaceChildren(lines.length ? table() : el('p', { class: 'dm-quiet', text: answer.saves ? 'No sweep is saved yet; the next one will be.' : 'No sweep yet.' }));
  }

  const act = (text, label, onclick, more = {}) => el('button', { type: 'button', class: 'dm-button', text, 'aria-label': label, onclick, ...more });

  function table() {
    const rows = lines.map((line) => el('tr', { 'data-run': line.id },
      el('th', { scope: 'row' }, line.title, el('small', { text: [line.model, line.complete ? '' : 'not complete', line.saved ? '' : 'for this visit only'].filter(Boolean).join(', ') })),
      el('td', { class: 'dm-line-best', text: line.best || '—' }),
      el('td', {}, el('div', { class: 'dm-line-acts' },
        act('Open', `Open ${line.title}`, () => open(line)),
        act('Compare', `Compare what is shown with ${line.title}`, () => compare(line), { disabled: !shown || shown === line.id }),
        act('Download', `Download ${line.title}`, () => download(line)),
        act('Delete', `Delete ${line.title}`, (event) => remove(line, event.currentTarget))))));
    return el('div', { class: 'dm-scroll', tabindex: '0', role: 'region', 'aria-label': 'List of sweeps' },
      el('table', { class: 'dm-table dm-lines' }, el('thead', {}, el('tr', {}, ...['sweep', 'fastest', ''].map((text) => el('th', { scope: 'col', text })))), el('tbody', {}, ...rows)));
  }

  async function open(line) {
    const answer = await call({ do: 'open', id: line.id });
    if (answer) view.open(answer.report);
  }
  async function compare(line) {
    const answer = await call({ do: 'compare', id: line.id, other: shown });
    if (answer) view.compare(answer.comparison);
  }
  async function download(line) {
    const answer = await call({ do: 'download', id: line.id });
    if (answer) saveFile(`draftscope-sweep-${line.id}.json`, answer.text);
  }
  async function remove(line, button) {
    if (button.dataset.sure) {
      const answer = await call({ do: 'remove', id: line.id });
      if (!answer) return;
      draw(answer);
      setText(said, `Deleted: ${line.title}.`);
      pick.focus();
      return;
    }
    button.dataset.sure = '1';
    setText(button, 'Delete for good');
    button.setAttribute('aria-label', `Delete ${line.title} for good`);
    setTimeout(() => { if (button.isConnected) { delete button.dataset.sure; setText(button, 'Delete'); button.setAttribute('aria-label', `Delete ${line.title}`); } }, SURE_MS);
  }
  async function take() {
    const chosen = file.files[0];
    file.value = '';
    if (!chosen) return;
    if (chosen.size > 2 ** 20) { setText(said, 'The file is larger than a sweep can be.'); return; }
    const answer = await call({ do: 'take', text: await chosen.text() });
    if (!answer) return;
    draw(answer);
    view.open(answer.report);
  }
  return {
    refresh,
    shows(id) {
      if (id === shown) return;
      shown = id;
      if (lines.length) list.replaceChildren(table());
    },
  };
}
