// The `tokens` component: the last turn, token by token, each marked by where it came from.
const ORIGINS = ['first', 'draft', 'bonus', 'correction'];
const ORIGIN_NOTES = ['the prompt’s own next token', 'drafted and accepted', 'the trunk’s own token after its drafts', 'the trunk’s own token in place of a rejected draft'];

function createTokens(root) {
  root.replaceChildren();
  const title = el('h3', { text: 'Last turn, token by token' });
  const count = el('p', { class: 'ds-about' });
  const key = el('ul', { class: 'ds-legend', 'aria-label': 'Legend of the token view' },
    ...[...ORIGINS.map((name, i) => [`ds-o${i}`, name, ORIGIN_NOTES[i]]), ['ds-hidden-token', 'overshoot, not shown', 'past the budget: in the caches, not in the chat yet'], ['ds-pending-token', 'carried', 'emitted, without a row in the caches yet']]
      .map(([kind, name, note]) => el('li', { title: note }, el('span', { class: `ds-token ${kind}`, text: 'ab' , 'aria-hidden': 'true' }), name)));
  const body = el('div', { class: 'ds-tokens', tabindex: '0', role: 'region', 'aria-label': 'Tokens of the last turn', translate: 'no' });
  const more = el('button', { type: 'button', class: 'ds-button', hidden: true, onclick: () => { limit += STEP; view.stale = true; clock.request(); } });
  const empty = el('p', { class: 'ds-empty', text: 'The tokens of the answer will appear here, each marked by where it came from.' });
  root.append(el('section', { class: 'ds-panel', 'data-panel': 'tokens' }, el('header', {}, title), count, key, more, body, empty));

  const STEP = 600;
  let limit = STEP, shown = [], turn = -1, drawn = -1;
  const view = { element: root, draw };
  function draw() {
    const { stamp, tokens } = store.state;
    if (drawn === stamp.tokens && !view.stale) return;
    drawn = stamp.tokens;
    view.stale = false;
    if (turn !== store.state.turn) { turn = store.state.turn; limit = STEP; }
    const want = tokens.slice(-limit);
    const follow = body.scrollHeight - body.scrollTop - body.clientHeight < 24;
    paint(want);
    if (follow) body.scrollTop = body.scrollHeight;
    more.hidden = tokens.length <= limit;
    setText(more, `Show ${Math.min(STEP, Math.max(0, tokens.length - limit))} earlier tokens`);
    empty.hidden = tokens.length > 0;
    body.hidden = key.hidden = !tokens.length;
    markPending(tokens);
    setText(count, summary(tokens));
  }
  // Spans are kept for as long as their token is the same; the list only changes at its ends.
  function paint(want) {
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
  clock.add(view);
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
    class: `ds-token ${/\n/.test(text) ? '' : 'ds-whole '}ds-o${token.origin}${token.hidden ? ' ds-hidden-token' : ''}${isCut ? ' ds-cut' : ''}`,
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
