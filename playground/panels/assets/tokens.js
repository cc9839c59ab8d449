// The `tokens` component: a turn, token by token, each marked by where it came from, and beneath it what a closer look finds.
const ORIGINS = ['first', 'draft', 'bonus', 'correction', 'plain'];
const ORIGIN_NOTES = ['the prompt’s own next token', 'drafted and accepted', 'the trunk’s own token after its drafts', 'the trunk’s own token in place of a rejected draft', 'the trunk’s own token of a round without drafts'];
const STEP = 600;

function createTokens(root) {
  root.replaceChildren();
  const ask = createAsk();
  const title = el('h2', { text: 'Last turn, token by token' });
  const count = el('p', { class: 'ds-about' });
  const hint = el('p', { class: 'ds-about', hidden: true, text: 'Click a token, or choose it with the arrow keys and press Enter, to see how it came about.' });
  const key = el('ul', { class: 'ds-legend', 'aria-label': 'Legend of the token view' },
    ...[...ORIGINS.map((name, i) => [`ds-o${i}`, name, ORIGIN_NOTES[i]]), ['ds-hidden-token', 'overshoot, not shown', 'past the budget: in the caches, not in the chat yet'], ['ds-pending-token', 'carried', 'emitted, without a row in the caches yet']]
      .map(([kind, name, note]) => el('li', { title: note }, el('span', { class: `ds-token ${kind}`, text: 'ab' , 'aria-hidden': 'true' }), name)));
  const body = el('div', { class: 'ds-tokens', tabindex: '0', role: 'listbox', 'aria-label': 'Tokens of the turn', translate: 'no' });
  const more = el('button', { type: 'button', class: 'ds-button', hidden: true, onclick: () => { limit += STEP; view.stale = true; clock.request(); } });
  const empty = el('p', { class: 'ds-empty', text: 'The tokens of the answer will appear here, each marked by where it came from.' });
  const turns = createTurns(ask, () => { limit = STEP; view.stale = true; clock.redraw(); });
  root.append(el('section', { class: 'ds-panel', 'data-panel': 'tokens' }, el('header', {}, title, turns.node), count, hint, key, more, body, empty));
  const inspector = createInspector(root, ask);
  const drawChip = createPinChip(inspector.reveal);
  const markChat = createChatMark();
  const writeFeet = createFeet(ask);
  const choose = createChoosing(body, (place) => pinToken(turns, place), inspector.near);

  let limit = STEP, shown = [], turn = -1, drawn = -1;
  const view = { element: root, draw };
  function draw() {
    const { stamp } = store.state;
    pin.check();
    turns.check();
    drawChip();
    writeFeet();
    const tokens = turns.tokens();
    markChat(pin.at ? tokens : [], (token, place) => isPinned(token, place, turns), turns.turn(), store.state.s.elsewhere ? Infinity : turns.later() ?? Infinity);
    if (drawn === stamp.tokens && !view.stale) return;
    drawn = stamp.tokens;
    view.stale = false;
    turns.draw();
    if (turn !== turns.turn()) { turn = turns.turn(); limit = STEP; }
    const begin = Math.max(0, tokens.length - limit), want = tokens.slice(begin);
    const follow = !turns.past && !pin.at && body.scrollHeight - body.scrollTop - body.clientHeight < 24;
    paint(want, begin);
    if (follow) body.scrollTop = body.scrollHeight;
    more.hidden = tokens.length <= limit;
    setText(more, `Show ${Math.min(STEP, Math.max(0, tokens.length - limit))} earlier tokens`);
    empty.hidden = tokens.length > 0;
    body.hidden = key.hidden = !tokens.length;
    hint.hidden = !tokens.length || !ask.can();
    setText(title, turns.past ? `Turn ${turns.turn() + 1}, token by token` : 'Last turn, token by token');
    if (!turns.past) markPending(tokens);
    markPinned(want, begin);
    setText(count, summary(tokens) + (turns.past?.gone ? ' A rewind has dropped the rows of this answer since.' : '')
      + (store.state.s.elsewhere ? ' The chat shows another branch, which is read with the next message; these tokens are of the one before.' : ''));
  }
  // Spans are kept for as long as their token is the same; the list only changes at its ends.
  function paint(want, begin) {
    let from = shown.indexOf(want[0]);
    if (from < 0) from = shown.length;
    for (const _ of shown.splice(0, from)) body.firstChild.remove();
    let same = 0;
    while (same < want.length && shown[same] === want[same]) same += 1;
    while (shown.length > same) { shown.pop(); body.lastChild.remove(); }
    const cut = want.findIndex((token) => token.hidden);
    for (let i = same; i < want.length; i += 1) {
      body.append(tokenSpan(want[i], i === cut));
      shown.push(want[i]);
    }
    choose.moved(begin);
  }
  function markPending(tokens) {
    const { state, pending } = store.state.s;
    const last = tokens.at(-1);
    const held = state === 'PENDING' && last && last.id === pending ? body.lastChild : null;
    for (const node of body.querySelectorAll('.ds-pending-token')) if (node !== held) node.classList.remove('ds-pending-token');
    if (!held) return;
    held.classList.add('ds-pending-token');
    held.title = `${titleOf(last)}\ncarried: it has no row in the caches yet`;
  }
  function markPinned(want, begin) {
    want.forEach((token, i) => {
      const node = body.children[i], chosen = isChosen(token, begin + i, turns);
      node.classList.toggle('ds-pinned', isPinned(token, begin + i, turns));
      node.classList.toggle('ds-chosen', chosen);
      setAttr(node, 'aria-selected', String(chosen));
    });
  }
  pin.watch('tokens', (at) => {
    if (!at) { turns.last(); return; }
    turns.find(at);
    body.querySelector('.ds-pinned')?.scrollIntoView({ block: 'nearest' });
  });
  clock.add(view);
}

