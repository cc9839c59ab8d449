// Marks the pinned tokens in the chat, without touching it: a highlight over the text, or a frame around the message.
// The chat shows Markdown, so its text is not the tokens' text; the letters of both are walked side by side.
const MARKUP = /[\s*_#`~[\]()<>|\\-]/u, SHIFT = 24, SURE = 3;

function createChatMark() {
  let held = null; // what was marked: message, text, tokens, and the range

  function clear() {
    if (held) held.message.classList.remove('ds-pinned-message');
    window.CSS?.highlights?.delete('ds-pin');
    held = null;
  }
  // `tokens` of the pinned turn, which of them are pinned, the turn, and how many answers of the chat come after it.
  return function mark(tokens, isPinned, turn, later) {
    const first = tokens.findIndex(isPinned), last = tokens.findLastIndex(isPinned);
    if (first < 0) { clear(); return; }
    const message = store.guest ? replayed(turn) : [...document.querySelectorAll('#chat .bot.message')].at(-1 - later);
    if (!message) { clear(); return; }
    const text = message.textContent;
    if (held && held.message === message && held.text === text && held.first === tokens[first] && held.last === tokens[last] && held.range?.startContainer.isConnected !== false && message.isConnected) return;
    clear();
    const range = rangeOf(message, tokens, first, last);
    held = { message, text, first: tokens[first], last: tokens[last], range };
    if (range && window.CSS?.highlights && window.Highlight) window.CSS.highlights.set('ds-pin', new Highlight(range));
    else message.classList.add('ds-pinned-message');
  };
}

// A replay shows every answer there was, under its number.
function replayed(turn) {
  const article = [...document.querySelectorAll('#replay_talk .rp-turn')].find((node) => node.querySelector('b').textContent === `Turn ${turn + 1}`);
  return article?.querySelector('.rp-said');
}

function rangeOf(message, tokens, first, last) {
  const shown = shownLetters(message), meant = meantLetters(tokens);
  let from = null, to = null, i = 0, j = 0;
  while (i < shown.length && j < meant.length) {
    if (shown[i].char !== meant[j].char) {
      const skip = resync(shown, meant, i, j);
      if (!skip) return null;
      [i, j] = skip;
      continue;
    }
    if (meant[j].token >= first && meant[j].token <= last) { from ??= shown[i]; to = shown[i]; }
    if (meant[j].token > last) break;
    i += 1;
    j += 1;
  }
  if (!from) return null;
  const range = document.createRange();
  range.setStart(from.node, from.offset);
  range.setEnd(to.node, to.offset + to.char.length);
  return range;
}

// The nearest place from which both read alike again.
function resync(shown, meant, i, j) {
  const alike = (a, b) => { for (let k = 0; k < SURE; k += 1) if (shown[a + k]?.char !== meant[b + k]?.char) return false; return true; };
  for (let both = 1; both <= SHIFT; both += 1) {
    for (let left = 0; left <= both; left += 1) if (alike(i + left, j + both - left)) return [i + left, j + both - left];
  }
  return null;
}

function shownLetters(message) {
  const walker = document.createTreeWalker(message, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest('button, svg, style')) continue;
    let offset = 0;
    for (const char of node.data) {
      if (!MARKUP.test(char)) found.push({ char, node, offset });
      offset += char.length;
    }
  }
  return found;
}

function meantLetters(tokens) {
  const found = [];
  tokens.forEach(({ id, hidden }, token) => {
    if (hidden) return;
    for (const char of tokenText(id).replace(/⟨[^⟩]*⟩/gu, '')) if (!MARKUP.test(char)) found.push({ char, token });
  });
  return found;
}
