// The inspector: what is pinned, looked into. It asks the server when something else is pinned, and keeps what it shows till the answer is there.
const LATE = 350; // milliseconds before it says that it waits

function createInspector(root, ask) {
  const title = el('h3'), about = el('p', { class: 'ds-about' }), facts = el('p', { class: 'ds-about ds-meta for-engineer' });
  const body = el('div', { class: 'ds-inspected' });
  const recording = el('button', { type: 'button', class: 'ds-button', 'aria-pressed': 'false', hidden: true, text: 'Record alternatives', title: 'Note the most probable tokens of every round from now on', onclick: toggleRecording });
  const close = el('button', { type: 'button', class: 'ds-button', text: 'Release', onclick: pin.release });
  const node = el('section', { class: 'ds-panel ds-inspector', 'data-panel': 'inspector', hidden: true, tabindex: '-1', 'aria-label': 'Token inspector' },
    el('header', {}, title, el('div', { class: 'ds-tools' }, recording, close)), about, facts, body);
  root.append(node);
  let asked = 0, found = null, key = '', nearing = false;

  async function look(at) {
    node.hidden = !at;
    if (!at) { found = null; key = ''; return; }
    const wanted = JSON.stringify(at.round ? [at.round] : [at.turn, at.place, at.title]);
    if (wanted === key && found) { paint(at); return; }
    key = wanted;
    found = null;
    const mine = (asked += 1);
    setText(title, nameOf(at));
    const late = setTimeout(() => { if (mine === asked) say('Looking it up…'); }, body.childNodes.length ? LATE : 0);
    const answer = await ask.once('inspect', at.round ? { round: at.round } : { number: at.number, place: at.place + at.skipped });
    clearTimeout(late);
    if (mine !== asked || !pin.at) return;
    found = answer;
    if (!found) say(ask.can() ? 'There is no answer: the connection is lost, or this history has ended.' : 'Only a running session can be looked into.');
    else if (found.gone) say(found.gone);
    else paint(pin.at);
    if (nearing) toSight();
    nearing = false;
    showRecording();
  }
  const toSight = () => requestAnimationFrame(() => node.scrollIntoView({ block: 'nearest' }));
  function say(sentence) {
    about.replaceChildren();
    facts.replaceChildren();
    body.replaceChildren(el('p', { class: 'ds-about', text: sentence }));
  }
  function paint(at) {
    if (found.gone) return;
    setText(title, nameOf(at));
    about.replaceChildren(...bothWords(found.says));
    setText(facts, factsOf(found));
    const focused = body.contains(document.activeElement);
    body.replaceChildren(...(found.columns ? roundParts(found, at) : [el('p', { class: 'ds-quote', text: quoted(found.text), translate: 'no' })]));
    if (focused) body.querySelector('[aria-pressed=true]')?.focus();
  }
  async function showRecording(on) {
    const answer = await ask.now('record', on === undefined ? {} : { on });
    recording.hidden = !answer;
    if (answer) setAttr(recording, 'aria-pressed', String(answer.on));
  }
  function toggleRecording() { showRecording(recording.getAttribute('aria-pressed') !== 'true'); }

  pin.watch('inspector', look);
  look(pin.at);
  return {
    reveal() { node.scrollIntoView({ block: 'center' }); node.focus({ preventScroll: true }); },
    near() { nearing = true; toSight(); }, // and again when it has grown
  };
}

const nameOf = (at) => (at.round ? `Round ${at.round}` : `Token ${at.title}`);

function factsOf(found) {
  if (!found.columns) return `turn ${found.turn} · ${found.origin} · position ${found.pos} · id ${found.id}`;
  const [draft, verify, accept, host] = found.ms, [sctr, draws, uctr, tests] = found.counters;
  const used = found.mode === 'greedy' ? '' : ` · sctr ${sctr} +${draws} · uctr ${uctr} +${tests}`;
  return `turn ${found.turn} · burst ${found.burst} · ${found.mode} · ${found.drafter} · position ${found.pos} · width ${found.width}${found.graphed ? ', graph' : ''}${used}`
    + ` · ${sum(found.ms).toFixed(1)} ms: draft ${draft}, verify ${verify}, accept ${accept}, host ${host}`;
}

// Without a column the most telling one: the rejected draft, else the trunk's own token, else the last.
function chosenColumn(found, at) {
  const names = found.columns.map((_, i) => columnName(found, i));
  if (names.includes(at.column)) return at.column;
  const rejected = found.columns.findIndex(({ fate }) => fate === 'rejected');
  return names[rejected < 0 ? names.length - 1 : rejected];
}

// The tested draft too, where it is not among the most probable and its chance is known.
function withDraft(rows, draft) {
  const { id, text, test } = draft ?? {};
  return !rows.length || test?.kind !== 'chance' || rows.some(([known]) => known === id) ? rows : [...rows, [id, text, test.p]];
}

function roundParts(found, at) {
  const chosen = chosenColumn(found, at);
  const strip = roundStrip(found, chosen, pin.choose);
  const column = found.columns.find((_, i) => columnName(found, i) === chosen);
  if (!column) return [strip];
  // The draft of this place, and the trunk's own token, where there are any.
  const count = drafts(found), place = chosen === 'own' ? found.accepted : chosen - 1;
  const draft = place < count ? found.columns[place] : null, own = found.columns[count] ?? null;
  const emitted = chosen === 'own' || column.fate === 'rejected' ? own : column.kept ? column : null;
  const marks = [...(draft ? [[draft.id, 'draft']] : []), ...(emitted ? [[emitted.id, 'emitted']] : [])];
  const head = el('h4', { class: 'ds-verdict' }, `${chosen === 'own' ? 'The model’s own' : `Draft ${chosen}`} `,
    el('span', { class: 'ds-quote', text: quoted(column.text), translate: 'no' }), `: ${FATE_WORDS[column.fate][0]} `, forEngineer(`id ${column.id}`));
  const lists = column.trunk === undefined ? [] : [
    choices('The model’s choices here', withDraft(column.trunk, draft), marks, found.missing),
    ...(draft ? [choices('The drafter’s choices here', draft.draft ?? [], marks, found.recorded ? found.silent : '')] : []),
  ].filter((list) => list.childNodes[1].textContent);
  return [strip, head, el('p', { class: 'ds-says' }, ...bothWords(column.says)), ...[testOf(column)].filter(Boolean), el('div', { class: 'ds-two' }, ...lists)];
}