const columnOfToken = (token) => (token.origin === 1 ? token.column : 'own');
const isHere = (place, turns) => pin.at?.round === 0 && pin.at.turn === turns.turn() && pin.at.place === place;
const isPinned = (token, place, turns) => (pin.round() ? token.round === pin.round() : isHere(place, turns));
const isChosen = (token, place, turns) => (pin.round() ? token.round === pin.round() && pin.at.column === columnOfToken(token) : isHere(place, turns));

function pinToken(turns, place) {
  const tokens = turns.tokens(), token = tokens[place];
  if (!token) return;
  const after = tokens.slice(0, place).findLast((before) => before.round > 0)?.round ?? (tokens.find((later) => later.round > 0)?.round ?? 1) - 1;
  pin.toggle(token.round > 0 ? { round: token.round, column: columnOfToken(token) }
    : { round: 0, turn: turns.turn(), place, after, number: turns.number, skipped: turns.past?.first ?? 0, title: `“${glyphs(tokenText(token.id))}”` });
}

// One stop for the keyboard, as in a list: arrows move, Enter or a click looks into the token.
// While something is pinned, what the arrows come to is pinned in its place.
function createChoosing(body, look, near) {
  let active = null, begin = 0;
  const lookAt = (node) => { look(placeOf(node)); if (pin.at) near(); };
  const placeOf = (node) => begin + [...body.children].indexOf(node);
  function go(node) {
    if (!node) return;
    if (active) { active.classList.remove('ds-active'); active.removeAttribute('id'); }
    active = node;
    active.id = 'ds-active-token';
    active.classList.add('ds-active');
    body.setAttribute('aria-activedescendant', active.id);
    active.scrollIntoView({ block: 'nearest' });
  }
  body.addEventListener('click', ({ target }) => {
    const node = target.closest('.ds-token');
    if (!node || String(window.getSelection())) return; // who marks text wants to copy it
    go(node);
    lookAt(node);
  });
  body.addEventListener('keydown', (event) => {
    const from = active?.isConnected ? active : null;
    const to = { ArrowRight: from ? from.nextElementSibling : body.lastElementChild, ArrowLeft: from ? from.previousElementSibling : body.lastElementChild, Home: body.firstElementChild, End: body.lastElementChild }[event.key];
    if (to !== undefined) { event.preventDefault(); go(to); if (to && pin.at) look(placeOf(to)); }
    else if ((event.key === 'Enter' || event.key === ' ') && from) { event.preventDefault(); lookAt(from); }
  });
  return { moved(first) { begin = first; if (active && !active.isConnected) { active = null; body.removeAttribute('aria-activedescendant'); } } };
}

function titleOf(token) {
  const test = token.round < 1 ? '' : acceptTest(token.round, token.column);
  const { rounds } = store.state;
  const replaced = token.origin === 3 ? rounds[token.round - rounds[0]?.r]?.ids?.[token.column - 1] : undefined;
  const why = test && `\n${replaced === undefined ? '' : `in place of “${glyphs(tokenText(replaced))}”, `}${test}`;
  const where = token.round < 1 ? 'not from a round' : `round ${token.round}, column ${token.column}`;
  return `id ${token.id} · ${ORIGINS[token.origin]}: ${ORIGIN_NOTES[token.origin]}\n${where}${why}${token.hidden ? '\novershoot: in the caches, not shown yet' : ''}`;
}

function tokenSpan(token, isCut) {
  const text = tokenText(token.id);
  const space = /^ +/.exec(text)?.[0].length ?? 0;
  const span = el('span', {
    class: `ds-token ${/\n/.test(text) ? '' : 'ds-whole '}ds-o${token.origin}${token.hidden ? ' ds-hidden-token' : ''}${isCut ? ' ds-cut' : ''}`, role: 'option', 'aria-selected': 'false',
    title: titleOf(token), 'data-id': token.id, 'data-origin': ORIGINS[token.origin], 'data-space': space ? '␣'.repeat(space) : null,
  });
  for (const part of text.split(/(\n|\t)/)) {
    if (part === '\n' || part === '\t') span.append(el('i', { class: 'ds-ws', 'aria-hidden': 'true', text: part === '\n' ? '⏎' : '⇥' }));
    if (part) span.append(part);
  }
  return span;
}

function summary(tokens) {
  if (!tokens.length) return '';
  const hidden = tokens.filter((token) => token.hidden).length;
  const drafted = tokens.filter((token) => token.origin === 1).length;
  return `${tokens.length - hidden} tokens shown, ${hidden} held past the budget; ${drafted} of ${tokens.length} were drafted.`;
}
createTokens(element.querySelector('.ds-token-view'));
