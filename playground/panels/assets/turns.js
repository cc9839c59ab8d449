// Which turn the token view shows: the last one, or an earlier one that is fetched when its reader turns to it.
function createTurns(ask, changed) {
  const turns = { number: null, past: null, node: null };
  const button = (label, text, onclick) => el('button', { type: 'button', class: 'ds-button', 'aria-label': label, title: label, text, onclick });
  const earlier = button('Turn before', '◂', () => go({ number: turns.number, step: -1 }));
  const later = button('Turn after', '▸', () => go({ number: turns.number, step: 1 }));
  const newest = button('Back to the last turn', 'Last turn', () => show(null));
  const name = el('span', { class: 'ds-where' });
  turns.node = el('div', { class: 'ds-tools', role: 'group', 'aria-label': 'Which turn' }, earlier, name, later, newest);
  let asked = 0, stream = null, history = '';

  async function go(question) {
    const mine = (asked += 1);
    const answer = await ask.now('turn', question);
    if (mine === asked && answer) show(answer.number === null ? null : answer);
  }
  function show(past) {
    asked += 1;
    if (past) {
      for (const [id, text] of Object.entries(past.texts)) store.state.texts[id] ??= text;
      past.tokens = past.tokens.map(([id, origin, round, column, hidden]) => ({ id, origin, round: round + 1, column, hidden }));
    }
    turns.number = past ? past.number : null;
    turns.past = past;
    changed();
  }
  turns.tokens = () => turns.past?.tokens ?? store.state.tokens;
  turns.turn = () => turns.past?.turn ?? store.state.turn;
  // How many answers of the chat stand after this turn's; null where its own is not there any more.
  turns.later = () => (!turns.past ? 0 : turns.past.gone ? null : turns.past.later + (store.state.tokens.length ? 1 : 0));
  // The turn of what is pinned, if it is another one than the one shown.
  turns.find = (at) => {
    const has = (tokens, turn) => (at.round ? tokens.some((token) => token.round === at.round) : turn === at.turn);
    if (has(turns.tokens(), turns.turn())) return;
    if (has(store.state.tokens, store.state.turn)) show(null);
    else go(at.round ? { round: at.round } : { turn: at.turn });
  };
  turns.last = () => show(null);
  // A new turn, a rewind or a clear may change what an earlier one is.
  turns.check = () => {
    const { e, turn, marks } = store.state;
    const now = `${turn} ${marks.filter((mark) => mark[1] === 'rewind').length}`;
    if (stream !== e) { stream = e; history = now; asked += 1; if (turns.past) show(null); return; } // an answer under way is of the former one
    if (history === now || !store.state.tokens.length) return; // a turn without a token has not begun
    history = now;
    if (turns.past) go({ number: turns.number, step: 0 });
    else if (pin.at) turns.find(pin.at); // what was the last turn is an earlier one now
  };
  turns.draw = () => {
    const { turn } = store.state;
    turns.node.hidden = !ask.can() || (turn < 1 && !turns.past);
    earlier.disabled = turns.past ? !turns.past.older : turn < 1;
    later.disabled = newest.disabled = !turns.past;
    setText(name, turns.turn() < 0 ? '' : `turn ${turns.turn() + 1}`);
  };
  return turns;
}
